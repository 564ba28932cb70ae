"""Due schedules become fires and runs. One transaction a batch: the next run moved on, the fire, the run it opens.

A schedule that was away (nobody scanned, or it was broken or paused) never floods: only the latest missed instant is
made up, and only within the grace; the older ones are one recorded skip with their span.
"""

import json
import logging
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, cast

from django.db import connection, transaction

from scheduler import attention, cron, notices, wording
from scheduler.calendars import ExcludedDays, read_excluded_days
from scheduler.cron import Missed, Trigger, TriggerError
from scheduler.fires import NewFire, insert_fires
from scheduler.models import Schedule
from scheduler.opening import Opening, exclusive_key, for_schedule, insert_runs
from scheduler.states import EventTrigger, FireKind, FireOutcome, RunState

logger = logging.getLogger(__name__)

# Late by at most this is on time: the seconds between two scans are not a miss.
ON_TIME = timedelta(seconds=60)
# So many in a transaction: more cost less each, but keep whoever edits one waiting for longer than a fifth of a second.
BATCH = 1000


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
    return {
        keys[key]: (FireOutcome.SKIPPED_OVERLAP, wording.overlap(run_id, RunState(state)))
        for key, run_id, state in (_oldest_unfinished(keys) if keys else ())
    }


def _oldest_unfinished(keys: Iterable[str | None]) -> list[tuple[str, int, str]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT ON (exclusive_key) exclusive_key, id, state FROM scheduler_taskrun"
            " WHERE exclusive_key = ANY(%s) AND finished_at IS NULL ORDER BY exclusive_key, id",
            [list(keys)],
        )
        return [(key, run_id, state) for key, run_id, state in cursor.fetchall()]


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
    done = _done([*fixed], [day for day, _ in fixed.values()]) if fixed else ()
    obstacles: _Obstacles = {}
    for schedule_id, run_id, stat_date, started_at in done:
        data_day, planned_at = fixed[schedule_id]
        if stat_date == data_day and started_at and planned_at and started_at >= planned_at:
            obstacles[schedule_id] = (FireOutcome.ALREADY_DONE, wording.already_done(run_id, started_at))
    return obstacles


def _done(schedule_ids: list[int], days: list[date | None]) -> list[tuple[int, int, date, datetime | None]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT schedule_id, id, stat_date, started_at FROM scheduler_taskrun"
            " WHERE schedule_id = ANY(%s) AND stat_date = ANY(%s) AND state = %s",
            [schedule_ids, days, RunState.DONE],
        )
        return [(schedule_id, run_id, day, started_at) for schedule_id, run_id, day, started_at in cursor.fetchall()]


def _fires(decision: _Decision, obstacles: _Obstacles, now: datetime) -> list[NewFire]:
    schedule, plan_ = decision.schedule, decision.plan
    if decision.error:
        reason = wording.broken(decision.error)
        return [NewFire(schedule, decision.claimed_at, plan_.kind, FireOutcome.FAILED_TO_START, now, reason)]
    fires = []
    if missed := plan_.missed:
        reason = wording.missed(missed, schedule, made_up=plan_.planned_at)
        skipped = FireOutcome.SKIPPED_MISFIRE
        fires.append(NewFire(schedule, missed.first, FireKind.MISFIRE, skipped, now, reason, missed=missed))
    if plan_.planned_at is not None:
        outcome, reason = obstacles.get(schedule.pk) or (FireOutcome.STARTED, wording.started(plan_, now))
        fires.append(NewFire(schedule, plan_.planned_at, plan_.kind, outcome, now, reason))
    return fires


def _move_on(decisions: Sequence[_Decision]) -> list[_Decision]:
    """Set each claimed schedule to its next instant, by compare-and-swap, and return those that were moved.

    Neither `version` nor `updated_at` changes: a person who is editing is not told of a conflict.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE scheduler_schedule AS schedule SET next_run_at = claim.upcoming, broken_reason = claim.error"
            " FROM json_to_recordset(%s)"
            " AS claim (id bigint, claimed_at timestamptz, upcoming timestamptz, error text)"
            " WHERE schedule.id = claim.id AND schedule.next_run_at = claim.claimed_at RETURNING schedule.id",
            [json.dumps([_move(decision) for decision in decisions], default=datetime.isoformat)],
        )
        moved = {schedule_id for (schedule_id,) in cursor.fetchall()}
    return [decision for decision in decisions if decision.schedule.pk in moved]


def _move(decision: _Decision) -> dict[str, Any]:
    return {
        "id": decision.schedule.pk,
        "claimed_at": decision.claimed_at,
        "upcoming": decision.plan.next_run_at,
        "error": decision.error,
    }


def _record(fires: Sequence[NewFire], excluded: ExcludedDays, now: datetime) -> Fired:
    recorded = insert_fires(fires)
    attention.tell_of_fires(recorded)
    notices.tell_of_fires(recorded)
    started = [fire for fire in recorded if fire.outcome == FireOutcome.STARTED]
    run_ids = insert_runs([_opening(fire, excluded, now) for fire in started], now=now, trigger=EventTrigger.SCHEDULE)
    notices.tell_of_made_up(started, run_ids, now)
    broken = sum(fire.outcome == FireOutcome.FAILED_TO_START for fire in recorded)
    return Fired(len(started), len(recorded) - len(started) - broken, broken)


def _opening(fire: NewFire, excluded: ExcludedDays, now: datetime) -> Opening:
    """Return what the fire opens: due at once, after its jitter, or on the next date that is not excluded."""
    schedule, due_at, reason = fire.schedule, fire.fire_at, fire.reason
    if exclusion := excluded.reason(schedule, fire.fire_at):
        due_at = excluded.moved_to(schedule, fire.fire_at) or fire.fire_at
        reason = f"{exclusion} {wording.moved(due_at, schedule.timezone)}"
    due_at += jitter(schedule, fire.fire_at)
    return for_schedule(schedule, fire.fire_at, now=now, due_at=max(now, due_at), fire_id=fire.id, reason=reason)


def jitter(schedule: Schedule, fire_at: datetime) -> timedelta:
    """Return how much later than its instant the run of a fire is due: always the same for the same fire."""
    if not schedule.jitter_seconds:
        return timedelta(0)
    share = zlib.crc32(f"{schedule.pk}:{fire_at.timestamp()}".encode()) / 2**32
    return timedelta(seconds=schedule.jitter_seconds * share)
