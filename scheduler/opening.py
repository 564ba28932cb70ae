"""The one door through which a run comes into being, for a fire, a person, a backfill and a rerun alike."""

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection

from scheduler import cron
from scheduler.models import Backfill, Schedule, TaskRun
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
    fire_id: int | None = None
    backfill: Backfill | None = None
    rerun_of: TaskRun | None = None
    priority: int = 0
    timeout_seconds: int | None = None
    retry_delays: Sequence[int] = ()
    on_interrupt: str = Schedule.OnInterrupt.RESUME
    exclusive_key: str | None = None
    quota_id: int | None = None
    quota_need: int | None = None
    resume_limit: int | None = None
    resume_by_hand: bool = False


def for_schedule(
    schedule: Schedule,
    planned_at: datetime,
    *,
    now: datetime,
    due_at: datetime | None = None,
    fire_id: int | None = None,
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
        fire_id=fire_id,
        priority=schedule.priority,
        timeout_seconds=schedule.timeout_seconds,
        retry_delays=schedule.retry_delays,
        on_interrupt=schedule.on_interrupt,
        exclusive_key=exclusive_key(schedule),
        quota_id=schedule.quota_id,
        quota_need=schedule.quota_need,
        resume_limit=schedule.resume_limit,
        resume_by_hand=schedule.resume_by_hand,
    )


def exclusive_key(schedule: Schedule) -> str | None:
    """Return the key under which the schedule's runs exclude each other; None where they may overlap."""
    return None if schedule.overlap == Schedule.Overlap.ALLOW else f"schedule:{schedule.pk}"


def open_runs(openings: Sequence[Opening], *, now: datetime, trigger: EventTrigger, actor: str = "") -> list[TaskRun]:
    """Insert the runs, PENDING, each with its first event, and return them in the order given."""
    ids = insert_runs(openings, now=now, trigger=trigger, actor=actor)
    runs = TaskRun.objects.in_bulk(ids)
    return [runs[run_id] for run_id in ids]


def insert_runs(openings: Sequence[Opening], *, now: datetime, trigger: EventTrigger, actor: str = "") -> list[int]:
    """Do what `open_runs` does in one statement, and return only the runs' ids in the order given."""
    if not openings:
        return []
    rows = [_row(opening) for opening in openings]
    statement, defaults = _insertion(tuple(sorted(set().union(*rows))))
    values = defaults | {"state": RunState.PENDING, "created_at": now}
    with connection.cursor() as cursor:
        document = json.dumps(rows, cls=DjangoJSONEncoder)
        cursor.execute(statement, (*values.values(), document, now, RunState.PENDING, trigger, actor))
        return [run_id for (run_id,) in cursor.fetchall()]


def _row(opening: Opening) -> dict[str, Any]:
    """Return what the run's columns are to hold; what is null is no value to send."""
    row = {
        "schedule_id": opening.schedule.pk if opening.schedule else None,
        "fire_id": opening.fire_id,
        "backfill_id": opening.backfill.pk if opening.backfill else None,
        "rerun_of_id": opening.rerun_of.pk if opening.rerun_of else None,
        "name": opening.name,
        "job": opening.job,
        "params": opening.params,
        "stat_date": opening.stat_date.isoformat(),
        "planned_at": opening.planned_at.isoformat(),  # the encoder would cut it to milliseconds
        "priority": opening.priority,
        "timeout_seconds": opening.timeout_seconds,
        "retry_delays": list(opening.retry_delays),
        "on_interrupt": opening.on_interrupt,
        "exclusive_key": opening.exclusive_key,
        "quota_id": opening.quota_id,
        "quota_need": opening.quota_need,
        "resume_limit": opening.resume_limit,
        "resume_by_hand": opening.resume_by_hand,
        "reason": opening.reason,
        "due_at": opening.due_at.isoformat(),
        "progress": opening.progress,
        "progress_done": opening.progress_done,
        "progress_total": opening.progress_total,
    }
    return {column: value for column, value in row.items() if value is not None}


@functools.cache
def _insertion(columns: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    """Return the statement that inserts runs with these columns, and by column what all others hold.

    The rows travel in one JSON document: a placeholder for each value costs seven times as much.
    """
    fields = {field.attname: field for field in TaskRun._meta.concrete_fields if not field.primary_key}
    others = [name for name in fields if name not in columns]
    types = ", ".join(f"{name} {fields[name].db_type(connection)}" for name in columns)
    names = ", ".join(columns)
    statement = (
        f"WITH opened AS (INSERT INTO scheduler_taskrun ({', '.join(others)}, {names})"  # noqa: S608 - names only
        f" SELECT {', '.join(['%s'] * len(others))}, {names}"
        f" FROM ROWS FROM (json_to_recordset(%s) AS ({types})) WITH ORDINALITY ORDER BY ordinality"
        " RETURNING id, reason),"
        " noted AS (INSERT INTO scheduler_runevent (run_id, at, from_state, to_state, trigger, actor, reason)"
        " SELECT id, %s, '', %s, %s, %s, reason FROM opened ORDER BY id)"
        " SELECT id FROM opened ORDER BY id"
    )
    return statement, {name: fields[name].get_db_prep_save(fields[name].get_default(), connection) for name in others}
