"""Requests are passed on to the live orders of their cards' accounts, one by one. See `passing_on`."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import repeat
from typing import Any

from django.db import connection, transaction
from django.db.models import Count
from redis import Redis

from scheduler.polling import accounts, asking, spreading
from scheduler.polling.asking import Wanted
from scheduler.polling.fleet import live_order
from scheduler.polling.models import CardCheck, CarrierAccount, CheckRequest
from scheduler.polling.queue import Requested
from scheduler.polling.states import CheckType, RequestOutcome

# A request that young is being passed on by whoever asked.
YOUNG = timedelta(seconds=2)
REQUESTS_AT_ONCE = 100

_OUTCOMES = {
    Requested.UNKNOWN: RequestOutcome.NOT_POLLED,
    Requested.COOLING: RequestOutcome.COOLING,
    Requested.MERGED: RequestOutcome.MERGED,
    Requested.ASKED: RequestOutcome.ASKED,
    Requested.AFTER_THIS_RUN: RequestOutcome.ASKED,
}


@dataclass(slots=True)
class _Passed:
    """What became of the cards of a request, and from when they are wanted."""

    outcomes: dict[int, RequestOutcome] = field(default_factory=dict)
    wanted_at: dict[int, datetime] = field(default_factory=dict)


def pass_on_all(redis: Redis, *, now: datetime) -> int:
    """Pass on the requests that nobody has passed on, the oldest first, and return how many.

    Raises:
        redis.RedisError: it is away; a part may be done.
    """
    waiting = CheckRequest.objects.filter(asked_at__isnull=True, at__lte=now - YOUNG)
    found = list(waiting.order_by("pk").values_list("pk", flat=True)[:REQUESTS_AT_ONCE])
    for request_id in found:
        pass_on(redis, request_id, now=now)
    return len(found)


def pass_on(redis: Redis, request_id: int, *, now: datetime) -> None:
    """Tell the live orders of a request's cards, unless somebody has, and write what became of them.

    Raises:
        redis.RedisError: it is away; a part may be done.
    """
    request = CheckRequest.objects.select_related("scene").filter(pk=request_id, asked_at__isnull=True).first()
    if request is None:
        return
    passed = _Passed(dict.fromkeys(request.card_ids, RequestOutcome.NOT_POLLED))
    polled = _polled(request)
    passed.outcomes |= dict.fromkeys(polled, RequestOutcome.CHECKED)
    for account_id, card_ids in _to_ask(request, polled).items():
        _ask(redis, request, account_id, card_ids, passed, now)
    _write(request, passed, now)


def _polled(request: CheckRequest) -> dict[int, int]:
    """Return the account of each of the cards that are polled now."""
    return dict(live_order.polled_cards().filter(pk__in=request.card_ids).values_list("pk", "account_id"))


def _to_ask(request: CheckRequest, polled: Mapping[int, int]) -> dict[int, list[int]]:
    """Return by account the cards of which something was not checked since."""
    since = CardCheck.objects.filter(card__in=list(polled), type__in=request.scene.types, checked_at__gte=request.at)
    counted = since.values("card").annotate(checks=Count("pk")).filter(checks=len(request.scene.types))
    checked = set(counted.values_list("card", flat=True))
    cards: dict[int, list[int]] = {}
    for card_id, account_id in sorted(polled.items()):
        if card_id not in checked:
            cards.setdefault(account_id, []).append(card_id)
    return cards


def _ask(
    redis: Redis, request: CheckRequest, account_id: int, card_ids: list[int], passed: _Passed, now: datetime
) -> None:
    scene, types = request.scene, tuple(map(CheckType, request.scene.types))
    account = CarrierAccount.objects.select_related("params").get(pk=account_id)
    pace = spreading.pace(accounts.params_of(account), len(types))
    slots = dict(zip(card_ids, pace.slots(repeat(0, len(card_ids))), strict=True))
    wanted = Wanted(types, scene.code, timedelta(seconds=scene.cooldown_seconds))
    for card_id, requested in asking.ask(redis, account_id, slots, wanted, now=now):
        passed.outcomes[card_id] = _OUTCOMES[requested]
        passed.wanted_at[card_id] = now + timedelta(seconds=slots[card_id])


# --- the rows --------------------------------------------------------------------------------------------------


def _write(request: CheckRequest, passed: _Passed, now: datetime) -> None:
    outcome = {str(word): count for word, count in sorted(Counter(passed.outcomes.values()).items())}
    open_ = CheckRequest.objects.filter(pk=request.pk, asked_at__isnull=True)
    with transaction.atomic():
        is_first = open_.update(asked_at=now, outcome=outcome)
        if is_first and request.scene.confirm_delays:
            _write_looks(request, passed, now)


# Only of cards whose first look is still to come. What cools was checked a short time ago: its looks go on at once with
# the first pause, and are asked for like any other.
_LOOKS = (
    "WITH told AS (SELECT * FROM unnest(%(cards)s::bigint[], %(at)s::timestamptz[], %(cooling)s::boolean[])"
    " AS told (card_id, at, cooling)),"
    " locked AS (SELECT held.id, told.at, told.cooling FROM polling_confirmation AS held JOIN told USING (card_id)"
    " WHERE held.request_id = %(request)s AND held.state = 'waiting' AND held.looks = 0"
    " ORDER BY held.id FOR UPDATE OF held)"
    " UPDATE polling_confirmation AS held SET asked_at = CASE WHEN cooling THEN NULL ELSE at END,"
    " due_at = CASE WHEN cooling THEN %(now)s + make_interval(secs => delays[1]) ELSE due_at END,"
    " delays = CASE WHEN cooling THEN delays[2:] ELSE delays END"
    " FROM locked WHERE held.id = locked.id AND held.looks = 0"
)


def _write_looks(request: CheckRequest, passed: _Passed, now: datetime) -> None:
    cards = list(passed.wanted_at)
    cooling = [passed.outcomes[card_id] is RequestOutcome.COOLING for card_id in cards]
    told: dict[str, Any] = {"cards": cards, "at": list(passed.wanted_at.values()), "cooling": cooling}
    with connection.cursor() as cursor:
        cursor.execute(_LOOKS, told | {"request": request.pk, "now": now})
