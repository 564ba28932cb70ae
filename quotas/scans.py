"""What changes by time alone: the scan judges the quotas whose verdict may have changed by itself."""

from datetime import datetime

from django.db import transaction

from quotas import evaluating
from quotas.books import open_books_of_all
from quotas.models import Quota
from quotas.states import Cause, Kind

BATCH = 100


def evaluate_due(*, now: datetime) -> int:
    """Judge the quotas that may have risen by themselves: resets, refills, stable times; return how many it were.

    Each in its own transaction, so that one that is locked holds up no other.
    """
    due = Quota.objects.filter(evaluate_at__lte=now).order_by("evaluate_at").values_list("pk", flat=True)
    quota_ids = list(due[:BATCH])
    for quota_id in quota_ids:
        evaluate(quota_id, now=now)
    return len(quota_ids)


def evaluate(quota_id: int, *, now: datetime, cause: Cause | None = None) -> Quota:
    """Judge one quota as the clock has it now, and return it.

    Args:
        cause: what made it change; None: the clock.
    """
    with transaction.atomic():
        books = open_books_of_all([quota_id], now)
        quota = books.quotas[quota_id]
        books.save(cause or _by_clock(quota))
    return quota


def note_waiting(quota_id: int, smallest: int | None, since: datetime | None, *, now: datetime) -> Quota:
    """Note the smallest need that waits for the quota and since when the oldest does, and judge it; return it.

    Args:
        smallest: in the quota's units; None: nobody waits.
    """
    with transaction.atomic():
        books = open_books_of_all([quota_id], now)
        evaluating.note_waiting(books.quotas[quota_id], smallest, since)
        books.save(Cause.POLL)
    return books.quotas[quota_id]


def _by_clock(quota: Quota) -> Cause:
    if quota.above_cause:
        return Cause(quota.above_cause)
    return Cause.REFILL if quota.kind == Kind.RATE else Cause.PROVIDER
