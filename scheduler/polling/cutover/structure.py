"""Writes the structure of whoever decides: the live order of the account, or the sets of the simple way. Every writer
comes through here, and amid a cut-over both are written, so that nothing is lost on the way.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta

from redis import Redis

from scheduler.polling.cutover import sets, standing
from scheduler.polling.queue import Card as Entry
from scheduler.polling.queue import Queue, Requested, calls
from scheduler.polling.states import CheckType
from scheduler.polling.system_settings import Mode


def put(redis: Redis, account_id: int, entries: Sequence[Entry]) -> int:
    """Add cards, at most MOST_CARDS, or change when they are due, and return how many are new.

    Raises:
        redis.RedisError: it is away; a part may be done.
    """
    return _first([_put(redis, mode, account_id, entries) for mode in standing.now_holds().written])


def remove(redis: Redis, account_id: int, card_ids: Sequence[int]) -> int:
    """Take cards out, at most MOST_CARDS, and return how many there were.

    Raises:
        redis.RedisError: it is away; a part may be done.
    """
    return _first([_remove(redis, mode, account_id, card_ids) for mode in standing.now_holds().written])


def forget(redis: Redis, account_id: int) -> None:
    """Let the order of an account that is switched off or gone be forgotten.

    Raises:
        redis.RedisError: it is away.
    """
    Queue(redis).ask(calls.begin_rebuild(account_id))  # in the simple way its cards go when their turn comes


def request(
    redis: Redis,
    account_id: int,
    card_ids: Sequence[int],
    types: Iterable[CheckType],
    *,
    scene: str = "",
    cooldown: timedelta = timedelta(0),
    delay: timedelta = timedelta(0),
) -> list[Requested]:
    """Ask for checks beside the schedule, of at most MOST_CARDS cards of one account, and return what became of each.

    Args:
        scene, cooldown: for how long the same scene may not ask for the same card again.
        delay: from when the check is wanted.

    Raises:
        ValueError: no type is named.
        redis.RedisError: it is away; a part may be done.
    """
    wanted = tuple(types)
    in_order = calls.request(account_id, card_ids, wanted, scene=scene, cooldown=cooldown, delay=delay)
    answers = [
        Queue(redis).ask(in_order)
        if mode is Mode.CARRIER
        else sets.request(redis, card_ids, wanted, scene, cooldown, delay)
        for mode in standing.now_holds().written
    ]
    return [max(of_card) for of_card in zip(*answers, strict=True)]  # amid a cut-over: of the side that knows the card


def _put(redis: Redis, mode: Mode, account_id: int, entries: Sequence[Entry]) -> int:
    if mode is Mode.LEGACY:
        return sets.put(redis, entries)
    return Queue(redis).ask(calls.put(account_id, entries))


def _remove(redis: Redis, mode: Mode, account_id: int, card_ids: Sequence[int]) -> int:
    if mode is Mode.LEGACY:
        return sets.remove(redis, card_ids)
    return Queue(redis).ask(calls.remove(account_id, card_ids))


def _first(counts: Sequence[int]) -> int:
    return counts[0]
