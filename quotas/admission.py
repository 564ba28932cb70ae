"""Who of the waiting goes on when only part of it fits. Pure: it plans, and takes nothing back.

In order of priority; among equals the tenants take turns, the one that was served least recently first; of one
tenant's the oldest first. Whoever does not fit lets the others pass, but not for ever: beyond its patience the quotas
that it lacks are kept for it, those and no others. And since turns alone could pass by a tenant that is busy with
another quota, whoever has waited longest for each of its quotas goes before all turns once its patience is over.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from heapq import heapify, heappop, heappush
from itertools import groupby


@dataclass(frozen=True, slots=True)
class Waiting:
    """Somebody who waits for quotas.

    Attributes:
        key: who it is, for example "run:12".
        tenant: whose fair share it takes from, for example "schedule:5".
        priority: higher goes first.
        since: since when it waits.
        needs: units by quota id, in the charged quota and in each of its ancestors.
    """

    key: str
    tenant: str
    priority: int
    since: datetime
    needs: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why somebody was not admitted.

    Attributes:
        lacking: by quota id, how many units were missing when its turn came.
        kept_for: by quota id, the key of the one that has waited too long and for whom the quota is kept.
    """

    lacking: Mapping[int, int]
    kept_for: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Plan:
    """Who goes on, in order; why each of the others does not, by its key; and what is left by quota id."""

    admitted: list[Waiting]
    blocked_by: dict[str, Obstacle]
    left: dict[int, int | None]


def admit(
    waiting: Iterable[Waiting],
    available: Mapping[int, int | None],
    *,
    now: datetime,
    served: Mapping[str, datetime],
    patience: timedelta | None,
) -> Plan:
    """Plan who of all the waiting goes on with what is available. The same input gives the same plan.

    Args:
        available: units by quota id; None: unlimited. It names every quota that anybody needs.
        served: when each tenant was last admitted; a tenant that is not named never was, and goes first.
        patience: after so long smaller needs no longer pass by one that does not fit; None: always.
    """
    walk = _Walk(Plan([], {}, dict(available)), _Turns(served), None if patience is None else now - patience)
    by_rank = sorted(waiting, key=lambda one: (-one.priority, *_age(one)))
    for _, equals in groupby(by_rank, key=lambda one: one.priority):
        walk.through(list(equals))
    return walk.plan


def spread(count: int, seconds: float) -> list[float]:
    """Return when each of `count` starts, in seconds from now: the first at once, the rest evenly within `seconds`."""
    return [number * seconds / count for number in range(count)]


class _Turns:
    """The tenants in the order in which they were last served, as numbers that only grow; 0: never."""

    def __init__(self, served: Mapping[str, datetime]) -> None:
        instants = sorted(set(served.values()))
        rank = {instant: number for number, instant in enumerate(instants, start=1)}
        self._last = {tenant: rank[instant] for tenant, instant in served.items()}
        self._latest = len(instants)

    def of(self, tenant: str) -> int:
        return self._last.get(tenant, 0)

    def took(self, tenant: str) -> None:
        self._latest += 1
        self._last[tenant] = self._latest


@dataclass(slots=True)
class _Walk:
    """One walk along the waiting: the plan as far as it has come, and the quotas that are kept for somebody."""

    plan: Plan
    turns: _Turns
    patient_since: datetime | None  # whoever has waited from before this has lost patience
    kept_for: dict[int, str] = field(default_factory=dict)

    def through(self, equals: Sequence[Waiting]) -> None:
        """Consider all of one priority, given oldest first."""
        first = [one for one in _longest_waiting(equals) if self._is_impatient(one)]
        for one in first:
            self._consider(one)
        keys = {one.key for one in first}
        for one in _by_turns((one for one in equals if one.key not in keys), self.turns):
            self._consider(one)

    def _consider(self, one: Waiting) -> None:
        obstacle = self._obstacle(one)
        if not obstacle.lacking and not obstacle.kept_for:
            self._admit(one)
            return
        self.plan.blocked_by[one.key] = obstacle
        if self._is_impatient(one):
            for quota in obstacle.lacking:
                self.kept_for.setdefault(quota, one.key)

    def _obstacle(self, one: Waiting) -> Obstacle:
        return Obstacle(
            lacking={quota: units - left for quota, units, left in self._limited(one) if left < units},
            kept_for={quota: self.kept_for[quota] for quota in one.needs if quota in self.kept_for},
        )

    def _admit(self, one: Waiting) -> None:
        for quota, units, left in self._limited(one):
            self.plan.left[quota] = left - units
        self.plan.admitted.append(one)
        self.turns.took(one.tenant)

    def _limited(self, one: Waiting) -> Iterator[tuple[int, int, int]]:
        """Yield what it needs and what is left, quota by quota; the unlimited ones do not count."""
        for quota, units in one.needs.items():
            left = self.plan.left[quota]
            if left is not None:
                yield quota, units, left

    def _is_impatient(self, one: Waiting) -> bool:
        return self.patient_since is not None and one.since < self.patient_since


def _longest_waiting(equals: Iterable[Waiting]) -> list[Waiting]:
    """Return those that have waited longest for each of their quotas; no two of them share one.

    Whoever waits becomes one of them, once the older ones are gone.
    """
    seen: set[int] = set()
    longest = []
    for one in equals:
        if seen.isdisjoint(one.needs):
            longest.append(one)
        seen.update(one.needs)
    return longest


def _by_turns(waiting: Iterable[Waiting], turns: _Turns) -> Iterator[Waiting]:
    """Yield each once: always of the tenant that is served least recently by then, and its oldest."""
    queues: dict[str, deque[Waiting]] = {}
    for one in waiting:
        queues.setdefault(one.tenant, deque()).append(one)
    heads = [(turns.of(tenant), *_age(queue[0]), tenant) for tenant, queue in queues.items()]
    heapify(heads)
    while heads:
        *_, tenant = heappop(heads)
        queue = queues[tenant]
        yield queue.popleft()  # which may have moved this tenant, and no other, behind the rest
        if queue:
            heappush(heads, (turns.of(tenant), *_age(queue[0]), tenant))


def _age(one: Waiting) -> tuple[datetime, str]:
    return one.since, one.key
