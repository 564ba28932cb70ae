"""Many cards of one account are asked for at a pace that leaves the schedule its share of the account's calls."""

from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quotas.ratelimit import Window
from scheduler.polling.params import Params, resolved
from scheduler.polling.queue import MOST_CARDS
from scheduler.polling.spreading import FREE_CARDS_A_SECOND, Pace, pace

FIVE_A_SECOND = Window(5, 1)


def bearing(*windows: Window, share: str = "0.80") -> Params:
    """Return what holds for an account with these limits, and this share of its calls for what comes first."""
    return replace(resolved(None), rate_windows=windows, priority_max_ratio=Decimal(share))


@pytest.mark.parametrize(
    ("params", "calls_a_card", "expected"),
    [
        (bearing(FIVE_A_SECOND), 1, Pace(4)),
        (bearing(FIVE_A_SECOND), 2, Pace(2)),
        (bearing(FIVE_A_SECOND), 3, Pace(1)),
        (bearing(FIVE_A_SECOND), 4, Pace(1)),
        (bearing(FIVE_A_SECOND), 5, Pace(1, seconds=2)),
        (bearing(Window(200, 1), share="1.00"), 1, Pace(200)),
        (bearing(Window(200, 1), share="0.50"), 1, Pace(100)),
    ],
)
def test_a_pace_takes_the_share_of_what_the_account_bears(params: Params, calls_a_card: int, expected: Pace) -> None:
    assert pace(params, calls_a_card) == expected


def test_of_several_windows_the_slowest_counts() -> None:
    assert pace(bearing(FIVE_A_SECOND, Window(2000, 3600)), 1) == Pace(1, seconds=3)


@pytest.mark.parametrize("share", ["0.00", "0.01"])
def test_who_has_no_share_has_a_hundredth_so_that_nobody_waits_for_ever(share: str) -> None:
    assert pace(bearing(FIVE_A_SECOND, share=share), 1) == Pace(1, seconds=20)


def test_an_account_without_limits_is_asked_no_faster_than_a_poller_bears() -> None:
    assert pace(bearing(), 1) == Pace(FREE_CARDS_A_SECOND)


def test_no_more_cards_come_at_a_time_than_a_script_takes() -> None:
    assert pace(bearing(Window(5000, 1)), 1) == Pace(MOST_CARDS)


@pytest.mark.parametrize(
    ("pace", "earliest", "slots"),
    [
        (Pace(2), [], []),
        (Pace(2), [0, 0, 0, 0, 0], [0, 0, 1, 1, 2]),
        (Pace(1, seconds=3), [0, 0, 0], [0, 3, 6]),
        # nobody before its time; those who wait for a slot come first
        (Pace(2), [5, 5, 5], [5, 5, 6]),
        (Pace(2), [0, 5, 5, 5, 6, 9], [0, 5, 5, 6, 6, 9]),
        (Pace(1), [0, 0, 0, 1, 7], [0, 1, 2, 3, 7]),
        # a pace slower than a card a second holds for those as well that are wanted one after another
        (Pace(1, seconds=3), [0, 1, 2, 4], [0, 3, 6, 9]),
        (Pace(1, seconds=9), [5, 20], [5, 20]),
    ],
)
def test_each_card_has_the_first_slot_from_its_time_on(pace: Pace, earliest: list[int], slots: list[int]) -> None:
    assert list(pace.slots(earliest)) == slots


@given(
    st.one_of(st.builds(Pace, st.integers(1, 5)), st.builds(Pace, st.just(1), seconds=st.integers(1, 30))),
    st.lists(st.integers(0, 60)).map(sorted),
)
def test_no_slot_has_too_many_none_follows_too_soon_and_no_card_is_early(pace: Pace, earliest: list[int]) -> None:
    slots = list(pace.slots(earliest))

    assert all(slot >= seconds for slot, seconds in zip(slots, earliest, strict=True))
    assert all(slots.count(slot) <= pace.cards for slot in slots)
    assert all(later - sooner >= pace.seconds for sooner, later in pairwise(sorted(set(slots))))
