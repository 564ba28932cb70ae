"""The live orders are told which checks are asked for beside the schedule: those of requests, and looks that are due.

Rows say what was passed on. A crash in between passes it on again, which the orders merge: nothing is lost, and nothing
is asked twice at once. Many cards of one account are wanted one after another, so that they make no peak.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime

from redis import Redis
from redis.exceptions import LockNotOwnedError

from project.kit.sentences import counted
from scheduler.polling import looks, passing_requests
from scheduler.polling.queue.keys import PREFIX

# Of all scans at a time one works; one that was killed is followed by another after so long.
SCAN_KEY = f"{PREFIX}:passing-on"
SCAN_SECONDS = 60


def pass_on_due(redis: Redis, *, now: datetime) -> str:
    """Pass on what nobody has passed on yet, and return what to note.

    Raises:
        redis.RedisError: it is away; a part may be done.
    """
    with _alone(redis) as alone:
        if not alone:
            return ""
        requests, looked = passing_requests.pass_on_all(redis, now=now), looks.pass_on(redis, now=now)
    if not requests and not looked:
        return ""
    return f"{counted(requests, 'request')} and {counted(looked, 'look')} passed on."


@contextmanager
def _alone(redis: Redis) -> Iterator[bool]:
    lock = redis.lock(SCAN_KEY, timeout=SCAN_SECONDS, blocking=False)
    is_mine = lock.acquire()
    try:
        yield is_mine
    finally:
        if is_mine:
            with suppress(LockNotOwnedError):  # it took longer than that, and another has begun: both do no harm
                lock.release()
