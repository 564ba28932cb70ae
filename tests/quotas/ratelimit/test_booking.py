"""Slots of one limiter: paced, exact, refused, counted, given back."""

from collections.abc import Callable
from itertools import pairwise
from uuid import uuid4

import pytest
from redis import Redis
from redis.crc import key_slot

from quotas.ratelimit import Limiter, LimiterError, NeverPossible, Refused, Window
from quotas.ratelimit.calls import Calls
from tests.quotas.ratelimit.states import (
    SECOND,
    booked_at_once,
    kept,
    keys_of,
    let_pass,
    passes,
    set_clock_back,
    slot,
    slots,
)

MINUTE = 60


def wait_when_refused(limiter: Limiter, cost: int = 1) -> int:
    with pytest.raises(Refused) as refused:
        limiter.book(cost, max_wait=0)
    return refused.value.microseconds


# --- short windows ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [1, 3, 50, 999, 2000, 3000, 6000])
def test_b26_short_windows_are_spaced_evenly_to_the_microsecond_at_any_rate(
    client: Redis, name: str, rate: int
) -> None:
    booked = [slot(booking) for booking in booked_at_once(client, name, [Window(rate, 1)], 2 * rate + 1)]
    steps = {after - before for before, after in pairwise(booked)}
    assert steps <= {SECOND // rate, SECOND // rate + 1}
    assert booked[-1] - booked[0] == 2 * SECOND


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


# --- long windows -------------------------------------------------------------------------------------------------


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
    let_pass(client, name, 299)
    microseconds = wait_when_refused(limiter)
    booking = limiter.book()
    assert slot(booking) == slot(first) + SECOND  # 299 s have passed of 300
    assert booking.microseconds < microseconds <= SECOND


def test_b32_an_even_budget_of_minutes_gives_the_next_step_of_its_pace(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(5, 300, even=True)])
    first = limiter.book()
    let_pass(client, name, 59)
    assert wait_when_refused(limiter) <= SECOND
    assert slot(limiter.book()) == slot(first) + SECOND  # a step is 60 s, of which 59 have passed


def test_b38_calls_of_the_same_millisecond_are_all_counted(client: Redis, name: str) -> None:
    windows = [Window(20, MINUTE)]
    bookings = booked_at_once(client, name, windows, 21)
    assert len({booking.name for booking in bookings}) == 21
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


# --- refusals and costs -------------------------------------------------------------------------------------------


def test_b40_what_is_refused_changes_nothing(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(5, 1), Window(8, 300)])
    slots(limiter, 8)
    before = kept(client, name)
    for max_wait in (0, 0.5, 299):
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


# --- limits that change -------------------------------------------------------------------------------------------


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


# --- what is left -------------------------------------------------------------------------------------------------


def test_what_is_left_is_counted_without_booking(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(5, 1), Window(7, MINUTE)])
    assert limiter.left() == 5
    assert keys_of(client, name) == []
    slots(limiter, 5)
    before = kept(client, name)
    assert limiter.left() <= 2
    assert kept(client, name) == before
    let_pass(client, name, 2)
    assert limiter.left() == 2
    assert limiter.left(enough=1) == 1
    slots(limiter, 2)
    assert limiter.left() == 0


def test_what_is_left_of_long_windows_ends_with_the_second(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(3, MINUTE)])
    slots(limiter, 3)
    let_pass(client, name, MINUTE - 2)
    assert limiter.left() == 0
    let_pass(client, name, 1.5)
    assert limiter.left() == 3


# --- clocks -------------------------------------------------------------------------------------------------------


def test_b30_a_server_clock_set_back_neither_gives_extra_calls_nor_makes_anybody_wait_for_it(
    client: Redis, name: str
) -> None:
    limiter = Limiter(client, name, [Window(5, 1), Window(6, MINUTE)])
    before = [limiter.book() for _ in range(5)]
    set_clock_back(client, name, 3600)
    after = [limiter.book() for _ in range(2)]
    ahead = 3600 * SECOND
    assert after[0].name > before[-1].name + ahead
    assert slot(after[0]) == slot(before[-1]) + ahead + SECOND // 5
    assert slot(after[1]) == slot(before[0]) + ahead + MINUTE * SECOND
    assert after[1].microseconds <= MINUTE * SECOND


@pytest.mark.parametrize("ask", [passes, Limiter.left], ids=["by a call", "by asking what is left"])
def test_b30_a_clock_set_back_goes_on_even_where_nothing_is_booked(
    client: Redis, name: str, ask: Callable[[Limiter], int]
) -> None:
    limiter = Limiter(client, name, [Window(1, MINUTE)])
    limiter.book()
    set_clock_back(client, name, 3600)
    assert not ask(limiter)
    let_pass(client, name, MINUTE)
    assert passes(limiter)


# --- giving back --------------------------------------------------------------------------------------------------


def test_the_last_slot_can_be_given_back_and_is_booked_again(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(5, 1), Window(20, MINUTE)])
    slots(limiter, 3)
    given_back = limiter.book(2)
    assert limiter.give_back(given_back)
    again = limiter.book(2)
    assert slot(again) == slot(given_back)
    assert not limiter.give_back(given_back), "the name of a booking is used once"


def test_a_slot_is_lost_when_others_have_booked_since(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(5, 1)])
    first, second = limiter.book(), limiter.book()
    before = kept(client, name)
    assert not limiter.give_back(first)
    assert kept(client, name) == before
    assert slot(limiter.book()) == slot(second) + SECOND // 5


def test_what_is_given_back_to_a_full_window_leaves_it_full(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(500, MINUTE)])
    slots(limiter, 500 + 200)
    waiting = limiter.book(100)
    assert limiter.give_back(waiting)
    assert slot(limiter.book(100)) == slot(waiting)


def test_the_only_booking_can_be_given_back(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(1, MINUTE)])
    assert limiter.give_back(limiter.book())
    assert limiter.left() == 1
    assert passes(limiter)


# --- keys ---------------------------------------------------------------------------------------------------------


def test_b33_no_key_is_ever_without_an_end(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(2, 1), Window(3, MINUTE)])

    def ends() -> list[int]:
        return [client.pttl(key) for key in keys_of(client, name)]

    for act in (limiter.book, limiter.left, lambda: passes(limiter), lambda: limiter.give_back(limiter.book(2))):
        act()
        assert len(ends()) == 3
        assert all(end > 0 for end in ends())
    set_clock_back(client, name, 10)
    limiter.left()
    assert all(end > 0 for end in ends())


def test_keys_live_as_long_as_what_they_know_matters_the_state_longest(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(1, MINUTE), Window(5, 1)])
    booking = [limiter.book() for _ in range(3)][-1]
    state, second, minute = (client.pexpiretime(key) for key in keys_of(client, name))
    assert minute * 1000 >= slot(booking) + MINUTE * SECOND
    assert second * 1000 >= slot(booking) + SECOND
    assert state >= minute + 1000


def test_a_log_grows_no_further_than_its_window_needs(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(50, MINUTE)])
    slots(limiter, 400)
    _, log = keys_of(client, name)
    assert 50 <= client.llen(log) <= 50 + 1 + 100


def test_b39_scripts_touch_only_the_keys_they_declare_and_all_lie_in_one_slot_of_a_cluster(client: Redis) -> None:
    name = f"test {uuid4()} {SECOND}"
    windows = [Window(5, 1), Window(2000, 300)]
    limiter = Limiter(client, name, windows)
    declared = {key.decode() for key in Calls(name, windows).keys}
    with client.monitor() as monitor:
        limiter.give_back(limiter.book())
        limiter.book(max_wait=1)
        limiter.left()
        client.echo("over")
        commands = []
        while "ECHO" not in (command := monitor.next_command()["command"]):
            commands.append(command)
    touched = {part for command in commands for part in declared if f" {part} " in f"{command} "}
    inside = [c for c in commands if c.split()[0] in {"GET", "SET", "LINDEX", "LPUSH", "LTRIM", "PEXPIRE"}]
    assert touched == declared
    assert all(any(f" {key} " in f"{command} " for key in declared) for command in inside)
    assert len({key_slot(key.encode()) for key in declared}) == 1
    client.delete(*declared)
