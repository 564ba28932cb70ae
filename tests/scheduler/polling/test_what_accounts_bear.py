"""What the accounts bear, and how what pollers can hold is shared among them."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quotas.ratelimit import Window
from scheduler.polling.policy import Demand, demand, full_cycle, tightened
from scheduler.polling.states import CheckType
from tests.scheduler.polling.factories import tier

USAGE, STATUS = CheckType.USAGE, CheckType.CARD_STATUS


def test_the_demand_of_the_tiers_is_compared_with_what_the_windows_allow() -> None:
    hourly, daily = tier({USAGE: 3600, STATUS: 86_400}), tier({USAGE: 86_400})
    wanted = demand([(hourly, 100), (daily, 50)], [Window(5, 1), Window(2000, 3600)])
    assert wanted == Demand(100 * 25 + 50, 48_000)
    assert wanted.feasible
    assert not demand([(hourly, 2000)], [Window(2000, 3600)]).feasible


def test_a_call_a_year_is_still_one_a_day_in_whole_numbers() -> None:
    assert demand([(tier({USAGE: 366 * 86_400}), 1)], []) == Demand(1, None)


def test_without_windows_every_tier_is_feasible() -> None:
    assert demand([(tier({USAGE: 1}), 10**6)], []).feasible
    assert full_cycle(10**6, []) is None


@pytest.mark.parametrize(
    ("calls", "windows", "takes"),
    [
        (0, [Window(5, 1)], timedelta(0)),
        (100_000, [Window(5, 1)], timedelta(seconds=20_000)),
        (100_000, [Window(5, 1), Window(2000, 3600)], timedelta(hours=50)),
        (1, [Window(3, 1)], timedelta(microseconds=333_334)),
    ],
)
def test_a_full_cycle_takes_as_long_as_its_calls_at_the_slowest_window(
    calls: int, windows: list[Window], takes: timedelta
) -> None:
    assert full_cycle(calls, windows) == takes


@pytest.mark.parametrize(
    ("limits", "capacity", "granted"),
    [
        ({1: 10, 2: 20}, 30, {1: 10, 2: 20}),
        ({1: 10, 2: 20}, 1000, {1: 10, 2: 20}),
        ({1: 200, 2: 200}, 100, {1: 50, 2: 50}),
        ({1: 5, 2: 200, 3: 200}, 100, {1: 5, 2: 47, 3: 48}),
        ({1: 200, 2: 200, 3: 200}, 2, {1: 1, 2: 1, 3: 1}),
        ({1: 200}, 0, {1: 1}),
        ({}, 100, {}),
    ],
)
def test_what_pollers_can_hold_is_shared_so_that_nobody_gets_more_while_another_wants_and_has_less(
    limits: dict[int, int], capacity: int, granted: dict[int, int]
) -> None:
    assert tightened(limits, capacity) == granted


@given(st.dictionaries(st.integers(1, 500), st.integers(1, 10_000), max_size=60), st.integers(0, 100_000))
def test_tightening_uses_all_there_is_and_takes_only_from_those_who_have_the_most(
    limits: dict[int, int], capacity: int
) -> None:
    granted = tightened(limits, capacity)
    assert all(1 <= granted[account] <= limits[account] for account in limits)
    if capacity >= len(limits):
        assert sum(granted.values()) == min(capacity, sum(limits.values()))
    most = max(granted.values(), default=0)
    assert all(granted[account] >= most - 1 for account in limits if granted[account] < limits[account])
