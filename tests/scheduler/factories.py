"""Rows that are consistent in themselves, for any state, and the instants that the tests speak of."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db import connection

from scheduler import cron
from scheduler.jobs.registry import JOBS, job, short_jobs
from scheduler.models import Approval, Attempt, Calendar, CalendarDay, Fire, RunEvent, Schedule, TaskRun
from scheduler.opening import exclusive_key
from scheduler.states import AttemptOutcome, EventTrigger, FireOutcome, RunState
from scheduler.transitions import Claim, Worker

SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
A_MOMENT = timedelta(microseconds=1)  # the least that the database tells apart
WORKER = Worker("host:1:1:boot", 4_000_000)  # a process number beyond those that are given out here

_numbers = itertools.count(1)


def utc(text: str) -> datetime:
    """Return the instant that an ISO text names, in UTC where it names no offset."""
    instant = datetime.fromisoformat(text)
    return instant.astimezone(UTC) if instant.tzinfo else instant.replace(tzinfo=UTC)


NOW = utc("2026-06-01 12:00")  # a Monday, at noon


@job("test.noop", title="Does nothing")
def noop(run: object) -> None:
    """Do nothing."""


@contextmanager
def registered(function: Callable[[Any], Any], **options: Any) -> Iterator[str]:
    """Register a function as a job for a while, and yield the job's key."""
    key = f"test.{next(_numbers)}"
    job(key, **options)(function)
    try:
        yield key
    finally:
        del JOBS[key]
        short_jobs.cache_clear()


def make_schedule(*, due: datetime | None = None, now: datetime = NOW, **fields: Any) -> Schedule:
    """Insert a schedule: daily at 02:00 UTC and next due then, unless the fields say otherwise.

    Args:
        due: its next run; by default the first instant of its trigger after `now`.
    """
    values: dict[str, Any] = {
        "name": f"schedule {next(_numbers)}",
        "job": "test.noop",
        "overlap": Schedule.Overlap.QUEUE,
        "created_at": now,
        "updated_at": now,
    }
    if "interval_seconds" in fields:
        values |= {"trigger": Schedule.TriggerKind.INTERVAL, "anchor_at": now}
    elif "once_at" in fields:
        values["trigger"] = Schedule.TriggerKind.ONCE
    else:
        values["cron"] = "0 2 * * *"
    schedule = Schedule(**values | fields)
    schedule.next_run_at = due if due is not None else schedule.as_trigger().next_after(now)
    schedule.save(force_insert=True)
    return schedule


# What a run has beside its state, at `now`, once it is in it.
_ATTEMPT_ENDS: dict[RunState, AttemptOutcome] = {
    RunState.DONE: AttemptOutcome.DONE,
    RunState.FAILED: AttemptOutcome.FAILED,
    RunState.DEFERRED: AttemptOutcome.DEFERRED,
    RunState.PAUSED: AttemptOutcome.PAUSED,
    RunState.RESUMING: AttemptOutcome.PAUSED,
    RunState.AWAITING_APPROVAL: AttemptOutcome.AWAITING_APPROVAL,
    RunState.SUSPENDED: AttemptOutcome.LOST,
    RunState.CANCELLED: AttemptOutcome.CANCELLED,
}


def make_run(state: RunState = RunState.PENDING, *, now: datetime = NOW, ended: bool = False, **fields: Any) -> TaskRun:
    """Insert a run that came into `state` at `now`, with the attempt and the event that led there.

    Args:
        ended: for FAILED: without `due_at`, for good. By default it is tried again at `now`.
    """
    schedule = fields.get("schedule")
    values: dict[str, Any] = {
        "name": schedule.name if schedule else f"run {next(_numbers)}",
        "job": schedule.job if schedule else "test.noop",
        "stat_date": cron.stat_date(now, schedule.timezone if schedule else "UTC"),
        "planned_at": now,
        "created_at": now,
        "exclusive_key": exclusive_key(schedule) if schedule else None,
        **_columns(state, now, ended),
    }
    run = TaskRun.objects.create(state=state, **values | fields)
    if run.attempt_count:
        make_attempt(run, now=now, outcome=_ATTEMPT_ENDS.get(state, ""))
    record_event(run, now=now)
    return run


def _columns(state: RunState, now: datetime, ended: bool) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    if state != RunState.PENDING:
        columns |= {"attempt_count": 1, "lease_token": 1, "started_at": now}
    if state in (RunState.PENDING, RunState.DEFERRED, RunState.RESUMING, RunState.FAILED) and not ended:
        columns["due_at"] = now
    if state in (RunState.DONE, RunState.CANCELLED) or ended:
        columns["finished_at"] = now
    if state == RunState.RUNNING:
        columns |= {
            "lease_owner": WORKER.name,
            "lease_pid": WORKER.pid,
            "lease_expires_at": now + timedelta(seconds=30),
        }
    if state == RunState.FAILED:
        columns["failure_count"] = 1
    if state == RunState.SUSPENDED:
        columns["interruption_count"] = 1
    return columns


def make_attempt(run: TaskRun, *, now: datetime = NOW, outcome: AttemptOutcome | str = "") -> Attempt:
    """Insert the run's latest attempt, open unless there is an outcome."""
    return Attempt.objects.create(
        run=run,
        number=run.attempt_count,
        token=run.lease_token,
        worker=WORKER.name,
        pid=WORKER.pid,
        due_at=now,
        started_at=now,
        finished_at=now if outcome else None,
        outcome=outcome,
    )


def record_event(run: TaskRun, *, now: datetime = NOW) -> None:
    """Insert the event that led to the run's state."""
    event = RunEvent(run=run, at=now, to_state=run.state, trigger=EventTrigger.SCHEDULE, attempt=run.attempt_count)
    RunEvent.objects.bulk_create([event])


def launched(run: TaskRun, *, now: datetime = NOW, seconds: float = 15) -> Claim:
    """Lease the run as a launch does, unless it has just ended, and return the hint's claim."""
    run.lease_token += 1
    run.lease_expires_at = now + timedelta(seconds=seconds)
    unfinished = TaskRun.objects.filter(pk=run.pk, finished_at=None)
    unfinished.update(lease_token=run.lease_token, lease_expires_at=run.lease_expires_at)
    return Claim(run.pk, run.lease_token)


def claim_of(run: TaskRun) -> Claim:
    """Return the claim of whoever holds the run now."""
    return Claim(run.pk, run.lease_token)


def fires_of(schedule: Schedule) -> list[tuple[datetime, str, str]]:
    """Return the schedule's fires, oldest first: due at, kind, outcome."""
    return list(
        Fire.objects.filter(schedule=schedule).order_by("fire_at", "id").values_list("fire_at", "kind", "outcome")
    )


def planned(schedule: Schedule) -> list[datetime]:
    """Return the planned instants of the schedule's runs, oldest first."""
    return list(TaskRun.objects.filter(schedule=schedule).order_by("planned_at").values_list("planned_at", flat=True))


def events_of(run: TaskRun) -> list[tuple[str, str, str]]:
    """Return the run's events in order: from, to, trigger."""
    return list(RunEvent.objects.filter(run=run).order_by("id").values_list("from_state", "to_state", "trigger"))


def row(run: TaskRun) -> dict[str, Any]:
    """Return all columns of a run as the database has them now."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM scheduler_taskrun WHERE id = %s", [run.pk])
        (values,) = cursor.fetchall()
        return dict(zip((column.name for column in cursor.description), values, strict=True))


def make_calendar(*days: str, titles: str = "", **fields: Any) -> Calendar:
    """Insert a calendar that excludes the dates (ISO), each under the same title."""
    calendar = Calendar.objects.create(name=f"calendar {next(_numbers)}", **fields)
    CalendarDay.objects.bulk_create(
        CalendarDay(calendar=calendar, date=date.fromisoformat(day), title=titles) for day in days
    )
    return calendar


def make_question(*, now: datetime = NOW, question: str = "Send 214 invoices?", **fields: Any) -> TaskRun:
    """Insert a run that has asked a question at `now`."""
    run = make_run(RunState.AWAITING_APPROVAL, now=now, reason=question, **fields)
    Approval.objects.create(run=run, segment=1, question=question, asked_at=now)
    return run


def the_run(schedule: Schedule) -> TaskRun:
    """Return the schedule's only run."""
    return TaskRun.objects.get(schedule=schedule)


def the_skip(schedule: Schedule) -> Fire:
    """Return the schedule's only fire that started nothing."""
    return Fire.objects.exclude(outcome=FireOutcome.STARTED).get(schedule=schedule)
