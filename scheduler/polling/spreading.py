"""How fast cards of one account are asked for beside the schedule, so that many of them make no peak: pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from math import ceil

from scheduler.polling import policy
from scheduler.polling.params import Params
from scheduler.polling.queue import MOST_CARDS

SECOND = timedelta(seconds=1)
# Where nothing limits the account: what one poller bears easily beside the schedule.
FREE_CARDS_A_SECOND = 100


@dataclass(frozen=True, slots=True)
class Pace:
    """So many cards at a time, each so many seconds."""

    cards: int
    seconds: int = 1

    def slots(self, earliest: Iterable[int]) -> Iterator[int]:
        """Yield after how many seconds each card is wanted.

        Args:
            earliest: seconds before which each is not wanted, growing.
        """
        slot, taken = -self.seconds, 0  # so that the first may be wanted at once
        for seconds in earliest:
            if seconds > slot or taken == self.cards:
                slot, taken = max(seconds, slot + self.seconds), 0
            taken += 1
            yield slot


def pace(params: Params, calls_a_card: int) -> Pace:
    """Return the pace that takes no more than the priority's share of the account's calls, in no second."""
    share = max(int(params.priority_max_ratio * 100), 1)
    takes = policy.full_cycle(calls_a_card * 100, params.rate_windows)
    if takes is None:
        return Pace(FREE_CARDS_A_SECOND)
    each = takes / share
    return Pace(min(SECOND // each, MOST_CARDS)) if each <= SECOND else Pace(1, ceil(each / SECOND))
