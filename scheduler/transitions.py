"""The only writer of a run's state. A transition is one guarded statement that moves the rows it may move, closes
their attempt and writes their events; the rows it returns are those that it won. Zero rows: somebody was first.
"""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from project.kit.prepared import Statement
from scheduler import attention, notices
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

    One statement: state, attempt and event change together or not at all. Leaving RUNNING gives up the lease. What a
    person should know of is told in the same transaction.

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
    guard = NO_CANCEL_ASKED if unless_cancel_asked else UNENDED
    claims = list(claims)
    statement = _moving(len(claims) == 1, guard, tuple(written), tuple(counting), closing=attempt_end is not None)
    values = [
        *_claimed(claims),
        _array(allowed),
        *_prepared(written),
        *(_ended(attempt_end, now) if attempt_end is not None else ()),
        *(now, to, trigger, actor, reason),
    ]
    tell = _teller(to, trigger, actor, ended="finished_at" in written)
    if tell is None:
        return _moved_by(statement, values)
    with transaction.atomic():
        moved = _moved_by(statement, values)
        tell([run.run_id for run in moved], reason, now)
    return moved


def _teller(
    to: RunState, trigger: EventTrigger, actor: str, *, ended: bool
) -> Callable[[list[int], str, datetime], None] | None:
    """Return what tells people of runs that went there, with why and when; None where nobody has to know."""
    if kind := attention.kind_of_transition(to, trigger, ended=ended):
        return functools.partial(attention.tell_of_runs, kind)
    if notice := notices.wanted_on_entering(to):
        return functools.partial(notices.tell_of_runs, notice, actor=actor)
    return None


def _moved_by(statement: Statement, values: Sequence[Any]) -> list[Moved]:
    with connection.cursor() as cursor:
        statement.execute(cursor, values)
        return [Moved(run_id, RunState(state), attempt) for run_id, state, attempt in cursor.fetchall()]


def begin(claim: Claim, worker: Worker, *, now: datetime, lease_until: datetime) -> TaskRun | None:
    """Move a launched run to RUNNING under a new attempt and return it; None if this worker did not win it.

    A doubled hint, a hint with an old token and a hint for a cancelled run find zero rows. So does one that comes
    again after its attempt has ended, when the run waits for a later time under the same token: it is not launched.
    Where people asked for that, they are told in the same transaction.
    """
    written = {
        "state": RunState.RUNNING,
        "reason": "",
        "due_at": None,
        "deadline_at": None,
        "lease_owner": worker.name,
        "lease_pid": worker.pid,
        "lease_expires_at": lease_until,
    }
    values = [
        *_claimed([claim]),
        _array(sources_of(RunState.RUNNING)),
        *_prepared(written),
        now,
        *(worker.name, worker.pid, now),
        *(now, RunState.RUNNING, EventTrigger.WORKER, worker.name, ""),
    ]
    statement = _beginning(tuple(written))
    notice = notices.wanted_on_entering(RunState.RUNNING)
    if notice is None:
        return _begun_by(statement, values)
    with transaction.atomic():
        run = _begun_by(statement, values)
        if run is not None and run.attempt_count == 1:  # begun anew, after a pause or a failure, it is the same run
            notices.tell_of_runs(notice, [run.pk], "", now)
    return run


def _begun_by(statement: Statement, values: Sequence[Any]) -> TaskRun | None:
    with connection.cursor() as cursor:
        statement.execute(cursor, values)
        row = cursor.fetchone()
    return _as_run(row) if row else None


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


# --- the statements --------------------------------------------------------------------------------------------

UNENDED = "run.finished_at IS NULL"
LAUNCHED = "run.finished_at IS NULL AND run.due_at IS NOT NULL AND run.lease_expires_at IS NOT NULL"
NO_CANCEL_ASKED = "run.finished_at IS NULL AND run.cancel_requested_at IS NULL"

# Locked in the order of ids, so that two bulk transitions cannot wait for each other.
_CANDIDATE = (
    "candidate AS ("
    " SELECT run.id, run.state, run.due_at FROM scheduler_taskrun AS run"
    " JOIN {claims} AS claim (id, token) ON claim.id = run.id"
    " WHERE run.state = ANY(%s) AND {guard}"
    " AND (claim.token IS NULL OR claim.token = run.lease_token)"
    " ORDER BY run.id FOR UPDATE OF run)"
)
_ONE_CLAIM = "(VALUES (%s::bigint, %s::bigint))"
_MANY_CLAIMS = "unnest(%s::bigint[], %s::bigint[])"
_MOVED = (
    "moved AS (UPDATE scheduler_taskrun AS run SET {assignments} FROM candidate WHERE run.id = candidate.id"
    " RETURNING {returned}, candidate.state AS from_state, candidate.due_at AS was_due_at)"
)
_OPENED = (
    "opened AS (INSERT INTO scheduler_attempt"
    " (run_id, number, token, worker, pid, due_at, started_at, outcome, error, traceback, output)"
    " SELECT id, attempt_count, lease_token, %s, %s, was_due_at, %s, '', '', '', '' FROM moved)"
)
_CLOSED = (
    "closed AS (UPDATE scheduler_attempt AS attempt"
    " SET finished_at = %s, outcome = %s, error = %s, traceback = %s,"
    " output = COALESCE(%s, attempt.output) FROM moved"
    " WHERE attempt.run_id = moved.id AND attempt.number = moved.attempt_count"
    " AND attempt.finished_at IS NULL)"
)
_NOTED = (
    "noted AS (INSERT INTO scheduler_runevent"
    " (run_id, at, from_state, to_state, trigger, actor, reason, attempt)"
    " SELECT id, %s, from_state, %s, %s, %s, %s, NULLIF(attempt_count, 0) FROM moved ORDER BY id)"
)


@functools.cache
def _moving(one: bool, guard: str, columns: tuple[str, ...], counting: tuple[str, ...], *, closing: bool) -> Statement:
    steps = [
        _CANDIDATE.format(claims=_ONE_CLAIM if one else _MANY_CLAIMS, guard=guard),
        _MOVED.format(assignments=_assignments(columns, counting), returned="run.id, run.attempt_count"),
        *([_CLOSED] if closing else []),
        _NOTED,
    ]
    return _statement(steps, "id, from_state, attempt_count")


@functools.cache
def _beginning(columns: tuple[str, ...]) -> Statement:
    run = [str(field.column) for field in TaskRun._meta.concrete_fields]
    assignments = f"{_assignments(columns, ('attempt_count',))}, started_at = COALESCE(run.started_at, %s)"
    steps = [
        _CANDIDATE.format(claims=_ONE_CLAIM, guard=LAUNCHED),
        _MOVED.format(assignments=assignments, returned=", ".join(f"run.{name}" for name in run)),
        _OPENED,
        _NOTED,
    ]
    return _statement(steps, ", ".join(run))


def _statement(steps: Sequence[str], returned: str) -> Statement:
    return Statement(f"WITH {', '.join(steps)} SELECT {returned} FROM moved ORDER BY id")  # noqa: S608 - names only


def _assignments(columns: tuple[str, ...], counting: tuple[str, ...]) -> str:
    written = [f"{_field(name).column} = %s" for name in columns]
    return ", ".join(written + [f"{name} = run.{name} + 1" for name in counting])


# --- their values ----------------------------------------------------------------------------------------------


def _claimed(claims: Sequence[Claim]) -> list[Any]:
    if len(claims) == 1:
        return [claims[0].run_id, claims[0].token]
    return [
        _array(claim.run_id for claim in claims),
        _array("NULL" if claim.token is None else claim.token for claim in claims),
    ]


def _array(values: Iterable[object]) -> str:
    """Return the array as PostgreSQL writes it, for values that need no quotes; a tenth of what the driver needs."""
    return f"{{{','.join(map(str, values))}}}"


def _prepared(columns: Mapping[str, Any]) -> list[Any]:
    return [_field(name).get_db_prep_save(value, connection) for name, value in columns.items()]


def _ended(end: AttemptEnd, now: datetime) -> list[Any]:
    return [now, end.outcome, end.error, end.traceback, end.output]


@functools.cache
def _field(name: str) -> Any:
    return TaskRun._meta.get_field(name)


# --- and their rows --------------------------------------------------------------------------------------------


def _as_run(row: Sequence[Any]) -> TaskRun:
    """Return the run of a row with all of its columns in the model's order."""
    values = list(row)
    for position, convert in _converters():
        values[position] = convert(values[position], None, connection)
    return TaskRun.from_db(connection.alias, [field.attname for field in TaskRun._meta.concrete_fields], values)


@functools.cache
def _converters() -> list[tuple[int, Callable[..., Any]]]:
    fields = enumerate(TaskRun._meta.concrete_fields)
    return [(position, field.from_db_value) for position, field in fields if hasattr(field, "from_db_value")]
