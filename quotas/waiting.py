"""Who waits for a quota. Quotas know no run: whoever lets work wait registers here how to ask for it."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from quotas.admission import Waiting
from quotas.models import Quota


@dataclass(frozen=True, slots=True)
class WaitingWork:
    """One piece of work that waits, as people see it.

    Attributes:
        waiting: who it is and what it needs, by the ids of quotas.
        title: what people call it.
        url: its page in the control panel.
        why: why it waits, a sentence.
        not_before: it is not resumed before this instant; None: as soon as it fits.
        held: why it is not resumed by itself, a sentence; empty: it is.
    """

    waiting: Waiting
    title: str
    url: str
    why: str
    not_before: datetime | None = None
    held: str = ""


Source = Callable[[Quota, int], Sequence[WaitingWork]]
Count = Callable[[Collection[int]], Mapping[int, int]]
_sources: list[Source] = []
_counts: list[Count] = []


def register(source: Source, count: Count | None = None) -> None:
    """Let the source be asked for what waits for a quota, or for one that is part of it, at most so many.

    Args:
        count: how many that are, by id, for many quotas at once: lists show it.
    """
    if source not in _sources:
        _sources.append(source)
    if count is not None and count not in _counts:
        _counts.append(count)


def waiting_for(quota: Quota, limit: int = 1000) -> list[WaitingWork]:
    """Return what waits for the quota or for one that is part of it, in no particular order."""
    return [work for source in _sources for work in source(quota, limit)]


def count_waiting(quota_ids: Collection[int]) -> Counter[int]:
    """Return how many wait for each of the quotas, or for one that is part of it, as far as somebody counts."""
    total: Counter[int] = Counter()
    for count in _counts:
        total.update(count(quota_ids))
    return total
