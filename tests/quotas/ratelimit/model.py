"""A limiter without Redis, for comparison: every call is remembered, and the next slot is found by looking at all."""

from dataclasses import dataclass, field
from fractions import Fraction

from quotas.ratelimit import Window
from tests.quotas.ratelimit.states import SECOND


@dataclass
class Model:
    """What a limiter promises, written down as directly as can be.

    Attributes:
        calls: the slot of each call, in order; one that counts for three is there three times.
        paces: by window, from when its pace lets the next call pass.
    """

    windows: list[Window]
    calls: list[int] = field(default_factory=list)
    paces: dict[Window, Fraction] = field(default_factory=dict)

    def next_slot(self, now: int, cost: int = 1) -> int:
        """Return the slot of a call that would be booked now."""
        earliest = [self._by_pace(window, now) for window in self.windows]
        earliest += [self._by_log(window, cost) for window in self.windows]
        return max([*earliest, *self.calls[-1:]])

    def book(self, now: int, cost: int = 1) -> int:
        """Book a slot and return it."""
        slot = self.next_slot(now, cost)
        for window in self.windows:
            goes_on = int(self.paces.get(window, 0)) == slot
            start = self.paces[window] if goes_on else Fraction(slot)
            self.paces[window] = start + Fraction(cost * window.length, window.limit)
        self.calls += [slot] * cost
        return slot

    def left(self, now: int) -> int:
        """Return how many slots are left before a second is over."""
        ahead = Model(self.windows, list(self.calls), dict(self.paces))
        count = 0
        while ahead.book(now) < now + SECOND:
            count += 1
        return count

    def _by_pace(self, window: Window, now: int) -> int:
        pace = int(self.paces.get(window, 0))
        return pace if window.is_even and pace >= now - window.patience else now

    def _by_log(self, window: Window, cost: int) -> int:
        """Return from when the calls of the window's length before leave room."""
        too_many = window.limit - cost + 1
        return self.calls[-too_many] + window.length if len(self.calls) >= too_many else 0
