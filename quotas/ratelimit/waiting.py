"""How a call waits for its slot, told without doing any of it: both kinds of client perform the same steps."""

import logging
import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeVar

from redis import RedisError

from quotas.ratelimit.calls import Argument, Booking, Calls, booking
from quotas.ratelimit.windows import MICROSECONDS

logger = logging.getLogger(__name__)

# Who woke too late books once more, but only once: where each wake-up is late, another would be, too.
BOOKINGS = 2
# So long it is held to be known how two clocks stand to each other; they drift apart by less than a millisecond in it.
LEARNED_SECONDS = 10.0

Outcome = TypeVar("Outcome")


@dataclass(frozen=True, slots=True)
class Call:
    """Call a script; its answer is the outcome of the step."""

    script: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Sleep:
    """Do nothing for so many seconds."""

    seconds: float


Steps = Generator[Call | Sleep, Any, Outcome]


def book(calls: Calls, cost: int, max_wait: float | None) -> Steps[Booking]:
    """Book the next slot."""
    reply = yield Call("book", calls.book(cost, max_wait))
    return booking(reply, cost)


def give_back(calls: Calls, booked: Booking) -> Steps[bool]:
    """Give a slot back if nobody has booked since."""
    given_back = yield Call("give_back", calls.give_back(booked))
    return bool(given_back)


def left(calls: Calls, enough: int) -> Steps[int]:
    """Count the calls that the present second has left."""
    count: int = yield Call("left", calls.left(enough))
    return count


class Alignment:
    """Where the limiter's instants lie on this process's clock, learned from what its answers took there and back.

    An instant that was read between asking and the answer lies between these two, so the quickest answer lately says
    it best. An answer that waited in a busy process then costs no lateness: the sleep is as much shorter.
    """

    def __init__(self) -> None:
        self._ahead, self._learned_at = math.inf, -math.inf

    def slot(self, booked: Booking, asked_at: float, answered_at: float) -> float:
        """Return when the slot comes on this process's clock, in seconds: never before it does.

        Args:
            asked_at, answered_at: seconds on the same clock.
        """
        read_at = booked.token / MICROSECONDS
        is_known = asked_at - read_at <= self._ahead and answered_at - self._learned_at <= LEARNED_SECONDS
        if not is_known or answered_at - read_at < self._ahead:
            self._ahead, self._learned_at = answered_at - read_at, answered_at
        return read_at + booked.microseconds / MICROSECONDS + self._ahead


def wait(
    calls: Calls, alignment: Alignment, cost: int, max_wait: float | None, elapsed: Callable[[], float]
) -> Steps[Booking]:
    """Book the next slot and sleep until it comes.

    Args:
        elapsed: seconds on a clock that nobody sets, which `alignment` is of.
    """
    started_at = elapsed()
    for _ in range(BOOKINGS):
        asked_at = elapsed()
        booked = yield from book(calls, cost, _remaining(max_wait, asked_at - started_at))
        answered_at = elapsed()
        slot = alignment.slot(booked, asked_at, answered_at)
        yield from _sleep(calls, booked, min(slot - answered_at, booked.seconds))  # floats may say a hair more
        if (elapsed() - slot) * MICROSECONDS <= calls.tolerance:
            break
    return booked


def _remaining(max_wait: float | None, waited: float) -> float | None:
    return None if max_wait is None else max(max_wait - waited, 0)


def _sleep(calls: Calls, booked: Booking, seconds: float) -> Steps[None]:
    """Sleep until the slot comes; whatever interrupts the sleep gives the slot back."""
    if seconds <= 0:
        return
    try:
        yield Sleep(seconds)
    except BaseException:
        yield from _try_to_give_back(calls, booked)
        raise


def _try_to_give_back(calls: Calls, booked: Booking) -> Steps[None]:
    try:
        yield from give_back(calls, booked)
    except RedisError as error:
        logger.warning("The slot of an interrupted wait is lost: %s", error)
