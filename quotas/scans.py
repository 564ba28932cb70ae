"""What changes by time alone: the scan judges the quotas whose verdict may have changed by itself."""

import logging
from datetime import datetime, timedelta

from django.db import transaction

from quotas.books import open_books_of_all
from quotas.models import Quota
from quotas.periods import RuleError

logger = logging.getLogger(__name__)

BATCH = 100


def evaluate_due(*, now: datetime) -> int:
    """Judge the quotas that may have risen by themselves: resets, refills, stable times; return how many it were.

    Each in its own transaction. One that is locked is left to whoever holds it, who judges it as well, and one whose
    rule cannot be used any more holds up no other.
    """
    due = Quota.objects.filter(evaluate_at__lte=now).order_by("evaluate_at").values_list("pk", flat=True)
    return sum(_evaluate_if_free(quota_id, now) for quota_id in list(due[:BATCH]))


def evaluate(quota_id: int, *, now: datetime, checked: bool = False) -> Quota:
    """Judge one quota as the clock has it now, and return it.

    Args:
        checked: this is its fallback check, so that the next one is planned anew.
    """
    with transaction.atomic():
        books = open_books_of_all([quota_id], now)
        quota = books.quotas[quota_id]
        if checked:
            quota.next_check_at = None
        books.save()
    return quota


def claim_checks(*, now: datetime) -> list[int]:
    """Return the quotas whose fallback check is due, each to one caller; lost by him, it is due again soon."""
    with transaction.atomic():
        due = Quota.objects.filter(next_check_at__lte=now).order_by("next_check_at").select_for_update(skip_locked=True)
        quotas = list(due.only("poll_floor_seconds")[:BATCH])
        for quota in quotas:
            quota.next_check_at = now + timedelta(seconds=quota.poll_floor_seconds)
        Quota.objects.bulk_update(quotas, ["next_check_at"])
    return [quota.pk for quota in quotas]


def _evaluate_if_free(quota_id: int, now: datetime) -> bool:
    try:
        with transaction.atomic():
            books = open_books_of_all([quota_id], now, skip_locked=True)
            books.save()
    except RuleError:  # its zone is not known any more, for example
        logger.exception("quota #%s cannot be judged", quota_id)
        return False
    return bool(books.quotas)
