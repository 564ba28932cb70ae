"""How many calls in how long: pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

MICROSECONDS = 1_000_000
# Up to this length the calls of a window are spaced evenly unless it says otherwise.
EVEN_SECONDS = 5
# By so much of a window may calls come late: then a trailing window holds at most limit + 2 % + 1 of them.
LATE_PERCENT = 2
MOST_WINDOWS = 8
MOST_CALLS = 100_000
MOST_PER_SECOND = 10_000
LONGEST_SECONDS = 31 * 24 * 3600


class LimiterError(ValueError):
    """What cannot be limited so: `field` names what to correct, the text is a sentence for a person."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class NeverPossible(LimiterError):
    """A call that counts for more than a window allows at all: no waiting helps."""


@dataclass(frozen=True, slots=True)
class Window:
    """At most `limit` calls in any span of so many seconds.

    Attributes:
        limit: how many calls, 1 to 100,000: each is remembered. Larger budgets are quotas.
        seconds: how long; from microseconds to 31 days.
        even: whether the calls are spaced evenly, each `seconds / limit` after the one before, or may come all at
            once. None: evenly up to 5 seconds.

    Raises:
        LimiterError: a number is out of range.
    """

    limit: int
    seconds: float
    even: bool | None = None

    def __post_init__(self) -> None:
        """Refuse what Redis could not count."""
        if not is_whole(self.limit) or not 1 <= self.limit <= MOST_CALLS:
            raise LimiterError("limit", f"limit: write a whole number from 1 to {MOST_CALLS:,}, not {self.limit!r}.")
        if not is_number(self.seconds) or not 0 < self.seconds <= LONGEST_SECONDS or self.length < 1:
            raise LimiterError("seconds", f"seconds: write a number above 0, at most 31 days, not {self.seconds!r}.")
        if self.limit / self.seconds > MOST_PER_SECOND:
            raise LimiterError(
                "limit", f"limit: {self.limit:,} in {self.seconds} s are more than {MOST_PER_SECOND:,} a second."
            )

    @property
    def length(self) -> int:
        """How long it is, in microseconds."""
        return round(self.seconds * MICROSECONDS)

    @property
    def is_even(self) -> bool:
        """Whether its calls are spaced evenly."""
        return self.seconds <= EVEN_SECONDS if self.even is None else self.even

    @property
    def tolerance(self) -> int:
        """By how many microseconds after its slot a call may come: 2 % of the window, or one step of its pace.

        Evenly spaced slots that are called late by up to this much are at most limit + 2 % + 1 in any window.
        """
        share = self.length * LATE_PERCENT // 100
        return max(share, self.length // self.limit) if self.is_even else share

    @property
    def patience(self) -> int:
        """By how many microseconds after its slot a call may be booked and keep the beat of the pace.

        The rest of the tolerance is for the answer's way and for waking up.
        """
        return self.tolerance * 3 // 4


def checked_windows(windows: Sequence[Window]) -> tuple[Window, ...]:
    """Return the windows of a limiter.

    Raises:
        LimiterError: there are none or too many, or two of the same length.
    """
    if not 1 <= len(windows) <= MOST_WINDOWS:
        raise LimiterError("windows", f"windows: name 1 to {MOST_WINDOWS} windows, not {len(windows)}.")
    if len({window.length for window in windows}) < len(windows):
        raise LimiterError("windows", "windows: two have the same length. Keep the one with the lower limit.")
    return tuple(windows)


def check_cost(cost: int, windows: Sequence[Window]) -> None:
    """Refuse a call that counts for no or for too many calls.

    Raises:
        LimiterError: it is no whole number from 1.
        NeverPossible: no waiting would let it pass.
    """
    if not is_whole(cost) or cost < 1:
        raise LimiterError("cost", f"cost: write a whole number from 1, not {cost!r}.")
    for window in windows:
        if cost > window.limit:
            raise NeverPossible(
                "cost", f"cost: {cost} can never pass, for the limit is {window.limit} in {window.seconds} s."
            )


def is_whole(value: Any) -> bool:
    """Return whether it is a whole number, which True is not."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether it is a finite number, which True is not."""
    return is_whole(value) or (isinstance(value, float) and math.isfinite(value))
