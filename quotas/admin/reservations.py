"""Reservations: what is held for whom, and what became of it."""

from django.contrib import admin
from django.db.models import QuerySet
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from project.kit.admin import HistoryAdmin, row_link, seen_at, when
from quotas.admin import cells
from quotas.admin.filters import QuotaFilter
from quotas.models import Reservation


@admin.register(Reservation)
class ReservationAdmin(HistoryAdmin):
    """The reservations."""

    list_display = ("number", "quota_key", "state_badge", "units", "settled", "for_whom", "purpose", "reserved", "ends")
    list_display_links = None
    list_filter = ("state", "purpose", QuotaFilter)
    search_fields = ("=owner", "=idempotency_key")
    search_help_text = gettext_lazy("for whom, or idempotency key")
    ordering = ("-id",)

    def for_list(self, rows: QuerySet[Reservation]) -> QuerySet[Reservation]:
        """Return the rows with their quotas."""
        return rows.select_related("quota")

    @admin.display(description=gettext_lazy("reservation"))
    def number(self, reservation: Reservation) -> str:
        """Its number."""
        return f"#{reservation.pk}"

    @admin.display(description=gettext_lazy("quota"))
    def quota_key(self, reservation: Reservation) -> SafeString:
        """In which quota it holds something."""
        return row_link(reservation.quota, reservation.quota.key)

    @admin.display(description=gettext_lazy("state"))
    def state_badge(self, reservation: Reservation) -> SafeString:
        """What became of it."""
        return cells.reservation_badge(reservation.state)

    @admin.display(description=gettext_lazy("amount"))
    def units(self, reservation: Reservation) -> str:
        """How much it holds."""
        return cells.amount(reservation.amount, reservation.quota.unit)

    @admin.display(description=gettext_lazy("settled"))
    def settled(self, reservation: Reservation) -> str:
        """What the work really took."""
        return "" if reservation.settled_amount is None else f"{reservation.settled_amount:,}"

    @admin.display(description=gettext_lazy("for"))
    def for_whom(self, reservation: Reservation) -> SafeString:
        """For whom it holds that."""
        return cells.owner(reservation.owner)

    @admin.display(description=gettext_lazy("reserved"))
    def reserved(self, reservation: Reservation) -> SafeString:
        """When it was made."""
        return when(reservation.created_at, seen_at(reservation))

    @admin.display(description=gettext_lazy("ended, or ends"))
    def ends(self, reservation: Reservation) -> SafeString:
        """When it ended, or its lease does."""
        return when(reservation.ended_at or reservation.expires_at, seen_at(reservation))
