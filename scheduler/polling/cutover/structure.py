"""Writes the structure of whoever decides: the live order of the account, or the sets of the simple way. Every writer
comes through here, and amid a cut-over both are written, so that nothing is lost on the way.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta

from redis import Redis

from scheduler.polling.queue import Card as Entry
from scheduler.polling.queue import Queue, Requested, calls
from scheduler.polling.states import CheckType


def put(redis: Redis, account_id: int, entries: Sequence[Entry]) -> int:
    """Add cards, at most MOST_CARDS, or change when they are due, and return how many are new.

    Raises:
        redis.RedisError: it is away; a part may be done.
    """
    return Queue(redis).ask(calls.put(account_id, entries))


def remove(redis: Redis, account_id: int, card_ids: Sequence[int]) -> int:
    """Take cards out, at most MOST_CARDS, and return how many there were.

    Raises:
        redis.RedisError: it is away; a part may be done.
    """
    return Queue(redis).ask(calls.remove(account_id, card_ids))


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
    return Queue(redis).ask(calls.request(account_id, card_ids, wanted, scene=scene, cooldown=cooldown, delay=delay))
