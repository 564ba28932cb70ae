"""The ledger: every change of every quota's balance. Entries are read; a charge can be given back."""

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import HistoryAdmin, ObjectActionsMixin, ObjectPageMixin, row_link, seen_at, when
from quotas.admin import cells
from quotas.admin.filters import OwnerFilter, QuotaFilter
from quotas.admin.ledger_actions import REFUND, refund_of
from quotas.models import LedgerEntry, Quota
from quotas.refusals import QuotaError


@admin.register(LedgerEntry)
class LedgerEntryAdmin(ObjectActionsMixin, ObjectPageMixin, HistoryAdmin):
    """The ledger."""

    list_display = ("number", "happened", "quota_key", "what", "gain", "units_asked", "for_whom", "actor", "why")
    list_filter = ("kind", QuotaFilter, OwnerFilter, "over_limit")
    search_fields = ("quota__key",)
    search_help_text = gettext_lazy("key of a quota, of a charge, or for whom it was")
    ordering = ("-id",)
    object_actions = (REFUND,)
    refusals = (QuotaError,)
    page_template = "admin/object_page.html"
    fragment_template = "admin/quotas/ledgerentry/page.html"

    def seen(self, row: LedgerEntry) -> str:
        """Return what a confirmation is bound to: an entry never changes."""
        return ""

    def get_queryset(self, request: HttpRequest) -> QuerySet[LedgerEntry]:
        """Return the entries with their quotas."""
        rows: QuerySet[LedgerEntry] = super().get_queryset(request).select_related("quota", "charged")
        return rows

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[LedgerEntry], search_term: str
    ) -> tuple[QuerySet[LedgerEntry], bool]:
        """Find the entries of the quotas of that key; else those of that charge, or for that owner."""
        term = search_term.strip()
        if not term:
            return queryset, False
        quotas = list(Quota.objects.filter(key__icontains=term).values_list("pk", flat=True)[:1000])
        if quotas:
            return queryset.filter(quota__in=quotas), False
        return queryset.filter(idempotency_key=term) | queryset.filter(owner=term), False

    # --- the list's columns ------------------------------------------------------------------------------------

    @admin.display(description=gettext_lazy("entry"))
    def number(self, entry: LedgerEntry) -> str:
        """Its number."""
        return f"#{entry.pk}"

    @admin.display(description=gettext_lazy("at"))
    def happened(self, entry: LedgerEntry) -> SafeString:
        """When it was entered."""
        return when(entry.at, seen_at(entry))

    @admin.display(description=gettext_lazy("quota"))
    def quota_key(self, entry: LedgerEntry) -> SafeString:
        """Whose balance it changes."""
        return row_link(entry.quota, entry.quota.key)

    @admin.display(description=gettext_lazy("what"))
    def what(self, entry: LedgerEntry) -> SafeString:
        """What it records."""
        return cells.entry_badge(entry)

    @admin.display(description=gettext_lazy("change"))
    def gain(self, entry: LedgerEntry) -> SafeString:
        """How it changes the balance."""
        return cells.change(entry.amount)

    @admin.display(description=gettext_lazy("asked"))
    def units_asked(self, entry: LedgerEntry) -> str:
        """What was asked for."""
        return cells.asked(entry)

    @admin.display(description=gettext_lazy("for"))
    def for_whom(self, entry: LedgerEntry) -> SafeString:
        """For whom it was."""
        return cells.owner(entry.owner)

    @admin.display(description=gettext_lazy("reason"))
    def why(self, entry: LedgerEntry) -> str:
        """Why."""
        return entry.reason

    # --- the page ----------------------------------------------------------------------------------------------

    def page_context(self, request: HttpRequest, row: LedgerEntry) -> dict[str, Any]:
        """Return what the page shows of an entry."""
        now = seen_at(row)
        return {
            "entry": row,
            "badge": cells.entry_badge(row),
            "change": cells.change(row.amount),
            "actions": self.offered_actions(request, row),
            "facts": _facts(row, now),
        }


def _facts(entry: LedgerEntry, now: datetime) -> list[tuple[str, Any]]:
    """Return what is known of the entry, as labels and values; what does not apply is left out."""
    refund = refund_of(entry)
    elsewhere = entry.charged_id != entry.quota_id
    facts: list[tuple[str, Any]] = [
        (_("quota"), row_link(entry.quota, entry.quota.key)),
        (_("charged to"), row_link(entry.charged, entry.charged.key) if elsewhere else ""),
        (_("at"), cells.both(entry.at, now)),
        (_("asked for"), cells.asked(entry)),
        (_("for"), cells.owner(entry.owner)),
        (_("attempt"), entry.attempt),
        (_("by"), entry.actor),
        (_("reason"), entry.reason),
        (_("given back if it fails"), _("yes") if entry.refund_on_failure else ""),
        (_("refunded by"), row_link(refund, f"#{refund.pk}") if refund else ""),
        (_("idempotency key"), entry.idempotency_key),
    ]
    return [fact for fact in facts if fact[1]]
