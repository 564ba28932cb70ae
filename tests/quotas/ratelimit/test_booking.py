"""Slots of one limiter: paced, exact, refused."""

from itertools import pairwise

import pytest
from redis import Redis

from quotas.ratelimit import Limiter, LimiterError, NeverPossible, Refused, Window
from tests.quotas.ratelimit.states import (
    SECOND,
    booked_at_once,
    kept,
    let_pass,
    passes,
    slot,
    slots,
)

MINUTE = 60


def wait_when_refused(limiter: Limiter, cost: int = 1) -> int:
    with pytest.raises(Refused) as refused:
        limiter.book(cost, max_wait=0)
    return refused.value.microseconds


# --- short windows --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [1, 3, 50, 999, 2000, 3000, 6000])
def test_b26_short_windows_are_spaced_evenly_to_the_microsecond_at_any_rate(
    client: Redis, name: str, rate: int
) -> None:
    windows = [Window(rate, 1)]
    Limiter(client, name, windows).book(cost=rate)  # a second ahead: no pause of the machine lets the queue run dry
    booked = [slot(booking) for booking in booked_at_once(client, name, windows, rate + 1)]
    steps = {after - before for before, after in pairwise(booked)}
    assert steps <= {SECOND // rate, SECOND // rate + 1}
    assert booked[-1] - booked[0] == SECOND


def test_who_comes_a_little_late_keeps_the_beat_and_who_comes_late_starts_a_new_one(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(1, 1)])
    first = limiter.book()
    let_pass(client, name, 1.2)
    kept_the_beat = limiter.book()
    assert slot(kept_the_beat) == slot(first) - 1.2 * SECOND + SECOND
    assert kept_the_beat.microseconds < 0
    assert kept_the_beat.seconds == 0
    let_pass(client, name, 1.9)
    assert limiter.book().microseconds == 0


# --- long windows ---------------------------------------------------------------------------------------------------


def test_u16_a_hundred_a_minute_may_come_in_a_burst_from_idle(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(100, MINUTE)])
    first = limiter.book()
    assert all(passes(limiter) for _ in range(99))
    assert wait_when_refused(limiter) <= MINUTE * SECOND
    assert slot(limiter.book()) == slot(first) + MINUTE * SECOND


def test_a_budget_of_minutes_is_used_at_the_pace_of_the_short_window(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(500, 1), Window(2000, 300)])
    booked = slots(limiter, 2001)
    assert booked[1999] - booked[1000] == 999 * 2000
    assert booked[2000] == booked[0] + 300 * SECOND


def test_b32_the_wait_is_until_the_oldest_call_leaves_the_window_and_no_longer(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(5, 300)])
    first = limiter.book()
    slots(limiter, 4)
    let_pass(client, name, 290)
    microseconds = wait_when_refused(limiter)
    booking = limiter.book()
    assert slot(booking) == slot(first) + 10 * SECOND  # 290 s have passed of 300
    assert booking.microseconds < microseconds <= 10 * SECOND


def test_b32_an_even_budget_of_minutes_gives_the_next_step_of_its_pace(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(5, 300, even=True)])
    first = limiter.book()
    let_pass(client, name, 50)
    assert wait_when_refused(limiter) <= 10 * SECOND
    assert slot(limiter.book()) == slot(first) + 10 * SECOND  # a step is 60 s, of which 50 have passed


def test_b38_calls_of_the_same_millisecond_are_all_counted(client: Redis, name: str) -> None:
    windows = [Window(20, MINUTE)]
    bookings = booked_at_once(client, name, windows, 21)
    assert len({booking.token for booking in bookings}) == 21
    assert [booking.microseconds > 0 for booking in bookings] == [False] * 20 + [True]


def test_b27_polling_starves_nobody(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(1, 1)])
    limiter.book()
    passed = []
    for _ in range(10):
        let_pass(client, name, 0.5)
        passed.append(passes(limiter))
    assert passed.count(True) >= 5


def test_drained_stays_drained(client: Redis, name: str) -> None:
    """B29: it is never mistaken for something else that lets calls pass."""
    limiter = Limiter(client, name, [Window(1, 31 * 24 * 3600)])
    assert passes(limiter)
    let_pass(client, name, 30 * 24 * 3600)
    client.script_flush()
    assert not passes(limiter)


# --- refusals and costs ---------------------------------------------------------------------------------------------


def test_b40_what_is_refused_changes_nothing(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(5, 1), Window(8, 300)])
    slots(limiter, 8)
    before = kept(client, name)
    for max_wait in (0, 0.5, 200):
        with pytest.raises(Refused, match=r"The limit is reached. The call could be made in \d+\.\d{6} s\."):
            limiter.book(max_wait=max_wait)
    assert kept(client, name) == before


def test_b35_what_is_refused_hears_the_earliest_instant_at_which_it_would_pass(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(10, MINUTE)])
    booked = []
    for _ in range(10):
        booked.append(limiter.book())
        let_pass(client, name, 1)
    for cost in (1, 4, 10):
        latest = limiter.book(10)
        assert limiter.give_back(latest)
        told = wait_when_refused(limiter, cost)
        booking = limiter.book(cost)
        passed_since = 10 - (cost - 1)
        assert slot(booking) == slot(booked[cost - 1]) + (MINUTE - passed_since) * SECOND
        assert booking.microseconds < told <= latest.microseconds
        assert limiter.give_back(booking)


def test_a_wait_that_is_allowed_is_booked(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(1, MINUTE)])
    limiter.book()
    assert limiter.book(max_wait=MINUTE).microseconds <= MINUTE * SECOND
    with pytest.raises(Refused) as refused:
        limiter.book(max_wait=MINUTE)
    assert MINUTE < refused.value.seconds <= 2 * MINUTE


@pytest.mark.parametrize("even", [True, False])
def test_b24_big_and_small_calls_stay_within_the_limit(client: Redis, name: str, even: bool) -> None:
    limiter = Limiter(client, name, [Window(10, 1, even)])
    eight = limiter.book(8)
    three = limiter.book(3)
    assert slot(three) >= slot(eight) + SECOND
    with pytest.raises(NeverPossible, match=r"cost: 100 can never pass, for the limit is 10 in 1 s"):
        limiter.book(100)


def test_a_big_call_is_not_overtaken_by_small_ones(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(10, MINUTE)])
    slots(limiter, 5)
    big = limiter.book(8)
    assert slot(limiter.book()) >= slot(big)


def test_a_call_may_count_for_thousands(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(100_000, 300)])
    assert passes(limiter, 99_999)
    assert limiter.left() == 1
    assert not passes(limiter, 2)
    assert passes(limiter)


@pytest.mark.parametrize("max_wait", [-1, float("nan"), float("inf"), True, "1"])
def test_a_wait_is_a_number_of_seconds(client: Redis, name: str, max_wait: float) -> None:
    with pytest.raises(LimiterError, match=r"max_wait: write seconds from 0, or None to wait for ever"):
        Limiter(client, name, [Window(1, 1)]).book(max_wait=max_wait)


@pytest.mark.parametrize("name", ["", "a}b", "{a}", "x" * 201])
def test_a_name_has_no_braces(client: Redis, name: str) -> None:
    with pytest.raises(LimiterError, match=r"name: write 1 to 200 characters without braces"):
        Limiter(client, name, [Window(1, 1)])


# --- limits that change ---------------------------------------------------------------------------------------------


def test_a_lowered_limit_counts_what_was_booked_before(client: Redis, name: str) -> None:
    booked = slots(Limiter(client, name, [Window(10, MINUTE)]), 10)
    lowered = Limiter(client, name, [Window(4, MINUTE)])
    assert lowered.left() == 0
    assert slot(lowered.book()) == booked[6] + MINUTE * SECOND


def test_a_raised_limit_acts_at_once(client: Redis, name: str) -> None:
    slots(Limiter(client, name, [Window(10, MINUTE)]), 10)
    raised = Limiter(client, name, [Window(15, MINUTE)])
    assert raised.left() == 5
    assert [passes(raised) for _ in range(6)] == [True] * 5 + [False]


def test_after_a_raise_nobody_overtakes_those_who_already_wait(client: Redis, name: str) -> None:
    waiting = slots(Limiter(client, name, [Window(1, MINUTE)]), 2)[-1]
    raised = Limiter(client, name, [Window(4, MINUTE)])
    assert slots(raised, 2) == [waiting, waiting]
