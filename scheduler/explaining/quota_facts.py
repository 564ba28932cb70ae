"""How a run stands with its quotas, as it was read."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from quotas import availability, evaluating, prospects
from quotas.models import Quota
from quotas.periods import RuleError
from quotas.prospects import Place
from quotas.states import Verdict
from scheduler.models import Pause, QuotaWait, TaskRun
from scheduler.states import RunState
from scheduler.waits import owner_of


@dataclass(frozen=True, slots=True)
class Need:
    """What a run needs of a quota.

    Attributes:
        amount: in the quota's units.
        links: the quota and all that it is part of, upwards, as they stand now.
        wait: the row that says so; None where the run is not paused for it yet.
    """

    amount: int
    links: tuple[Quota, ...]
    wait: QuotaWait | None = None

    @property
    def quota(self) -> Quota:
        """The quota that the run charges."""
        return self.links[0]

    def above_limit(self) -> Quota | None:
        """Return the link whose limit is below the need, so that no waiting helps; None: there is none.

        A limit of 0 is a switch that somebody turns back.
        """
        return next((link for link in self.links if link.limit and self.amount > link.limit and not link.shadow), None)

    def refused_by(self, now: datetime) -> Quota | None:
        """Return the link that does not let a paused run go on; None: each of them has it."""
        return next((link for link in self.links if not self._is_there(link, now)), None)

    def kept_from_newcomers_by(self, now: datetime) -> Quota | None:
        """Return the link for which a run waits that is due only now; None: it is launched."""
        if self.above_limit() is not None:
            return None  # it is launched, fails at once and says so
        return next(
            (
                link
                for link in self.links
                if evaluating.bars_newcomers(link, now) or not availability.fits(link, self.amount, now)
            ),
            None,
        )

    def expected_at(self, now: datetime) -> datetime | None:
        """Return when it may be there again, whoever else waits; None: when a person does something, or unknown."""
        refusing = [link for link in self.links if not self._is_there(link, now)]
        instants = [availability.expected_at(link, self.amount, now) for link in refusing]
        known = [instant for instant in instants if instant is not None]
        return max(known, default=now) if len(known) == len(instants) else None

    def _is_there(self, link: Quota, now: datetime) -> bool:
        return link.shadow or (link.verdict == Verdict.SUFFICIENT and availability.fits(link, self.amount, now))


@dataclass(frozen=True, slots=True)
class QuotaFacts:
    """How a run stands with its quotas.

    Attributes:
        pause: how it was resumed so far; None: it was never paused.
        needs: what it waits for, the quotas in the order of their keys.
        place: where it stands among those that wait for the first of them; None: it is not among those looked at.
        number: its number in that order, from 1 on.
        waiting: how many wait there.
        tries: the quota whose provider this run tries, for all that wait.
    """

    pause: Pause | None = None
    needs: tuple[Need, ...] = ()
    place: Place | None = None
    number: int = 0
    waiting: int = 0
    tries: Quota | None = None

    def expected_at(self, now: datetime) -> datetime | None:
        """Return when the run is expected to go on, behind all before it; None: unknown, or when a person acts."""
        if self.place is not None:
            return self.place.expected_at
        instants = [need.expected_at(now) for need in self.needs]
        known = [instant for instant in instants if instant is not None]
        return max(known) if known and len(known) == len(instants) else None


NO_QUOTAS = QuotaFacts()


def read_quota_facts(run: TaskRun, now: datetime) -> QuotaFacts:
    """Return how the run stands with its quotas; nothing is asked of a run that has nothing to do with any."""
    if run.state == RunState.PAUSED:
        return _of_paused(run, now)
    if run.pause_count:
        return QuotaFacts(Pause.objects.filter(run=run.pk).first(), tries=_tried_by(run))
    if run.quota is not None and run.due_at is not None and run.due_at <= now:
        return QuotaFacts(needs=_needs_before_launch(run, run.quota))
    return NO_QUOTAS


def _of_paused(run: TaskRun, now: datetime) -> QuotaFacts:
    pause = Pause.objects.filter(run=run.pk).first()
    waits = list(QuotaWait.objects.filter(run=run.pk).select_related("quota").order_by("quota__key"))
    ancestors = _ancestors_of(wait.quota for wait in waits)
    needs = tuple(Need(wait.amount, _links(wait.quota, ancestors), wait) for wait in waits)
    places = _queue(needs[0].quota, now) if needs else []
    for number, place in enumerate(places, start=1):
        if place.work.waiting.key == owner_of(run.pk):
            return QuotaFacts(pause, needs, place, number, len(places))
    return QuotaFacts(pause, needs, waiting=len(places))


def _queue(quota: Quota, now: datetime) -> list[Place]:
    try:
        return prospects.queue(quota, now=now)
    except RuleError:  # its zone is not known any more: when it resets, nobody can tell
        return []


def _needs_before_launch(run: TaskRun, quota: Quota) -> tuple[Need, ...]:
    return (Need(run.quota_need or quota.default_step, _links(quota, _ancestors_of([quota]))),)


def _ancestors_of(quotas: Iterable[Quota]) -> dict[int, Quota]:
    ids = {pk for quota in quotas for pk in quota.ancestors}
    return Quota.objects.in_bulk(ids) if ids else {}


def _links(quota: Quota, ancestors: dict[int, Quota]) -> tuple[Quota, ...]:
    return (quota, *(ancestors[pk] for pk in reversed(quota.ancestors)))


def _tried_by(run: TaskRun) -> Quota | None:
    if run.state not in (RunState.RESUMING, RunState.RUNNING):
        return None
    return Quota.objects.filter(provider_unverified=True, trial_owner=owner_of(run.pk)).first()
