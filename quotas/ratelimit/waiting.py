"""How a call waits for its slot, told without doing any of it: both kinds of client perform the same steps."""

import logging
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeVar

from redis import RedisError

from quotas.ratelimit.calls import Argument, Booking, Calls, booking
from quotas.ratelimit.windows import MICROSECONDS

logger = logging.getLogger(__name__)

# Who woke too late books once more, but only once: where each wake-up is late, another would be, too.
BOOKINGS = 2

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


def wait(calls: Calls, cost: int, max_wait: float | None, elapsed: Callable[[], float]) -> Steps[Booking]:
    """Book the next slot and sleep until it comes.

    Args:
        elapsed: seconds on a clock that nobody sets.
    """
    started_at = elapsed()
    for _ in range(BOOKINGS):
        booked = yield from book(calls, cost, _remaining(max_wait, elapsed() - started_at))
        answered_at = elapsed()
        yield from _sleep(calls, booked)
        late = (elapsed() - answered_at) * MICROSECONDS - booked.microseconds
        if late <= calls.tolerance:
            break
    return booked


def _remaining(max_wait: float | None, waited: float) -> float | None:
    return None if max_wait is None else max(max_wait - waited, 0)


def _sleep(calls: Calls, booked: Booking) -> Steps[None]:
    """Sleep until the slot comes; whatever interrupts the sleep gives the slot back."""
    if not booked.seconds:
        return
    try:
        yield Sleep(booked.seconds)
    except BaseException:
        yield from _try_to_give_back(calls, booked)
        raise


def _try_to_give_back(calls: Calls, booked: Booking) -> Steps[None]:
    try:
        yield from give_back(calls, booked)
    except RedisError as error:
        logger.warning("The slot of an interrupted wait is lost: %s", error)
