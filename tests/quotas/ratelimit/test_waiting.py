"""The steps of a wait, performed by hand: what a client does between Redis and its sleep."""

import logging
from collections.abc import Callable
from typing import Any

import pytest
from redis import ConnectionError as RedisIsAway
from redis import Redis

from quotas.ratelimit import Booking, Limiter, Refused, Window, waiting
from quotas.ratelimit.waiting import Call, Sleep
from tests.quotas.ratelimit.states import SECOND

WINDOWS = [Window(100, 1)]
TOLERANCE = 0.02  # seconds


class Waiter(Limiter):
    """Performs the steps of a wait on paper: its Redis answers what is given, one after the other.

    Args:
        answers: the seconds until the slot; None: refused.
        oversleeps: by how many seconds each sleep is too long.
        interruption: what ends each sleep instead of the slot.
        gives_back: what happens when a slot is given back.
    """

    def __init__(
        self,
        answers: list[float | None],
        oversleeps: float = 0,
        interruption: BaseException | None = None,
        gives_back: Callable[[], int] = lambda: 1,
    ) -> None:
        super().__init__(Redis(), "on paper", WINDOWS)
        self.answers, self.oversleeps, self.interruption = iter(answers), oversleeps, interruption
        self.gives_back = gives_back
        self.now = 1000.0
        self.performed: list[str] = []
        self.max_waits: list[int] = []

    def wait(self, cost: int = 1, max_wait: float | None = None) -> Booking:
        return self._perform(waiting.wait(self._calls, cost, max_wait, lambda: self.now))

    def _do(self, step: Call | Sleep) -> Any:
        if isinstance(step, Sleep):
            return self._sleep(step.seconds)
        self.performed.append(step.script)
        if step.script == "give_back":
            return self.gives_back()
        self.max_waits.append(int(step.arguments[1]))
        seconds = next(self.answers)
        return [7, 0] if seconds is None else [round(seconds * SECOND), 99]

    def _sleep(self, seconds: float) -> None:
        self.performed.append(f"sleep {seconds:g}")
        if self.interruption:
            raise self.interruption
        self.now += seconds + self.oversleeps


def test_a_wait_is_one_booking_and_one_sleep() -> None:
    waiter = Waiter([1.5])
    assert waiter.wait().seconds == 1.5
    assert waiter.performed == ["book", "sleep 1.5"]


@pytest.mark.parametrize("seconds", [0, -0.005])
def test_a_slot_that_is_there_is_not_slept_for(seconds: float) -> None:
    waiter = Waiter([seconds])
    waiter.wait()
    assert waiter.performed == ["book"]


def test_who_wakes_a_little_late_goes_on() -> None:
    waiter = Waiter([1], oversleeps=TOLERANCE * 0.9)
    waiter.wait()
    assert waiter.performed == ["book", "sleep 1"]


def test_who_wakes_too_late_books_once_more_and_then_goes_on() -> None:
    waiter = Waiter([1, 0.5], oversleeps=TOLERANCE * 1.1)
    waiter.wait()
    assert waiter.performed == ["book", "sleep 1", "book", "sleep 0.5"]


def test_time_spent_in_a_first_booking_counts_for_the_longest_wait() -> None:
    waiter = Waiter([1, None], oversleeps=1)
    with pytest.raises(Refused):
        waiter.wait(max_wait=3)
    assert waiter.max_waits == [3 * SECOND, 1 * SECOND]
    waiter = Waiter([1, 0], oversleeps=5)
    waiter.wait(max_wait=3)
    assert waiter.max_waits == [3 * SECOND, 0]


@pytest.mark.parametrize("interruption", [KeyboardInterrupt(), SystemExit(1), ValueError("from a signal")])
def test_whatever_interrupts_the_sleep_gives_the_slot_back(interruption: BaseException) -> None:
    waiter = Waiter([1], interruption=interruption)
    with pytest.raises(type(interruption)) as raised:
        waiter.wait()
    assert raised.value is interruption
    assert waiter.performed == ["book", "sleep 1", "give_back"]


def test_an_interruption_is_not_hidden_by_a_redis_that_is_away(caplog: pytest.LogCaptureFixture) -> None:
    def away() -> int:
        raise RedisIsAway("no route")

    with caplog.at_level(logging.WARNING), pytest.raises(KeyboardInterrupt):
        Waiter([1], interruption=KeyboardInterrupt(), gives_back=away).wait()
    assert caplog.messages == ["The slot of an interrupted wait is lost: no route"]


def test_what_is_refused_is_not_slept_for() -> None:
    waiter = Waiter([None])
    with pytest.raises(Refused) as refused:
        waiter.wait(max_wait=0)
    assert refused.value.microseconds == 7
    assert waiter.performed == ["book"]
