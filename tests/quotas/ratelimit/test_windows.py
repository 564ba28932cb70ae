"""Windows and what a call may cost: pure."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quotas.ratelimit import LimiterError, NeverPossible, Window
from quotas.ratelimit.windows import MICROSECONDS, check_cost, checked_windows


@pytest.mark.parametrize("limit", [0, -1, 100_001, 1.5, math.nan, True, "5", None])
def test_a_limit_is_a_whole_number_from_one(limit: Any) -> None:
    with pytest.raises(LimiterError, match=r"limit: write a whole number from 1 to 100,000, not") as refused:
        Window(limit, 60)
    assert refused.value.field == "limit"


@pytest.mark.parametrize("seconds", [0, -1, math.nan, math.inf, 1e-7, 32 * 24 * 3600, True, "1", None])
def test_the_seconds_are_a_number_above_zero(seconds: Any) -> None:
    with pytest.raises(LimiterError, match=r"seconds: write a number above 0, at most 31 days, not") as refused:
        Window(1, seconds)
    assert refused.value.field == "seconds"


def test_more_than_redis_could_book_in_a_second_is_refused() -> None:
    Window(10_000, 1)
    with pytest.raises(LimiterError, match=r"limit: 10,001 in 1 s are more than 10,000 a second"):
        Window(10_001, 1)


def test_a_window_is_evenly_spaced_up_to_five_seconds_or_as_it_says() -> None:
    assert [Window(5, seconds).is_even for seconds in (0.5, 1, 5, 5.1, 300)] == [True, True, True, False, False]
    assert Window(5, 300, even=True).is_even
    assert not Window(5, 1, even=False).is_even


def test_a_limiter_has_one_to_eight_windows_of_different_lengths() -> None:
    assert checked_windows([Window(5, 1), Window(2000, 300)]) == (Window(5, 1), Window(2000, 300))
    for windows in ([], [Window(1, seconds) for seconds in range(1, 10)]):
        with pytest.raises(LimiterError, match=r"name 1 to 8 windows"):
            checked_windows(windows)
    with pytest.raises(LimiterError, match=r"two have the same length. Keep the one with the lower limit"):
        checked_windows([Window(5, 60), Window(6, 60.0)])


@pytest.mark.parametrize("cost", [0, -5, 1.0, math.nan, True, "1", None])
def test_b21_a_cost_is_a_whole_number_from_one(cost: Any) -> None:
    with pytest.raises(LimiterError, match=r"cost: write a whole number from 1, not"):
        check_cost(cost, [Window(10, 1)])


def test_b24_a_cost_above_a_limit_can_never_pass() -> None:
    windows = [Window(100, 1), Window(10, 60)]
    check_cost(10, windows)
    with pytest.raises(NeverPossible, match=r"cost: 11 can never pass, for the limit is 10 in 60 s"):
        check_cost(11, windows)


@given(st.integers(1, 1000), st.sampled_from([0.1, 0.5, 1, 2, 5]), st.integers(0, 2000))
def test_slots_called_as_late_as_may_be_stay_within_two_percent_and_one(
    limit: int, seconds: float, before: int
) -> None:
    """The worst case: whoever had a slot just before the span comes as late as he may, and all others on time."""
    window = Window(limit, seconds)
    starts = before * window.length // limit
    first_late = starts - window.tolerance  # slots from here on may be called in the span
    called = sum(
        first_late <= number * window.length // limit < starts + window.length for number in range(before + 2 * limit)
    )
    assert called <= limit + limit * 0.02 + 1 + 1e-9


def test_the_tolerance_is_a_share_of_the_window_or_a_step_of_its_pace() -> None:
    assert Window(2000, 1).tolerance == 0.02 * MICROSECONDS
    assert Window(5, 1).tolerance == 0.2 * MICROSECONDS
    assert Window(5, 300).tolerance == 6 * MICROSECONDS  # not spaced: a step of 60 s means nothing
