"""The steps of a wait, performed by hand: what a client does between Redis and its sleep."""

import logging
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from redis import ConnectionError as RedisIsAway
from redis import Redis

from quotas.ratelimit import Booking, Limiter, Refused, Window, waiting
from quotas.ratelimit.waiting import LEARNED_SECONDS, Call, Sleep
from tests.quotas.ratelimit.states import SECOND

WINDOWS = [Window(100, 1)]
TOLERANCE = 0.02  # seconds


class Waiter(Limiter):
    """Performs the steps of a wait on paper: its Redis answers what is given, one after the other.

    Args:
        answers: the seconds until the slot, from when the limiter was asked; None: refused.
        ways: how many seconds each answer takes to arrive, one after the other; then none.
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
        ways: Sequence[float] = (),
    ) -> None:
        super().__init__(Redis(), "on paper", WINDOWS)
        self.answers, self.oversleeps, self.interruption = iter(answers), oversleeps, interruption
        self.gives_back, self.ways = gives_back, iter(ways)
        self.now, self.limiter_ahead = 1000.0, 1_790_000_000.0
        self.performed: list[str] = []
        self.max_waits: list[int] = []

    def wait(self, cost: int = 1, max_wait: float | None = None) -> Booking:
        return self._perform(waiting.wait(self._calls, self._alignment, cost, max_wait, lambda: self.now))

    def _do(self, step: Call | Sleep) -> Any:
        if isinstance(step, Sleep):
            return self._sleep(step.seconds)
        self.performed.append(step.script)
        if step.script == "give_back":
            return self.gives_back()
        self.max_waits.append(int(step.arguments[1]))
        seconds, read_at = next(self.answers), self.now + self.limiter_ahead
        self.now += next(self.ways, 0)
        return [7, 0] if seconds is None else [round(seconds * SECOND), round(read_at * SECOND)]

    def _sleep(self, seconds: float) -> None:
        self.performed.append(f"sleep {round(seconds, 4):g}")
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


def test_an_answer_that_waited_in_a_busy_process_is_slept_for_the_less() -> None:
    waiter = Waiter([1, 1], ways=[0.001, 0.3])
    waiter.wait()
    waiter.wait()
    assert waiter.performed == ["book", "sleep 1", "book", "sleep 0.701"]


def test_an_answer_that_arrives_when_its_slot_is_long_over_is_booked_once_more() -> None:
    waiter = Waiter([0, 0.1, 0.5], ways=[0.001, 0.3])
    waiter.wait()
    waiter.wait()
    assert waiter.performed == ["book", "book", "book", "sleep 0.5"]


@pytest.mark.parametrize("step", [-3600, -0.5, 0.5, 3600])
def test_a_clock_of_the_limiter_that_was_set_makes_no_call_early_and_none_late(step: float) -> None:
    waiter = Waiter([1, 1, 1], ways=[0.001, 0.2, 0.2])
    waiter.wait()
    waiter.limiter_ahead += step
    waiter.wait()
    waiter.wait()
    assert waiter.performed == ["book", "sleep 1"] * 3


def test_clocks_that_drift_apart_are_compared_anew() -> None:
    waiter = Waiter([1, 1], ways=[0.001, 0.001])
    waiter.wait()
    waiter.now += LEARNED_SECONDS
    waiter.limiter_ahead -= 0.0005
    waiter.wait()
    assert waiter.performed == ["book", "sleep 1"] * 2
