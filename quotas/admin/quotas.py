"""Quotas: the list, the page of one, its form, and the simulation."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from project.kit.admin import (
    Asked,
    Done,
    EditedApartMixin,
    ObjectAction,
    ReasonForm,
    UncountedList,
    row_link,
    seen_at,
    when,
)
from project.kit.admin.object_actions import Refused
from project.kit.clock import database_now
from quotas.admin import cells, quota_page
from quotas.admin.filters import QuotaQuestionFilter
from quotas.admin.quota_actions import QUOTA_ACTIONS, OnceForm, repeat
from quotas.admin.quota_form import KEPT_FIELDS, QuotaForm, fieldsets_of
from quotas.admin.simulating import simulated
from quotas.models import Quota
from quotas.outlook import next_reset
from quotas.refusals import QuotaError
from quotas.states import Kind
from quotas.waiting import count_waiting

REFRESH_SECONDS = 5


class QuotaList(UncountedList):
    """The list of quotas, with how many wait for each."""

    def get_results(self, request: HttpRequest) -> None:
        """Read the page's rows, and count for all of them at once."""
        super().get_results(request)
        counted = count_waiting([quota.pk for quota in self.result_list])
        for quota in self.result_list:
            vars(quota)["waiting_count"] = counted[quota.pk]


@admin.register(Quota)
class QuotaAdmin(EditedApartMixin):
    """The quotas."""

    list_display = ("key", "name", "rule", "bar", "resets", "verdict_since", "waiting", "part_of")
    list_filter = (QuotaQuestionFilter, "kind")
    search_fields = ("key", "title", "description")
    search_help_text = gettext_lazy("key, title or description")
    ordering = ("key",)
    form = QuotaForm
    change_form_template = "admin/quotas/quota/change_form.html"
    page_template = "admin/object_page.html"
    fragment_template = "admin/quotas/quota/page.html"
    object_actions = QUOTA_ACTIONS
    refusals = (QuotaError,)

    # --- the list ----------------------------------------------------------------------------------------------

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """Return the list's class."""
        return QuotaList

    def get_queryset(self, request: HttpRequest) -> QuerySet[Quota]:
        """Return the quotas, each with what it is part of."""
        rows: QuerySet[Quota] = super().get_queryset(request).select_related("parent")
        return rows

    @admin.display(description=gettext_lazy("title"), ordering="title")
    def name(self, quota: Quota) -> str:
        """What people call it."""
        return quota.title

    @admin.display(description=gettext_lazy("comes back"), ordering="kind")
    def rule(self, quota: Quota) -> SafeString:
        """How what was spent comes back."""
        zone = quota.timezone if quota.kind == Kind.PERIODIC else ""
        return format_html(
            '<span title="{}">{}</span> <span class="quiet">{}</span>', quota.kind, cells.rule(quota), zone
        )

    @admin.display(description=gettext_lazy("available"))
    def bar(self, quota: Quota) -> SafeString:
        """What is available of the limit."""
        return cells.bar(quota, seen_at(quota))

    @admin.display(description=gettext_lazy("next reset"), ordering="period_end")
    def resets(self, quota: Quota) -> SafeString:
        """When it resets."""
        now = seen_at(quota)
        reset = next_reset(quota, now)
        return cells.both(reset, now) if reset else SafeString()

    @admin.display(description=gettext_lazy("verdict"), ordering="verdict_at")
    def verdict_since(self, quota: Quota) -> SafeString:
        """Its verdict, and since when."""
        since = when(quota.verdict_at, seen_at(quota))
        return format_html('{} <span class="quiet">{}</span>', cells.verdict_badges(quota), since)

    @admin.display(description=gettext_lazy("waiting"))
    def waiting(self, quota: Quota) -> SafeString:
        """How many wait for it."""
        return cells.waiting(vars(quota)["waiting_count"], quota.waited_since, seen_at(quota))

    @admin.display(description=gettext_lazy("part of"))
    def part_of(self, quota: Quota) -> SafeString:
        """What it is part of."""
        return row_link(quota.parent, quota.parent.key) if quota.parent else SafeString()

    # --- the page ----------------------------------------------------------------------------------------------

    def page_context(self, request: HttpRequest, row: Quota) -> dict[str, Any]:
        """Return what the page shows of a quota."""
        now = seen_at(row)
        return {
            "quota": row,
            "actions": [
                *self.offered_actions(request, row),
                {"label": _("Simulate"), "tone": "", "url": self._simulate_url(row)},
                *self.edit_links(request, row),
            ],
            "refresh_seconds": REFRESH_SECONDS,
            **quota_page.overview(row, now),
        }

    def get_urls(self) -> list[URLPattern]:
        """Return the admin's addresses, with that of the simulation before Django's catch-all."""
        simulate = self.admin_site.admin_view(self.simulate_view)
        return [path("<path:object_id>/simulate/", simulate, name=self._url_name("simulate")), *super().get_urls()]

    @method_decorator(require_safe)
    def simulate_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show which of the waiting work would go on; nothing is written."""
        row = self.get_object(request, unquote(object_id))
        if row is None:
            raise Http404
        if not self.has_view_permission(request, row):
            raise PermissionDenied
        context = {
            **self.admin_site.each_context(request),
            "title": _("Simulate"),
            "original": row,
            "opts": self.opts,
            "bar": cells.bar(row, seen_at(row)),
            "badges": cells.verdict_badges(row),
            "back": self._page_url(row),
            **simulated(row, request.GET, seen_at(row)),
        }
        return TemplateResponse(request, "admin/quotas/quota/simulate.html", context)

    def _simulate_url(self, row: Quota) -> str:
        return reverse(f"admin:{self._url_name('simulate')}", args=[row.pk])

    # --- who may -----------------------------------------------------------------------------------------------

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Say that nobody may: a quota stays with its ledger."""
        return False

    # --- the form ----------------------------------------------------------------------------------------------

    def get_fieldsets(self, request: HttpRequest, obj: Quota | None = None) -> Any:
        """Return the fieldsets of the quota's kind."""
        return fieldsets_of(Kind(obj.kind) if obj else None)

    def get_readonly_fields(self, request: HttpRequest, obj: Quota | None = None) -> tuple[str, ...]:
        """Return what stays once a quota is there."""
        return KEPT_FIELDS if obj else ()

    @admin.display(description=gettext_lazy("limit"))
    def limit_now(self, quota: Quota) -> SafeString:
        """The limit, which the form does not change."""
        how = _("changed by “Set limit” on its page, which asks why")
        return format_html('{} <span class="quiet">{}</span>', cells.amount(quota.limit, quota.unit), how)

    def save_model(self, request: HttpRequest, obj: Quota, form: QuotaForm, change: bool) -> None:
        """Save through the domain, which enters the limit into the ledger and raises the version."""
        form.store(obj, now=database_now(), actor=request.user.get_username())

    # --- the actions -------------------------------------------------------------------------------------------

    def seen(self, row: Quota) -> str:
        """Return what a confirmation is bound to: the rule and the limit; what is spent meanwhile does not matter."""
        return f"{row.version}:{row.limit}"

    @transaction.atomic
    def perform(self, request: HttpRequest, action: ObjectAction, pk: Any, seen: str, form: ReasonForm) -> Done:
        """Perform the action, or say that this confirmation has done it already."""
        quota = _locked(pk)
        if quota is None or not isinstance(form, OnceForm) or not form.was_sent_before(quota):
            return super().perform(request, action, pk, seen, form)
        values = form.cleaned_data
        try:
            return repeat(action, quota, Asked(database_now(), request.user.get_username(), values["reason"], values))
        except QuotaError as refusal:
            raise Refused(str(refusal)) from refusal


def _locked(pk: Any) -> Quota | None:
    """Lock the quota behind all that it is part of, in the order in which charges do."""
    quota = Quota.objects.filter(pk=pk).only("ancestors").first()
    if quota is None:
        return None
    chain = Quota.objects.select_for_update().filter(pk__in=quota.chain).order_by("pk")
    return next(link for link in list(chain) if link.pk == quota.pk)
