"""Quotas for the tests, the instants that they speak of, and the audit that proves their books."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import mock

from django.db import transaction
from django.db.models import Sum

from quotas import charging, defining, evaluating
from quotas.books import Books, open_books_of_all
from quotas.checking import check_books
from quotas.evaluating import edge_written
from quotas.models import Edge, LedgerEntry, Quota
from quotas.refusals import Refused
from quotas.states import Cause, EntryKind, Kind

SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
A_MOMENT = timedelta(microseconds=1)  # the least that the database tells apart
NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)  # a Monday, at noon

_numbers = itertools.count(1)


def make_quota(limit: int | None = 100, *, now: datetime = NOW, kind: Kind = Kind.CAPACITY, **fields: Any) -> Quota:
    """Create a quota of which nothing is used: a capacity, unless the fields say otherwise."""
    fields = {"key": f"quota {next(_numbers)}"} | fields
    return defining.create(kind=kind, limit=limit, now=now, **fields)


def make_daily(limit: int | None = 100, **fields: Any) -> Quota:
    """Create a quota that resets at midnight UTC, 12 hours after NOW."""
    return make_quota(limit, **{"kind": Kind.PERIODIC, "reset_preset": "day"} | fields)


def make_rate(limit: int = 10, *, amount: int = 1, seconds: int = 1, **fields: Any) -> Quota:
    """Create a rate: `amount` units come back in so many `seconds`."""
    return make_quota(limit, kind=Kind.RATE, refill_amount=amount, refill_seconds=seconds, **fields)


def make_family(*, root: int | None = 100, leaves: int | None = 100) -> tuple[Quota, Quota, Quota]:
    """Create a parent and two quotas that are part of it."""
    parent = make_quota(root)
    return parent, make_quota(leaves, parent=parent), make_quota(leaves, parent=parent)


def now_is(quota: Quota) -> Quota:
    """Return the quota as the database has it now."""
    return Quota.objects.get(pk=quota.pk)


def spend(quota: Quota, amount: int, *, now: datetime = NOW, **said: Any) -> charging.Charged:
    """Charge the amount."""
    return charging.charge(quota.key, amount, now=now, **said)


def granted(charge: Callable[[], object]) -> int:
    """Return 1 if the charge was granted, 0 if it was refused."""
    try:
        charge()
    except Refused:
        return 0
    return 1


def edges_of(quota: Quota) -> list[str]:
    """Return the causes of the quota's edges, oldest first."""
    return list(Edge.objects.filter(quota=quota).order_by("id").values_list("cause", flat=True))


def entries_of(quota: Quota) -> list[tuple[str, int]]:
    """Return the kind and the amount of the quota's ledger entries, oldest first."""
    return list(LedgerEntry.objects.filter(quota=quota).order_by("id").values_list("kind", "amount"))


def charged_to(quota: Quota) -> int:
    """Return what the ledger says was charged to the quota."""
    charges = LedgerEntry.objects.filter(quota=quota, kind=EntryKind.CHARGE)
    return int(charges.aggregate(Sum("units", default=0))["units__sum"])


def change_row(quota: Quota, **figures: Any) -> None:
    """Change the quota's row as nobody else may: past the books."""
    Quota.objects.filter(pk=quota.pk).update(**figures)


@contextmanager
def books_of(quota: Quota, *, now: datetime = NOW, cause: Cause = Cause.PROVIDER) -> Iterator[Quota]:
    """Yield the locked quota, and judge and save it as the block leaves it."""
    with transaction.atomic():
        books = open_books_of_all([quota.pk], now)
        yield books.quotas[quota.pk]
        books.save(cause)


def block(quota: Quota, until: datetime, *, now: datetime = NOW) -> None:
    """Let the provider refuse."""
    with books_of(quota, now=now) as locked:
        locked.blocked_until = until


def say_remaining(quota: Quota, remaining: int, resets_at: datetime | None, *, now: datetime = NOW) -> None:
    """Let the provider say what is left."""
    with books_of(quota, now=now) as locked:
        locked.provider_remaining, locked.provider_resets_at, locked.provider_observed_at = remaining, resets_at, now
        locked.provider_spent_at_observation = locked.spent_total


@contextmanager
def nobody_heeds_edges() -> Iterator[None]:
    """Let edges be written and nobody act on them: whoever does is not at NOW, but at the database's present."""
    with mock.patch.object(edge_written, "receivers", []):
        yield


@contextmanager
def no_quick_way() -> Iterator[None]:
    """Let each charge lock and judge, as if it could not be done in one statement."""
    with mock.patch("quotas.charging.charge_quietly", return_value=False):
        yield


@contextmanager
def only_the_quick_way() -> Iterator[None]:
    """Fail if a charge cannot be done in one statement."""
    with mock.patch.object(Books, "save", side_effect=AssertionError("it was judged")):
        yield


def audit() -> None:
    """Prove the books: balances, reservations, chains, refunds, verdicts."""
    assert check_books() == []


def verdict_of(quota: Quota) -> str:
    return now_is(quota).verdict


def wait_for(quota: Quota, smallest: int | None, *, now: Any = NOW) -> None:
    """Note that somebody waits."""
    with books_of(quota, now=now, cause=Cause.SPENDING) as locked:
        evaluating.note_waiting(locked, smallest, None if smallest is None else now)


def give_back(quota: Quota, amount: int, *, now: Any) -> None:
    """Let so much trickle in: a refund of an earlier charge."""
    with books_of(quota, now=now, cause=Cause.REFUND) as locked:
        locked.used -= amount
