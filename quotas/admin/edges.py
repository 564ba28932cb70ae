"""Edges: the moments at which quotas came back, and what was resumed by them."""

from django.contrib import admin
from django.db.models import QuerySet
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import HistoryAdmin, badge, row_link, seen_at, when
from quotas.admin import cells
from quotas.admin.filters import QuotaFilter
from quotas.models import Edge


@admin.register(Edge)
class EdgeAdmin(HistoryAdmin):
    """The edges."""

    list_display = ("number", "happened", "quota_key", "cause", "left", "handled", "resumed_count")
    list_display_links = None
    list_filter = ("cause", QuotaFilter)
    search_fields = ("quota__key",)
    search_help_text = gettext_lazy("key of a quota")
    ordering = ("-id",)

    def for_list(self, rows: QuerySet[Edge]) -> QuerySet[Edge]:
        """Return the rows with their quotas."""
        return rows.select_related("quota")

    @admin.display(description=gettext_lazy("edge"))
    def number(self, edge: Edge) -> str:
        """Its number."""
        return f"#{edge.pk}"

    @admin.display(description=gettext_lazy("at"))
    def happened(self, edge: Edge) -> SafeString:
        """When the quota came back."""
        return when(edge.at, seen_at(edge))

    @admin.display(description=gettext_lazy("quota"))
    def quota_key(self, edge: Edge) -> SafeString:
        """Which quota came back."""
        return row_link(edge.quota, edge.quota.key)

    @admin.display(description=gettext_lazy("available"))
    def left(self, edge: Edge) -> str:
        """How much it had then."""
        return cells.amount(edge.available, edge.quota.unit)

    @admin.display(description=gettext_lazy("handled"))
    def handled(self, edge: Edge) -> SafeString:
        """When the waiting work was looked at."""
        if edge.handled_at is None:
            return badge(_("not yet"), "amber")
        return when(edge.handled_at, seen_at(edge))
