"""Due schedules become fires and runs. One transaction a batch: the next run moved on, the fire, the run it opens.

A schedule that was away (nobody scanned, or it was broken or paused) never floods: only the latest missed instant is
made up, and only within the grace; the older ones are one recorded skip with their span.
"""

import logging
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import cast

from django.db import connection, transaction

from scheduler import attention, cron, notices, wording
from scheduler.calendars import ExcludedDays, read_excluded_days
from scheduler.cron import Missed, Trigger, TriggerError
from scheduler.fires import insert_fires
from scheduler.models import Fire, Schedule, TaskRun
from scheduler.opening import Opening, exclusive_key, for_schedule, insert_runs
from scheduler.states import EventTrigger, FireKind, FireOutcome, RunState

logger = logging.getLogger(__name__)

# Late by at most this is on time: the seconds between two scans are not a miss.
ON_TIME = timedelta(seconds=60)
BATCH = 500


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to become of a schedule whose next run has come."""

    next_run_at: datetime | None
    planned_at: datetime | None = None  # the instant to fire; None: all that was due is skipped
    kind: FireKind = FireKind.SCHEDULED
    missed: Missed | None = None


@dataclass(frozen=True, slots=True)
class Fired:
    """What one scan did."""

    started: int = 0
    skipped: int = 0
    broken: int = 0

    def __add__(self, other: "Fired") -> "Fired":
        return Fired(self.started + other.started, self.skipped + other.skipped, self.broken + other.broken)


def plan(trigger: Trigger, claimed_at: datetime, *, now: datetime, grace: timedelta) -> Plan:
    """Decide what to fire and what to skip for a schedule that was due at `claimed_at`.

    Only the latest due instant can fire. An instant that the trigger does not know (the row was edited by hand, or
    the expression while it was due) counts as due itself.
    """
    latest = max(trigger.latest_until(now) or claimed_at, claimed_at)
    upcoming = trigger.next_after(now)
    lateness = now - latest
    if lateness > max(ON_TIME, grace):
        missed = cron.missed(trigger, claimed_at, upcoming or now) or Missed(claimed_at, claimed_at, 1, False)
        return Plan(upcoming, missed=missed)
    kind = FireKind.SCHEDULED if lateness <= ON_TIME else FireKind.MISFIRE
    missed_before = None
    if latest > claimed_at:
        missed_before = cron.missed(trigger, claimed_at, latest) or Missed(claimed_at, claimed_at, 1, False)
    return Plan(upcoming, latest, kind, missed_before)


def fire_all_due(*, now: datetime, batch: int = BATCH) -> Fired:
    """Fire every schedule that is due at `now`, batch after batch."""
    total = Fired()
    while True:
        claimed, fired = fire_due(now=now, limit=batch)
        total += fired
        if claimed < batch:
            return total


def fire_due(*, now: datetime, limit: int = BATCH) -> tuple[int, Fired]:
    """Claim up to `limit` due schedules; record, for each, its fire and the run it opens or why it opens none.

    Rows that another scan holds are left to it. A schedule whose trigger cannot be read is unscheduled and says so;
    it never stops the others. Returns the number of claimed schedules and what became of them.
    """
    with transaction.atomic():
        schedules = _claim_due(now, limit)
        if not schedules:
            return 0, Fired()
        decisions = [_decide(schedule, now) for schedule in schedules]
        excluded = read_excluded_days(schedules, since=_earliest_date(decisions, now))
        obstacles = _obstacles(decisions, excluded)
        moved = _move_on(decisions)
        fires = [fire for decision in moved for fire in _fires(decision, obstacles, now)]
        fired = _record(fires, excluded, now)
    return len(schedules), fired


# --- the steps of one batch ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Decision:
    schedule: Schedule
    claimed_at: datetime
    plan: Plan
    trigger: Trigger | None = None
    error: str = ""

    @property
    def data_day(self) -> date | None:
        """The data day that the planned run would have."""
        if self.plan.planned_at is None:
            return None
        return cron.stat_date(self.plan.planned_at, self.schedule.timezone, self.schedule.stat_date_offset)


def _claim_due(now: datetime, limit: int) -> list[Schedule]:
    due = Schedule.objects.filter(enabled=True, next_run_at__lte=now).order_by("next_run_at", "id")
    return list(due.select_related("calendar").select_for_update(skip_locked=True, of=["self"])[:limit])


def _decide(schedule: Schedule, now: datetime) -> _Decision:
    claimed_at = cast(datetime, schedule.next_run_at)  # it was claimed by it
    try:
        trigger = schedule.as_trigger()
        grace = timedelta(seconds=schedule.misfire_grace_seconds)
        return _Decision(schedule, claimed_at, plan(trigger, claimed_at, now=now, grace=grace), trigger)
    except TriggerError as error:
        logger.warning("schedule %r is unscheduled: %s", schedule.name, error)
        return _Decision(schedule, claimed_at, Plan(None), error=str(error))


def _earliest_date(decisions: Iterable[_Decision], now: datetime) -> date:
    return min((decision.claimed_at for decision in decisions), default=now).date()


# What keeps a planned instant from opening a run: by schedule, the outcome and the reason.
_Obstacles = dict[int, tuple[FireOutcome, str]]


def _obstacles(decisions: Iterable[_Decision], excluded: ExcludedDays) -> _Obstacles:
    planned = [decision for decision in decisions if decision.plan.planned_at is not None]
    return {**_overlaps(planned), **_already_done(planned), **_exclusions(planned, excluded)}


def _exclusions(planned: Sequence[_Decision], excluded: ExcludedDays) -> _Obstacles:
    skips = {}
    for schedule, planned_at in ((d.schedule, cast(datetime, d.plan.planned_at)) for d in planned):
        reason = excluded.reason(schedule, planned_at)
        if reason and excluded.moved_to(schedule, planned_at) is None:
            skips[schedule.pk] = (FireOutcome.SKIPPED_EXCLUDED, reason)
    return skips


def _overlaps(planned: Sequence[_Decision]) -> _Obstacles:
    skipping = [d.schedule for d in planned if d.schedule.overlap == Schedule.Overlap.SKIP]
    keys = {exclusive_key(schedule): schedule.pk for schedule in skipping}
    unfinished = TaskRun.objects.filter(exclusive_key__in=keys, finished_at__isnull=True)
    oldest = unfinished.order_by("exclusive_key", "id").distinct("exclusive_key")
    return {
        keys[key]: (FireOutcome.SKIPPED_OVERLAP, wording.overlap(run_id, RunState(state)))
        for key, run_id, state in (oldest.values_list("exclusive_key", "id", "state") if keys else ())
    }


def _already_done(planned: Sequence[_Decision]) -> _Obstacles:
    """Work that is done for the data day counts as the planned work if it started at or after the planned instant.

    By `started_at`, not `finished_at`: what began before was off-plan, and the planned run is made all the same.
    Source: the product rule of 2026-11-03, for every daily job at a fixed time.
    """
    fixed = {
        d.schedule.pk: (d.data_day, d.plan.planned_at)
        for d in planned
        if d.trigger is not None and cron.is_fixed_time(d.trigger)
    }
    done = TaskRun.objects.filter(
        schedule__in=fixed, stat_date__in={day for day, _ in fixed.values()}, state=RunState.DONE
    ).values_list("schedule_id", "id", "stat_date", "started_at")
    obstacles: _Obstacles = {}
    for schedule_id, run_id, stat_date, started_at in done if fixed else ():
        data_day, planned_at = fixed[schedule_id]
        if stat_date == data_day and started_at and planned_at and started_at >= planned_at:
            obstacles[schedule_id] = (FireOutcome.ALREADY_DONE, wording.already_done(run_id, started_at))
    return obstacles


def _fires(decision: _Decision, obstacles: _Obstacles, now: datetime) -> list[Fire]:
    schedule, plan_ = decision.schedule, decision.plan
    if decision.error:
        return [
            _fire(
                decision,
                decision.claimed_at,
                now,
                FireOutcome.FAILED_TO_START,
                wording.broken(decision.error),
            )
        ]
    fires = []
    if plan_.missed is not None:
        reason = wording.missed(plan_.missed, schedule, made_up=plan_.planned_at)
        skip = _fire(decision, plan_.missed.first, now, FireOutcome.SKIPPED_MISFIRE, reason, FireKind.MISFIRE)
        skip.missed_from, skip.missed_until = plan_.missed.first, plan_.missed.last
        skip.missed_count = plan_.missed.count
        fires.append(skip)
    if plan_.planned_at is not None:
        outcome, reason = obstacles.get(schedule.pk, (FireOutcome.STARTED, wording.started(plan_, now)))
        fires.append(_fire(decision, plan_.planned_at, now, outcome, reason, plan_.kind))
    return fires


def _fire(
    decision: _Decision,
    fire_at: datetime,
    now: datetime,
    outcome: FireOutcome,
    reason: str,
    kind: FireKind = FireKind.SCHEDULED,
) -> Fire:
    return Fire(
        schedule=decision.schedule,
        fire_at=fire_at,
        kind=kind,
        outcome=outcome,
        reason=reason,
        recorded_at=now,
    )


def _move_on(decisions: Sequence[_Decision]) -> list[_Decision]:
    """Set each claimed schedule to its next instant, by compare-and-swap, and return those that were moved.

    Neither `version` nor `updated_at` changes: a person who is editing is not told of a conflict.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE scheduler_schedule AS schedule SET next_run_at = claim.upcoming, broken_reason = claim.error"
            " FROM unnest(%s::bigint[], %s::timestamptz[], %s::timestamptz[], %s::text[])"
            " AS claim (id, claimed_at, upcoming, error)"
            " WHERE schedule.id = claim.id AND schedule.next_run_at = claim.claimed_at RETURNING schedule.id",
            [
                [d.schedule.pk for d in decisions],
                [d.claimed_at for d in decisions],
                [d.plan.next_run_at for d in decisions],
                [d.error for d in decisions],
            ],
        )
        moved = {schedule_id for (schedule_id,) in cursor.fetchall()}
    return [decision for decision in decisions if decision.schedule.pk in moved]


def _record(fires: Sequence[Fire], excluded: ExcludedDays, now: datetime) -> Fired:
    recorded = insert_fires(fires)
    attention.tell_of_fires(recorded)
    notices.tell_of_fires(recorded)
    started = [fire for fire in recorded if fire.outcome == FireOutcome.STARTED]
    run_ids = insert_runs([_opening(fire, excluded, now) for fire in started], now=now, trigger=EventTrigger.SCHEDULE)
    notices.tell_of_made_up(started, run_ids, now)
    broken = sum(fire.outcome == FireOutcome.FAILED_TO_START for fire in recorded)
    return Fired(len(started), len(recorded) - len(started) - broken, broken)


def _opening(fire: Fire, excluded: ExcludedDays, now: datetime) -> Opening:
    """Return what the fire opens: due at once, after its jitter, or on the next date that is not excluded."""
    schedule, due_at, reason = fire.schedule, fire.fire_at, fire.reason
    if exclusion := excluded.reason(schedule, fire.fire_at):
        due_at = excluded.moved_to(schedule, fire.fire_at) or fire.fire_at
        reason = f"{exclusion} {wording.moved(due_at, schedule.timezone)}"
    due_at += jitter(schedule, fire.fire_at)
    return for_schedule(schedule, fire.fire_at, now=now, due_at=max(now, due_at), fire=fire, reason=reason)


def jitter(schedule: Schedule, fire_at: datetime) -> timedelta:
    """Return how much later than its instant the run of a fire is due: always the same for the same fire."""
    if not schedule.jitter_seconds:
        return timedelta(0)
    share = zlib.crc32(f"{schedule.pk}:{fire_at.timestamp()}".encode()) / 2**32
    return timedelta(seconds=schedule.jitter_seconds * share)
