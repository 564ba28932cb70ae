"""How long a quota lasts at the rate of the last hours: the forecast, from the ledger."""

from datetime import datetime

from django.db.models import Count, Min, Q, Sum

from quotas import availability, forecasting
from quotas.forecasting import Forecast, Spending
from quotas.models import LedgerEntry, Quota
from quotas.periods import period_at
from quotas.states import EntryKind, Kind

# Of a quota that is charged more often than this in the last hours, the latest charges are the rate.
MOST_ENTRIES = 20_000


def outlook(quota: Quota, *, now: datetime) -> Forecast | None:
    """Return what becomes of the quota if spending goes on as in the last hours; None: too little is known."""
    if quota.kind == Kind.RATE:
        return None
    left = availability.available(quota, now)
    return forecasting.forecast(_spending(quota, now), left, now=now, resets_at=next_reset(quota, now))


def next_reset(quota: Quota, now: datetime) -> datetime | None:
    """Return the end of the period that holds the instant, also where no scan has noticed the reset yet."""
    if quota.kind != Kind.PERIODIC or quota.period_end is None:
        return None
    return quota.period_end if now < quota.period_end else period_at(quota.reset_rule(), now).end


def _spending(quota: Quota, now: datetime) -> Spending | None:
    spent = LedgerEntry.objects.filter(quota=quota, kind__in=(EntryKind.CHARGE, EntryKind.REFUND))
    lately = Q(at__gte=now - forecasting.LAST_HOURS)
    recent = spent.order_by("-id")[:MOST_ENTRIES].aggregate(
        units=Sum("amount", filter=lately),
        charges=Count("id", filter=lately & Q(kind=EntryKind.CHARGE)),
        since=Min("at", filter=lately),
    )
    if not recent["charges"]:
        return None
    return Spending(-recent["units"], recent["charges"], recent["since"])
