"""Cards of one account are asked for in its live order, each from its own second on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from redis import Redis

from project.kit.parts import parts_of
from scheduler.polling.cutover import structure
from scheduler.polling.fleet import live_order
from scheduler.polling.queue import MOST_CARDS, Requested
from scheduler.polling.states import CheckType


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which checks are asked for.

    Attributes:
        scene, cooldown: for how long the same scene may not ask for the same card again; none: it may always.
    """

    types: tuple[CheckType, ...]
    scene: str = ""
    cooldown: timedelta = timedelta(0)


def ask(
    redis: Redis, account_id: int, slots: Mapping[int, int], wanted: Wanted, *, now: datetime
) -> Iterator[tuple[int, Requested]]:
    """Ask for cards and yield what became of each.

    Args:
        slots: by card, after how many seconds it is wanted.

    Raises:
        redis.RedisError: it is away; a part may be done.
    """
    for seconds, card_ids in _parts(slots):
        delay = timedelta(seconds=seconds)
        answers = _request(redis, account_id, card_ids, wanted, delay)
        if missing := [card_id for card_id, answer in answers.items() if answer is Requested.UNKNOWN]:
            _put(redis, account_id, missing, now)
            answers |= _request(redis, account_id, missing, wanted, delay)
        yield from answers.items()


def _parts(slots: Mapping[int, int]) -> Iterator[tuple[int, Sequence[int]]]:
    by_second: dict[int, list[int]] = {}
    for card_id, seconds in slots.items():
        by_second.setdefault(seconds, []).append(card_id)
    for seconds, card_ids in by_second.items():
        yield from ((seconds, some) for some in parts_of(card_ids, MOST_CARDS))


def _request(
    redis: Redis, account_id: int, card_ids: Sequence[int], wanted: Wanted, delay: timedelta
) -> dict[int, Requested]:
    answers = structure.request(
        redis, account_id, card_ids, wanted.types, scene=wanted.scene, cooldown=wanted.cooldown, delay=delay
    )
    return dict(zip(card_ids, answers, strict=True))


def _put(redis: Redis, account_id: int, card_ids: Sequence[int], now: datetime) -> None:
    """Put cards in order that are polled and not there: the order is being built, or a card came just now."""
    polled = live_order.polled_cards().filter(account=account_id, pk__in=card_ids)
    if entries := live_order.entries(polled.order_by("pk"), live_order.as_before(now)):
        structure.put(redis, account_id, entries)
