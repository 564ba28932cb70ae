"""Provider reports: what providers said about their own limits."""

from django.contrib import admin
from django.db.models import QuerySet
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import HistoryAdmin, badge, row_link, seen_at, when
from quotas.admin.filters import QuotaFilter
from quotas.models import ProviderReport


@admin.register(ProviderReport)
class ProviderReportAdmin(HistoryAdmin):
    """The reports."""

    list_display = ("happened", "quota_key", "answer", "remaining", "limit", "resets", "retry", "doubts")
    list_display_links = None
    list_filter = ("limited", QuotaFilter)
    search_fields = ("quota__key",)
    search_help_text = gettext_lazy("key of a quota")
    ordering = ("-id",)

    def for_list(self, rows: QuerySet[ProviderReport]) -> QuerySet[ProviderReport]:
        """Return the rows with their quotas."""
        return rows.select_related("quota")

    @admin.display(description=gettext_lazy("at"))
    def happened(self, report: ProviderReport) -> SafeString:
        """When the provider said it."""
        return when(report.at, seen_at(report))

    @admin.display(description=gettext_lazy("quota"))
    def quota_key(self, report: ProviderReport) -> SafeString:
        """Of which quota it speaks."""
        return row_link(report.quota, report.quota.key)

    @admin.display(description=gettext_lazy("answer"))
    def answer(self, report: ProviderReport) -> SafeString:
        """Whether it refused."""
        return answer_badge(report)

    @admin.display(description=gettext_lazy("resets"))
    def resets(self, report: ProviderReport) -> SafeString:
        """When its window ends, it said."""
        return when(report.resets_at, seen_at(report))

    @admin.display(description=gettext_lazy("retry at"))
    def retry(self, report: ProviderReport) -> SafeString:
        """When to try again, it said."""
        return when(report.retry_at, seen_at(report))


def answer_badge(report: ProviderReport) -> SafeString:
    """Return whether the provider refused, with its status."""
    text = _("refused") if report.limited else _("answered")
    return badge(f"{text} {report.status or ''}".rstrip(), "red" if report.limited else "green")
