"""The only writer of a run's state. A transition is one guarded statement that moves the rows it may move, closes
their attempt and writes their events; the rows it returns are those that it won. Zero rows: somebody was first.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection
from psycopg import sql

from scheduler.models import TaskRun
from scheduler.states import AttemptOutcome, EventTrigger, RunState, sources_of


@dataclass(frozen=True, slots=True)
class Claim:
    """Which run, and by which right: the lease token that must still be the run's, or None for a person."""

    run_id: int
    token: int | None = None


@dataclass(frozen=True, slots=True)
class AttemptEnd:
    """How the attempt that held the run ended."""

    outcome: AttemptOutcome
    error: str = ""
    traceback: str = ""
    output: str | None = None  # None keeps what was written while it ran


@dataclass(frozen=True, slots=True)
class Worker:
    """Who executes: the worker process that keeps the lease alive, and its child that runs the job."""

    name: str
    pid: int


@dataclass(frozen=True, slots=True)
class Moved:
    """A run that was moved: from where, and the number of its latest attempt."""

    run_id: int
    from_state: RunState
    attempt: int


def move(
    claims: Iterable[Claim],
    to: RunState,
    *,
    now: datetime,
    trigger: EventTrigger,
    reason: str = "",
    actor: str = "",
    sources: Iterable[RunState] | None = None,
    attempt_end: AttemptEnd | None = None,
    counting: Sequence[str] = (),
    unless_cancel_asked: bool = False,
    columns: Mapping[str, Any] | None = None,
) -> list[Moved]:
    """Move every claimed run that may go to `to`, and return those that moved.

    One statement: state, attempt and event change together or not at all. Leaving RUNNING gives up the lease.

    Args:
        claims: the runs, each with its fencing token or none.
        sources: states to start from; by default all from which `to` can be reached. Ended runs never move.
        attempt_end: closes the run's open attempt with this outcome.
        counting: columns of the run to raise by one.
        unless_cancel_asked: leave runs whose cancel was asked for where they are.
        columns: further columns of the run to set in the same statement.
    """
    written = {**_columns_on_entering(to, now), "state": to, "reason": reason, **(columns or {})}
    allowed = sources_of(to).intersection(sources) if sources is not None else sources_of(to)
    event = {"at": now, "to": to, "trigger": trigger, "actor": actor, "reason": reason}
    steps = [
        _candidates(claims, allowed, NO_CANCEL_ASKED if unless_cancel_asked else UNENDED),
        _update(written, counting),
    ]
    if attempt_end is not None:
        steps.append(_close_attempt(attempt_end, now))
    return _execute(steps, event)


def begin(claim: Claim, worker: Worker, *, now: datetime, lease_until: datetime) -> bool:
    """Move a launched run to RUNNING under a new attempt, and tell whether this worker won it.

    A doubled hint, a hint with an old token and a hint for a cancelled run find zero rows. So does one that comes
    again after its attempt has ended, when the run waits for a later time under the same token: it is not launched.
    """
    written = {
        "state": RunState.RUNNING,
        "reason": "",
        "due_at": None,
        "lease_owner": worker.name,
        "lease_pid": worker.pid,
        "lease_expires_at": lease_until,
    }
    event = {
        "at": now,
        "to": RunState.RUNNING,
        "trigger": EventTrigger.WORKER,
        "actor": worker.name,
        "reason": "",
    }
    steps = [
        _candidates([claim], sources_of(RunState.RUNNING), LAUNCHED),
        _update(written, counting=["attempt_count"], starting_at=now),
        _open_attempt(worker, now),
    ]
    return bool(_execute(steps, event))


def _columns_on_entering(to: RunState, now: datetime) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "due_at": None,
        "lease_owner": "",
        "lease_pid": None,
        "lease_expires_at": None,
        "deadline_at": None,
    }
    if to in (RunState.DONE, RunState.CANCELLED):
        columns["finished_at"] = now
    return columns


# --- the pieces of the statement -------------------------------------------------------------------------------

Piece = tuple[sql.Composable, list[Any]]

UNENDED = sql.SQL("run.finished_at IS NULL")
LAUNCHED = sql.SQL("run.finished_at IS NULL AND run.due_at IS NOT NULL AND run.lease_expires_at IS NOT NULL")
NO_CANCEL_ASKED = sql.SQL("run.finished_at IS NULL AND run.cancel_requested_at IS NULL")


def _candidates(claims: Iterable[Claim], sources: Iterable[RunState], guard: sql.SQL = UNENDED) -> Piece:
    # Locked in the order of ids, so that two bulk transitions cannot wait for each other.
    claims = list(claims)
    return (
        sql.SQL(
            "candidate AS ("
            " SELECT run.id, run.state, run.due_at FROM scheduler_taskrun AS run"
            " JOIN unnest(%s::bigint[], %s::bigint[]) AS claim (id, token) ON claim.id = run.id"
            " WHERE run.state = ANY(%s) AND {}"
            " AND (claim.token IS NULL OR claim.token = run.lease_token)"
            " ORDER BY run.id FOR UPDATE OF run)"
        ).format(guard),
        [
            [claim.run_id for claim in claims],
            [claim.token for claim in claims],
            [str(state) for state in sources],
        ],
    )


def _update(columns: Mapping[str, Any], counting: Sequence[str] = (), starting_at: datetime | None = None) -> Piece:
    fields = {name: _field(name) for name in columns}
    assignments: list[sql.Composable] = [
        sql.SQL("{} = %s").format(sql.Identifier(field.column)) for field in fields.values()
    ]
    values = [fields[name].get_db_prep_save(value, connection) for name, value in columns.items()]
    assignments += [sql.SQL("{0} = run.{0} + 1").format(sql.Identifier(name)) for name in counting]
    if starting_at is not None:
        assignments.append(sql.SQL("started_at = COALESCE(run.started_at, %s)"))
        values.append(starting_at)
    return (
        sql.SQL(
            "moved AS (UPDATE scheduler_taskrun AS run SET {} FROM candidate WHERE run.id = candidate.id"
            " RETURNING run.id, candidate.state AS from_state, candidate.due_at AS was_due_at,"
            " run.attempt_count AS attempt, run.lease_token AS token)"
        ).format(sql.SQL(", ").join(assignments)),
        values,
    )


@functools.cache
def _field(name: str) -> Any:
    return TaskRun._meta.get_field(name)


def _open_attempt(worker: Worker, now: datetime) -> Piece:
    return (
        sql.SQL(
            "opened AS (INSERT INTO scheduler_attempt"
            " (run_id, number, token, worker, pid, due_at, started_at, outcome, error, traceback, output)"
            " SELECT id, attempt, token, %s, %s, was_due_at, %s, '', '', '', '' FROM moved)"
        ),
        [worker.name, worker.pid, now],
    )


def _close_attempt(end: AttemptEnd, now: datetime) -> Piece:
    return (
        sql.SQL(
            "closed AS (UPDATE scheduler_attempt AS attempt"
            " SET finished_at = %s, outcome = %s, error = %s, traceback = %s,"
            " output = COALESCE(%s, attempt.output) FROM moved"
            " WHERE attempt.run_id = moved.id AND attempt.number = moved.attempt"
            " AND attempt.finished_at IS NULL)"
        ),
        [now, end.outcome, end.error, end.traceback, end.output],
    )


def _execute(steps: Sequence[Piece], event: dict[str, Any]) -> list[Moved]:
    statement = sql.SQL(
        "WITH {} INSERT INTO scheduler_runevent"
        " (run_id, at, from_state, to_state, trigger, actor, reason, attempt)"
        " SELECT id, %s, from_state, %s, %s, %s, %s, NULLIF(attempt, 0) FROM moved ORDER BY id"
        " RETURNING run_id, from_state, COALESCE(attempt, 0)"
    ).format(sql.SQL(", ").join(text for text, _ in steps))
    values = [value for _, step_values in steps for value in step_values]
    values += [event["at"], event["to"], event["trigger"], event["actor"], event["reason"]]
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return [Moved(run_id, RunState(state), attempt) for run_id, state, attempt in cursor.fetchall()]
