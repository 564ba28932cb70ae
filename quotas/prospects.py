"""The queue of what waits for a quota: who goes on with what is there, when the others do, and who would with more.

It only reads: what really goes on is decided under the quotas' locks, by the same order (quotas.admission).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from project.kit.sentences import together
from quotas import availability
from quotas.admission import Obstacle, Plan, admit
from quotas.models import Quota, TenantTurn
from quotas.periods import period_at
from quotas.states import Kind, Verdict
from quotas.waiting import WaitingWork, waiting_for

MOST_WAITING = 1000
# Behind so many resets nobody plans.
MOST_RESETS = 366


@dataclass(frozen=True, slots=True)
class Place:
    """The place of one piece of work in the queue.

    Attributes:
        goes_on: it fits into what is available.
        expected_at: when it fits by what is known now, behind all before it; None: when a person does something,
            or unknown.
        obstacle: why it does not go on now, a sentence; empty if it does.
    """

    work: WaitingWork
    goes_on: bool
    expected_at: datetime | None
    obstacle: str

    def need(self, quota: Quota) -> int:
        """Return what it needs of the quota, in its units."""
        return self.work.waiting.needs.get(quota.pk, 0)


def queue(quota: Quota, *, now: datetime) -> list[Place]:
    """Return what waits for the quota, or for one that is part of it, in the order in which it goes on."""
    waiting = waiting_for(quota, MOST_WAITING)
    return _places(quota, waiting, _needed(quota, waiting, now), now)


def queue_if(quota: Quota, limit: int | None, *, now: datetime) -> list[Place]:
    """Return the same queue as it would be if the limit were set to this now. Nothing is written.

    Args:
        limit: in the quota's units; None: unlimited.
    """
    changed = with_limit(quota, limit, now)
    waiting = waiting_for(quota, MOST_WAITING)
    return _places(changed, waiting, {**_needed(quota, waiting, now), quota.pk: changed}, now)


def with_limit(quota: Quota, limit: int | None, now: datetime) -> Quota:
    """Return a copy of the quota with that limit, and the verdict that it would get once it was stable."""
    changed = _as_of(quota, now)
    changed.limit = limit
    changed.verdict = _verdict_of(changed, now)
    return changed


# --- the order -------------------------------------------------------------------------------------------------


def _verdict_of(quota: Quota, now: datetime) -> Verdict:
    left = availability.available(quota, now)
    if quota.shadow:
        return Verdict.SUFFICIENT
    if left == 0 or quota.provider_unverified:
        return Verdict.INSUFFICIENT
    if quota.verdict == Verdict.INSUFFICIENT and left is not None and left <= availability.bar(quota):
        return Verdict.INSUFFICIENT
    return Verdict.SUFFICIENT


def _as_of(quota: Quota, now: datetime) -> Quota:
    """Return a copy of the quota as the next scan leaves it, if its period has ended and no scan has noticed."""
    changed = copy(quota)
    if quota.kind == Kind.PERIODIC and quota.period_end is not None and now >= quota.period_end:
        period = period_at(quota.reset_rule(), now)
        changed.used, changed.period_start, changed.period_end = 0, period.start, period.end
        changed.verdict = _verdict_of(changed, now)
    return changed


def _needed(quota: Quota, waiting: Sequence[WaitingWork], now: datetime) -> dict[int, Quota]:
    """Return every quota that anybody here needs, by id."""
    ids = {quota_id for work in waiting for quota_id in work.waiting.needs} - {quota.pk}
    others = Quota.objects.in_bulk(ids) if ids else {}
    return {needed.pk: _as_of(needed, now) for needed in (*others.values(), quota)}


def _places(quota: Quota, waiting: Sequence[WaitingWork], quotas: Mapping[int, Quota], now: datetime) -> list[Place]:
    served = dict(TenantTurn.objects.filter(quota=quota).values_list("tenant", "served_at"))
    # What is left of a period is not kept for a need that only the reset can meet.
    patience = None if quota.kind == Kind.PERIODIC else timedelta(seconds=quota.patience_seconds)
    by_key = {work.waiting.key: work for work in waiting}

    def planned(works: Iterable[WaitingWork], available: Mapping[int, int | None]) -> Plan:
        candidates = [work.waiting for work in works]
        return admit(candidates, available, now=now, served=served, patience=patience)

    ready = [work for work in waiting if not work.held and not _waits_for_its_time(work, now)]
    plan = planned(ready, {pk: _admissible(needed, now) for pk, needed in quotas.items()})
    goes_on = {one.key for one in plan.admitted}
    later = (work for work in waiting if work.waiting.key not in goes_on and not work.held)
    in_order = [*plan.admitted, *planned(later, dict.fromkeys(quotas)).admitted]
    places, forecast = [], _Forecast(quotas, now)
    for one in in_order:
        work, fits = by_key[one.key], one.key in goes_on
        obstacle = "" if fits else _why_not(work, plan.blocked_by.get(one.key), quotas, now)
        places.append(Place(work, fits, forecast.expected_at(work, fits), obstacle))
    return places + [Place(work, False, None, work.held) for work in waiting if work.held]


def _waits_for_its_time(work: WaitingWork, now: datetime) -> bool:
    return work.not_before is not None and work.not_before > now


def _admissible(quota: Quota, now: datetime) -> int | None:
    """Return what may be given to those who wait: nothing while the verdict is insufficient; all in shadow mode."""
    if quota.shadow:
        return None
    return 0 if quota.verdict == Verdict.INSUFFICIENT else availability.available(quota, now)


# --- why not ---------------------------------------------------------------------------------------------------


def _why_not(work: WaitingWork, obstacle: Obstacle | None, quotas: Mapping[int, Quota], now: datetime) -> str:
    if obstacle is None:
        return _("It is not resumed before its time.")
    sentences = [_lack(quotas[pk], work.waiting.needs[pk], missing, now) for pk, missing in obstacle.lacking.items()]
    sentences += [
        _("What is left of “%(quota)s” is kept for %(other)s, which has waited for too long.")
        % {"quota": quotas[pk].key, "other": key}
        for pk, key in obstacle.kept_for.items()
        if pk not in obstacle.lacking
    ]
    return together(*sentences)


def _lack(quota: Quota, need: int, missing: int, now: datetime) -> str:
    left = availability.available(quota, now)
    if availability.is_blocked(quota, now):
        return _("The provider of “%(quota)s” refuses for the present.") % {"quota": quota.key}
    if quota.provider_unverified:
        text = _("Nobody has seen the provider of “%(quota)s” answer again: one run at a time tries.")
        return text % {"quota": quota.key}
    if quota.verdict == Verdict.INSUFFICIENT and left:
        return _threshold(quota, left)
    text = _("“%(quota)s” lacks %(missing)s of the %(need)s that it needs.")
    return text % {"quota": quota.key, "missing": f"{missing:,}", "need": f"{need:,}"}


def _threshold(quota: Quota, left: int) -> str:
    text = _("Of “%(quota)s” more than %(bar)s has to be there again; it has %(left)s.")
    if left > availability.bar(quota):
        text = _("“%(quota)s” has %(left)s again, and has to keep that for a while.")
    return text % {"quota": quota.key, "left": f"{left:,}", "bar": f"{availability.bar(quota):,}"}


# --- when ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Forecast:
    """Tells when each fits, asked in their order: what those before it need is gone by then."""

    quotas: Mapping[int, Quota]
    now: datetime
    taken: Counter[int] = field(default_factory=Counter)
    resets: dict[int, list[datetime]] = field(default_factory=dict)

    def expected_at(self, work: WaitingWork, fits: bool) -> datetime | None:
        """Return when the work fits; None: when a person does something, or unknown."""
        instants = []
        for quota_id, units in work.waiting.needs.items():
            taken = self._take(self.quotas[quota_id], units)
            instants.append(self.now if fits else self._back_at(self.quotas[quota_id], taken))
        known = [instant for instant in (*instants, work.not_before) if instant is not None]
        return max(known, default=None) if None not in instants else None

    def _take(self, quota: Quota, units: int) -> int:
        """Return what is gone once these units are; what does not fit into the rest of a period leaves that alone."""
        taken = self.taken[quota.pk]
        if quota.kind == Kind.PERIODIC and quota.limit and units <= quota.limit:
            left = availability.available(quota, self.now) or 0
            rest = left - taken if taken < left else (left - taken) % quota.limit
            taken += rest if rest < units else 0
        self.taken[quota.pk] = taken + units
        return self.taken[quota.pk]

    def _back_at(self, quota: Quota, units: int) -> datetime | None:
        """Return when the quota has the units, which are those of all so far together."""
        admissible, left = _admissible(quota, self.now), availability.available(quota, self.now) or 0
        if admissible is None or units <= admissible:
            return self.now
        if quota.limit == 0 or quota.provider_unverified:
            return None
        wanted = max(units, availability.bar(quota) + 1) if admissible < left else units
        if wanted <= left:
            return quota.evaluate_at or self.now
        first = self._first_back(quota, min(wanted, quota.limit or wanted), left)
        if first is None or not quota.limit:
            return first
        if quota.kind == Kind.RATE:
            return max(first, availability.refills_at(quota, units))
        return self._reset_after(quota, first, max(0, units - left - 1) // quota.limit)

    def _first_back(self, quota: Quota, units: int, left: int) -> datetime | None:
        """Return when the quota is filled anew as far as that is needed; one that is full, by those before."""
        if units > left:
            return availability.expected_at(quota, units, self.now)
        return self.now if quota.kind == Kind.RATE else quota.period_end

    def _reset_after(self, quota: Quota, first: datetime, further: int) -> datetime | None:
        """Return the reset that comes so many after the first one; None: too far to tell."""
        resets = self.resets.setdefault(quota.pk, [first])
        if further > MOST_RESETS or (further > 0 and quota.kind != Kind.PERIODIC):
            return None
        while len(resets) <= further:
            resets.append(period_at(quota.reset_rule(), resets[-1]).end)
        return resets[further]
