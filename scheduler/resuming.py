"""Paused runs go on: one idempotent entry for a quota's edge, the fallback poll, a person and the API.

PAUSED -> RESUMING is one guarded statement, under the locks of the quotas, which hold back what each run was admitted
for. Whoever comes second finds nothing left to move, and that is a success.
"""

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, QuerySet

from project.kit.clock import database_now
from quotas import availability, evaluating, reserving
from quotas.admission import Plan, Waiting, admit, spread
from quotas.books import Books, open_books_of_all
from quotas.models import Edge, Quota, TenantTurn
from quotas.periods import RuleError
from quotas.purchases import OURS
from quotas.reserving import Need
from quotas.states import Cause, Kind, Verdict
from scheduler import quiet_hours, transitions
from scheduler.models import Pause, Schedule
from scheduler.states import EventTrigger, RunState
from scheduler.transitions import Claim
from scheduler.waits import PausedRun, chains_of, free_to_go, note_need, owner_of, paused_runs, waiting_below

logger = logging.getLogger(__name__)

# So many runs at most go on in one transaction, during which the quota is locked.
BATCH = 500
# How long what a run was admitted for is kept beyond its deadline.
GRACE = timedelta(minutes=1)
# A run that tries whether a provider answers again has so long to find out.
TRIAL = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Resumption:
    """What sets off that runs are resumed.

    Attributes:
        run_id: the only run that is meant; None: all that wait.
        trial: one run goes first, to try whether the provider answers again.
    """

    trigger: EventTrigger
    reason: str
    actor: str = ""
    run_id: int | None = None
    trial: bool = False

    @property
    def is_for_all(self) -> bool:
        """Whether everybody who waits is considered, and as many as can go on."""
        return self.run_id is None and not self.trial


def take_edges(*, now: datetime) -> int:
    """Resume what the unhandled edges allow; return how many runs that were.

    The scan takes what a crash left behind; who wrote an edge takes it right after his commit.
    """
    waiting = Edge.objects.filter(handled_at__isnull=True).order_by("id")
    edges = {edge.quota_id: edge for edge in waiting.select_related("quota")}
    return sum(resume_by_edge(edge, now=now) for edge in edges.values())


def take_edge_after_commit(edge: Edge, **_: object) -> None:
    """Take the edge right after the transaction that wrote it; if that fails, the scan takes it."""
    if settings.TIDELINE_QUOTA_EVENTS:
        transaction.on_commit(lambda: resume_by_edge(edge, now=database_now()), robust=True)


def resume_by_edge(edge: Edge, *, now: datetime) -> int:
    """Resume what the edge allows; return how many runs that were."""
    reason = f"The quota “{edge.quota.key}” is back: {edge.get_cause_display()}."
    return resume(edge.quota_id, Resumption(EventTrigger.QUOTA_EDGE, reason), now=now)


def resume(quota_id: int, resumption: Resumption, *, now: datetime) -> int:
    """Resume the runs that wait for the quota, or for one that is part of it, as far as all their quotas allow it.

    What only part of them fits into goes by priority, then to the tenant that was served least recently, then by age.

    Returns:
        how many were resumed.
    """
    total, is_last = 0, False
    while not is_last:
        try:
            resumed, is_last = _resume_batch(quota_id, resumption, now)
        except RuleError:  # the zone of one of the quotas is not known any more, for example: it holds up no other
            logger.exception("what waits for quota #%s cannot be resumed", quota_id)
            return total
        total += resumed
    return total


def end_delays(run_ids: Collection[int], *, now: datetime) -> None:
    """Let the runs wait like everybody else: their delays have passed."""
    with transaction.atomic():
        _in_order(Pause.objects.filter(pk__in=run_ids, not_before__lte=now)).update(not_before=None)


def _resume_batch(quota_id: int, resumption: Resumption, now: datetime) -> tuple[int, bool]:
    """Resume as many as one transaction takes; return how many that were, and whether nobody else can go on."""
    with transaction.atomic():
        waits = waiting_below(quota_id)
        if resumption.run_id is not None:
            waits = waits.filter(run=resumption.run_id)
        chains = chains_of([quota_id, *waits.values_list("quota", flat=True).distinct()])
        books = open_books_of_all({link for chain in chains.values() for link in chain}, now)
        # Read under the locks: whoever resumed before us holds them until his runs are moved.
        runs = [run for run in paused_runs(free_to_go(waits, now)) if run.amounts.keys() <= chains.keys()]
        by_key = {owner_of(run.run_id): run for run in _without_quiet(runs, now)}
        waiting = [run.as_waiting(chains) for run in by_key.values()]
        quota = books.quotas[quota_id]
        plan = _plan(books, quota, waiting, resumption, now)
        chosen = [one.key for one in plan.admitted][: 1 if resumption.trial else BATCH]
        moved = _move(books, quota, [by_key[key] for key in chosen], resumption, now)
        is_last = resumption.trial or len(chosen) < BATCH
        if resumption.trial and moved:
            _note_trial(books, by_key[chosen[0]].as_waiting(chains), now)
        elif is_last:
            _note_who_still_waits(books, waiting, plan, everybody_of=quota if resumption.is_for_all else None)
        if resumption.is_for_all:
            _note_on_edges(quota, len(moved), now, handled=is_last)
        books.save(Cause.SPENDING)
    return len(moved), is_last


# --- who may go on ---------------------------------------------------------------------------------------------


def _without_quiet(runs: Sequence[PausedRun], now: datetime) -> list[PausedRun]:
    """Leave out the runs whose schedule is quiet now; they wait for the end of the quiet hours."""
    schedules = Schedule.objects.filter(pk__in={run.schedule_id for run in runs}, quiet_from__isnull=False)
    ends = {schedule.pk: end for schedule in schedules if (end := quiet_hours.end_of_quiet(schedule, now))}
    for schedule_id, end in ends.items():
        run_ids = [run.run_id for run in runs if run.schedule_id == schedule_id]
        _in_order(Pause.objects.filter(pk__in=run_ids)).update(not_before=end)
    return [run for run in runs if run.schedule_id not in ends]


def _plan(books: Books, quota: Quota, waiting: Sequence[Waiting], resumption: Resumption, now: datetime) -> Plan:
    turns = TenantTurn.objects.filter(quota=quota).values_list("tenant", "served_at")
    # What is left of a period is not kept for a need that only the reset can meet.
    patience = None if quota.kind == Kind.PERIODIC else timedelta(seconds=quota.patience_seconds)
    return admit(
        waiting,
        {link.pk: _left(link, now, trial=resumption.trial) for link in books.quotas.values()},
        now=now,
        served=dict(turns),
        patience=patience,
    )


def _left(quota: Quota, now: datetime, *, trial: bool) -> int | None:
    """Return what may be admitted: nothing while the verdict is insufficient, whatever is there.

    A trial tries all unverified quotas that its run needs: each by itself would wait for the other.
    """
    if quota.shadow:
        return None
    if quota.verdict == Verdict.INSUFFICIENT and not (trial and _may_be_tried(quota, now)):
        return 0
    return availability.available(quota, now)


def _may_be_tried(quota: Quota, now: datetime) -> bool:
    return quota.provider_unverified and (quota.trial_until is None or quota.trial_until <= now)


def _note_trial(books: Books, tries: Waiting, now: datetime) -> None:
    """Note on each unverified quota who tries it."""
    for quota_id in tries.needs:
        if books.quotas[quota_id].provider_unverified:
            books.quotas[quota_id].trial_owner, books.quotas[quota_id].trial_until = tries.key, now + TRIAL


def _note_who_still_waits(books: Books, waiting: Sequence[Waiting], plan: Plan, *, everybody_of: Quota | None) -> None:
    """Note in each quota the smallest need that it lacks, so that its coming is an edge. What it lacks only because it
    is kept for an older need comes with that one.

    Args:
        everybody_of: the quota of which all that wait are considered; of the others somebody else may wait as well.
    """
    if everybody_of is not None:
        evaluating.note_waiting(everybody_of, None, None)
    for one in waiting:
        for quota_id in plan.blocked_by[one.key].lacking if one.key in plan.blocked_by else ():
            note_need(books.quotas[quota_id], one.needs[quota_id], one.since)


def _note_on_edges(quota: Quota, resumed: int, now: datetime, *, handled: bool) -> None:
    """Count what was resumed on the edges of the quota that are not handled yet: all of them led to it."""
    edges = Edge.objects.filter(quota=quota, handled_at__isnull=True)
    edges.update(resumed_count=F("resumed_count") + resumed, handled_at=now if handled else None)


# --- and goes on -----------------------------------------------------------------------------------------------


def _move(
    books: Books, quota: Quota, runs: Sequence[PausedRun], resumption: Resumption, now: datetime
) -> list[PausedRun]:
    """Move the runs to RESUMING, and hold back what each was admitted for; return those that moved."""
    if not runs:
        return []
    deadline = now + timedelta(seconds=settings.TIDELINE_RESUME_DEADLINE_SECONDS + quota.spread_seconds)
    won = transitions.move(
        [Claim(run.run_id) for run in runs],
        RunState.RESUMING,
        now=now,
        trigger=resumption.trigger,
        actor=resumption.actor,
        reason=resumption.reason,
        sources=[RunState.PAUSED],
        # The attempt's token: a hint of an earlier launch is out of date from here on.
        counting=["lease_token"],
        unless_cancel_asked=True,
        columns={"due_at": now, "deadline_at": deadline},
    )
    run_ids = {moved.run_id for moved in won}
    moved = [run for run in runs if run.run_id in run_ids]
    needs = [Need(owner_of(run.run_id), pk, amount) for run in moved for pk, amount in run.amounts.items()]
    reserving.reserve_for_admission(
        books, needs, key=f"{OURS}admission {now.isoformat()}", lease=deadline + GRACE - now
    )
    _spread([run.run_id for run in moved], quota.spread_seconds, now)
    _note_resumed(moved, resumption.trigger, now)
    _note_turns(quota, {run.tenant for run in moved}, now)
    return moved


def _spread(run_ids: Sequence[int], seconds: int, now: datetime) -> None:
    """Let the runs be due one after another, in their order, so that they do not all start in one instant."""
    if len(run_ids) < 2 or not seconds:
        return
    due = [now + timedelta(seconds=offset) for offset in spread(len(run_ids), seconds)]
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE scheduler_taskrun AS run SET due_at = planned.due_at"
            " FROM unnest(%s::bigint[], %s::timestamptz[]) AS planned (id, due_at)"
            " WHERE run.id = planned.id AND run.state = %s",
            [list(run_ids), due, RunState.RESUMING],
        )


def _note_resumed(runs: Sequence[PausedRun], trigger: EventTrigger, now: datetime) -> None:
    _in_order(Pause.objects.filter(pk__in=[run.run_id for run in runs])).update(
        resume_count=F("resume_count") + 1, last_resumed_at=now, last_trigger=trigger, not_before=None
    )


def _note_turns(quota: Quota, tenants: set[str], now: datetime) -> None:
    TenantTurn.objects.bulk_create(
        [TenantTurn(quota=quota, tenant=tenant, served_at=now) for tenant in sorted(tenants)],
        update_conflicts=True,
        unique_fields=["quota", "tenant"],
        update_fields=["served_at"],
    )


def _in_order(pauses: QuerySet[Pause]) -> QuerySet[Pause]:
    """Lock the rows in the order of their ids, so that two that write several of them cannot wait for each other."""
    return Pause.objects.filter(pk__in=pauses.order_by("pk").select_for_update().values("pk"))
