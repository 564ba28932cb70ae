"""What a simulated account was asked, counted exactly, and whether its limits were kept."""

from collections import Counter, deque
from typing import Any

from scheduler.polling.carriers.simulator.accounts import AccountPlan, Limit

SECONDS_KEPT = 3600


class WindowMeter:
    """Counts the calls in every span that ends with a call."""

    def __init__(self, limit: Limit) -> None:
        self._limit = limit
        self._times: deque[float] = deque()
        self._most = self._violations = 0

    def count(self, now: float) -> bool:
        """Count a call, and return whether it is let pass. One that is refused counts as well."""
        times, begin = self._times, now - self._limit.seconds
        while times and times[0] <= begin:
            times.popleft()
        times.append(now)
        self._most = max(self._most, len(times))
        self._violations += len(times) > self._limit.calls
        return len(times) <= self._limit.tolerated

    def figures(self) -> dict[str, Any]:
        """Return the most calls in any span, and how many calls were above the limit."""
        return {
            "limit": self._limit.calls,
            "seconds": self._limit.seconds,
            "most": self._most,
            "violations": self._violations,
        }


class Meter:
    """Counts the calls of one account."""

    def __init__(self, plan: AccountPlan, began: float) -> None:
        self._plan, self._began = plan, began
        self._windows = [WindowMeter(limit) for limit in plan.limits]
        self._calls: Counter[str] = Counter()
        self._answers: Counter[str] = Counter()
        self._seconds: Counter[int] = Counter()
        self._in_flight = self._most_in_flight = self._too_many_at_once = 0
        self._cards: Counter[str] = Counter()
        self._cards_at_once = self._cards_answered = 0

    def enter(self, endpoint: str, card: str, now: float) -> bool:
        """Count a call that begins, and return whether the limits let it pass.

        Args:
            card: the ICCID, or empty where it is about many or none.
        """
        self._calls[endpoint] += 1
        self._seconds[int(now - self._began)] += 1
        self._in_flight += 1
        self._most_in_flight = max(self._most_in_flight, self._in_flight)
        if card:
            self._cards_at_once += self._cards[card] > 0
            self._cards[card] += 1
        passes = [window.count(now) for window in self._windows]  # each of them counts it
        return self._has_room() and all(passes)

    def leave(self, card: str, answer: str) -> None:
        """Count that the call has ended, and how."""
        self._answers[answer] += 1
        self._in_flight -= 1
        if card:
            self._cards[card] -= 1
            if not self._cards[card]:
                del self._cards[card]

    def count_cards(self, number: int) -> None:
        """Count cards about which something was said."""
        self._cards_answered += number

    def figures(self) -> dict[str, Any]:
        """Return all that was counted."""
        last = max(self._seconds, default=-1)
        first = max(last + 1 - SECONDS_KEPT, 0)
        return {
            "calls": dict(self._calls),
            "answers": dict(self._answers),
            "cards_answered": self._cards_answered,
            "windows": [window.figures() for window in self._windows],
            "by_second": [self._seconds[second] for second in range(first, last + 1)],
            "in_flight": self._in_flight,
            "most_in_flight": self._most_in_flight,
            "concurrency": self._plan.concurrency,
            "concurrency_violations": self._too_many_at_once,
            "card_asked_twice_at_once": self._cards_at_once,
        }

    def _has_room(self) -> bool:
        limit = self._plan.concurrency
        if limit is None or self._in_flight <= limit:
            return True
        self._too_many_at_once += 1
        return False
