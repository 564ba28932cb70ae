"""The one door through which a run comes into being, for a fire, a person, a backfill and a rerun alike."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from django.db import transaction

from scheduler import cron
from scheduler.models import Backfill, Fire, RunEvent, Schedule, TaskRun
from scheduler.states import EventTrigger, RunState


@dataclass(frozen=True, slots=True)
class Opening:
    """What a run is opened with. `due_at` may lie later than `planned_at`, never the other way in meaning:
    the data day always follows `planned_at`."""

    name: str
    job: str
    stat_date: date
    planned_at: datetime
    due_at: datetime
    reason: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    progress: dict[str, Any] = field(default_factory=dict)
    progress_done: int | None = None
    progress_total: int | None = None
    schedule: Schedule | None = None
    fire: Fire | None = None
    backfill: Backfill | None = None
    rerun_of: TaskRun | None = None
    priority: int = 0
    timeout_seconds: int | None = None
    retry_delays: Sequence[int] = ()
    on_interrupt: str = Schedule.OnInterrupt.RESUME
    exclusive_key: str | None = None


def for_schedule(
    schedule: Schedule,
    planned_at: datetime,
    *,
    now: datetime,
    due_at: datetime | None = None,
    fire: Fire | None = None,
    reason: str = "",
) -> Opening:
    """Return the opening of the schedule's run for one planned instant: under that instant's data day, due now or at
    `due_at`.
    """
    return Opening(
        name=schedule.name,
        job=schedule.job,
        params=schedule.params,
        stat_date=cron.stat_date(planned_at, schedule.timezone, schedule.stat_date_offset),
        planned_at=planned_at,
        due_at=due_at or now,
        reason=reason,
        schedule=schedule,
        fire=fire,
        priority=schedule.priority,
        timeout_seconds=schedule.timeout_seconds,
        retry_delays=schedule.retry_delays,
        on_interrupt=schedule.on_interrupt,
        exclusive_key=exclusive_key(schedule),
    )


def exclusive_key(schedule: Schedule) -> str | None:
    """Return the key under which the schedule's runs exclude each other; None where they may overlap."""
    return None if schedule.overlap == Schedule.Overlap.ALLOW else f"schedule:{schedule.pk}"


def open_runs(openings: Sequence[Opening], *, now: datetime, trigger: EventTrigger, actor: str = "") -> list[TaskRun]:
    """Insert the runs, PENDING, each with its first event, in one transaction; return them in the order given."""
    with transaction.atomic():
        runs = TaskRun.objects.bulk_create([_row(opening, now) for opening in openings])
        RunEvent.objects.bulk_create(
            RunEvent(run=run, at=now, to_state=RunState.PENDING, trigger=trigger, actor=actor, reason=run.reason)
            for run in runs
        )
    return runs


def _row(opening: Opening, now: datetime) -> TaskRun:
    return TaskRun(
        schedule=opening.schedule,
        fire=opening.fire,
        backfill=opening.backfill,
        rerun_of=opening.rerun_of,
        name=opening.name,
        job=opening.job,
        params=opening.params,
        stat_date=opening.stat_date,
        planned_at=opening.planned_at,
        priority=opening.priority,
        timeout_seconds=opening.timeout_seconds,
        retry_delays=list(opening.retry_delays),
        on_interrupt=opening.on_interrupt,
        exclusive_key=opening.exclusive_key,
        state=RunState.PENDING,
        reason=opening.reason,
        due_at=opening.due_at,
        progress=opening.progress,
        progress_done=opening.progress_done,
        progress_total=opening.progress_total,
        created_at=now,
    )
