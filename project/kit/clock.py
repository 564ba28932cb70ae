"""The one clock: the database's. Only edges (tasks, commands, views) ask it; domain functions take `now`."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import connection

# For so long, two clocks that run at a second a second cannot part noticeably.
CARRIED_SECONDS = 1.0


def database_now() -> datetime:
    """Return the database's present instant in UTC, even inside a transaction that began long ago."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (now,) = cursor.fetchone()
    instant: datetime = now
    return instant


def elapsed() -> float:
    """Return the seconds since this machine started, with those in which it slept where the platform counts them."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class CarriedClock:
    """The database's clock without a question each time: its answer, carried on by this machine for up to a second.

    It may be behind the database by as long as the answer took to arrive, and is never ahead.

    Args:
        ask: tells the database's present instant.
        elapsed: seconds on a clock that nobody sets.
    """

    def __init__(self, ask: Callable[[], datetime] = database_now, elapsed: Callable[[], float] = elapsed) -> None:
        self._ask, self._elapsed = ask, elapsed
        self._answer: tuple[datetime, float] | None = None

    def __call__(self) -> datetime:
        """Return the database's present instant in UTC."""
        if self._answer is not None:
            instant, answered_at = self._answer
            since = self._elapsed() - answered_at
            if since < CARRIED_SECONDS:
                return instant + timedelta(seconds=since)
        instant = self._ask()
        self._answer = instant, self._elapsed()
        return instant
