"""Of the windows that a provider counts by, the tightest is the one that matters."""

from itertools import combinations

import pytest

from quotas.provider.windows import Window, tightest
from tests.quotas.provider.headers import instant

IN_A_MINUTE, IN_AN_HOUR = instant(60), instant(3600)


@pytest.mark.parametrize(
    "windows",
    [
        [
            Window("nothing is left, and when it opens is unknown", limit=100, remaining=0),
            Window("nothing is left for an hour", limit=100, remaining=0, resets_at=IN_AN_HOUR),
            Window("nothing is left for a minute", remaining=0, resets_at=IN_A_MINUTE),
            Window("a hundredth is left", limit=1000, remaining=10, resets_at=IN_AN_HOUR),
            Window("half is left", limit=10, remaining=5, resets_at=IN_A_MINUTE),
        ],
        [
            Window("half is left, which are five", limit=10, remaining=5),
            Window("half is left, which are fifty, until a minute", limit=100, remaining=50, resets_at=IN_A_MINUTE),
            Window("half is left, which are fifty, until an hour", limit=100, remaining=50, resets_at=IN_AN_HOUR),
            Window("half is left, which are fifty, until nobody knows", limit=100, remaining=50),
        ],
        [
            Window("nine tenths are left", limit=100, remaining=90),
            Window("nine are left of nobody knows how many, as of a window that is full", remaining=9),
            Window("all ten are left", limit=10, remaining=10),
            Window("a limit of five alone", limit=5),
            Window("a limit of seven alone until a minute", limit=7, resets_at=IN_A_MINUTE),
            Window("a limit of seven alone until an hour", limit=7, resets_at=IN_AN_HOUR),
            Window("a limit of ten billion alone", limit=10**10),
            Window("a reset in a minute alone", resets_at=IN_A_MINUTE),
            Window("a reset in an hour alone", resets_at=IN_AN_HOUR),
            Window("nothing is known"),
        ],
    ],
)
def test_each_window_holds_back_more_than_all_after_it(windows: list[Window]) -> None:
    for tighter, looser in combinations(windows, 2):
        assert tightest([tighter, looser]) is tightest([looser, tighter]) is tighter


def test_of_no_windows_nothing_is_known() -> None:
    assert tightest([]) == Window()
