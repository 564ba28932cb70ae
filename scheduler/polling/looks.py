"""Looks at expected results are asked for in the live orders: those that are planned, and those that got lost."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from math import ceil
from typing import NamedTuple

from django.db import connection, transaction
from django.db.models import Q
from redis import Redis

from scheduler.polling import accounts, asking, confirming, spreading
from scheduler.polling.asking import Wanted
from scheduler.polling.models import CarrierAccount, Confirmation
from scheduler.polling.states import CheckType, ConfirmationState

LOOKS_AT_ONCE = 20_000
# A look that was asked for and did not come for so long is asked for again. That merges with one that is only late.
LATE = timedelta(minutes=10)
# So long after it was due, nobody will look any more: the account is left in peace, or cannot make that check.
LONGEST = timedelta(days=2)
SECOND = timedelta(seconds=1)


class _Look(NamedTuple):
    id: int
    card_id: int
    type: str
    due_at: datetime
    account_id: int
    polled: bool
    active: bool


def pass_on(redis: Redis, *, now: datetime) -> int:
    """Ask for the looks that nobody has asked for or that did not come, and return how many.

    Those of cards that are not polled any more, or that are overdue for days, are given up.

    Raises:
        redis.RedisError: it is away; a part may be done.
    """
    found = _to_pass_on(now)
    hopeless = [look for look in found if not (look.polled and look.active) or look.due_at < now - LONGEST]
    if hopeless:
        with transaction.atomic():
            confirming.give_up([look.id for look in hopeless], now=now)
    for account_id, looks in _by_account(set(found).difference(hopeless)).items():
        _ask(redis, account_id, looks, now)
    return len(found) - len(hopeless)


def _to_pass_on(now: datetime) -> list[_Look]:
    waiting = Confirmation.objects.filter(state=ConfirmationState.WAITING)
    found = waiting.filter(Q(asked_at__isnull=True) | Q(asked_at__lt=now - LATE)).order_by("due_at")
    names = ("id", "card_id", "type", "due_at", "card__account_id", "card__polling_enabled", "card__account__active")
    return [_Look(*row) for row in found.values_list(*names)[:LOOKS_AT_ONCE]]


def _by_account(looks: Iterable[_Look]) -> dict[int, list[_Look]]:
    """Return the looks of each account, the first due first."""
    by_account: dict[int, list[_Look]] = {}
    for look in sorted(looks, key=lambda look: (look.due_at, look.id)):
        by_account.setdefault(look.account_id, []).append(look)
    return by_account


def _ask(redis: Redis, account_id: int, looks: Sequence[_Look], now: datetime) -> None:
    account = CarrierAccount.objects.select_related("params").get(pk=account_id)
    earliest = (max(ceil((look.due_at - now) / SECOND), 0) for look in looks)
    slots = spreading.pace(accounts.params_of(account), 1).slots(earliest)
    seconds = dict(zip(looks, slots, strict=True))
    for check in CheckType:
        of_type = {look.card_id: slot for look, slot in reversed(seconds.items()) if look.type == check}
        for _ in asking.ask(redis, account_id, of_type, Wanted((check,)), now=now):
            pass
    _write(seconds, now)


# Not of those that were seen meanwhile: their next look is another one.
_ASKED = (
    "WITH told AS (SELECT * FROM unnest(%(ids)s::bigint[], %(due)s::timestamptz[], %(at)s::timestamptz[])"
    " AS told (id, due_at, at)),"
    " locked AS (SELECT held.id, told.at FROM polling_confirmation AS held JOIN told USING (id, due_at)"
    " WHERE held.state = 'waiting' ORDER BY held.id FOR UPDATE OF held)"
    " UPDATE polling_confirmation AS held SET asked_at = locked.at FROM locked WHERE held.id = locked.id"
)


def _write(seconds: Mapping[_Look, int], now: datetime) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            _ASKED,
            {
                "ids": [look.id for look in seconds],
                "due": [look.due_at for look in seconds],
                "at": [now + timedelta(seconds=slot) for slot in seconds.values()],
            },
        )
