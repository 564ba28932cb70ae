"""How a transition is written: one guarded statement a transition, prepared by name, its values, and the row of a run
that it returns. Only scheduler.transitions executes them.
"""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import connection

from project.kit.prepared import Statement
from scheduler.models import TaskRun
from scheduler.states import EventTrigger, RunState, sources_of

if TYPE_CHECKING:
    from scheduler.transitions import AttemptEnd, Claim, Worker

Call = tuple[Statement, Sequence[Any]]

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


def moving(
    claims: Sequence["Claim"],
    written: Mapping[str, Any],
    sources: Iterable[RunState],
    *,
    guard: str,
    counting: tuple[str, ...],
    end: "AttemptEnd | None",
    event: tuple[datetime, RunState, EventTrigger, str, str],
) -> Call:
    """Return the statement that moves the claimed runs which are in one of the sources, with its values.

    Args:
        written: columns of the run with their new values.
        guard: what else must be true of a run.
        counting: columns of the run to raise by one.
        end: closes the run's open attempt.
        event: what is noted of it: when, to which state, by what, by whom, and why.
    """
    at = event[0]
    statement = _moving_statement(len(claims) == 1, guard, _placed(written), counting, closing=end is not None)
    values = [*_claimed(claims), _array(sources), *_prepared(written), *(_ended(end, at) if end else ()), *event]
    return statement, values


def beginning(claim: "Claim", worker: "Worker", now: datetime, lease_until: datetime) -> Call:
    """Return the statement that begins the claimed run if it is launched, with its values."""
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
    return _beginning_statement(_placed(written)), values


# Columns, each with its value's place in the statement.
_Placed = tuple[tuple[str, str], ...]


def _placed(written: Mapping[str, Any]) -> _Placed:
    return tuple((name, "NULL" if value is None else "%s") for name, value in written.items())


@functools.cache
def _moving_statement(
    one: bool, guard: str, columns: _Placed, counting: tuple[str, ...], *, closing: bool
) -> Statement:
    steps = [
        _CANDIDATE.format(claims=_ONE_CLAIM if one else _MANY_CLAIMS, guard=guard),
        _MOVED.format(assignments=_assignments(columns, counting), returned="run.id, run.attempt_count"),
        *([_CLOSED] if closing else []),
        _NOTED,
    ]
    return _statement(steps, "id, from_state, attempt_count")


@functools.cache
def _beginning_statement(columns: _Placed) -> Statement:
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


def _assignments(columns: _Placed, counting: tuple[str, ...]) -> str:
    written = [f"{_field(name).column} = {place}" for name, place in columns]
    return ", ".join(written + [f"{name} = run.{name} + 1" for name in counting])


# --- their values ----------------------------------------------------------------------------------------------


def _claimed(claims: Sequence["Claim"]) -> list[Any]:
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
    written = ((name, value) for name, value in columns.items() if value is not None)
    return [_field(name).get_db_prep_save(value, connection) for name, value in written]


def _ended(end: "AttemptEnd", now: datetime) -> list[Any]:
    return [now, end.outcome, end.error, end.traceback, end.output]


@functools.cache
def _field(name: str) -> Any:
    return TaskRun._meta.get_field(name)


# --- and their rows --------------------------------------------------------------------------------------------


def as_run(row: Sequence[Any]) -> TaskRun:
    """Return the run of a row with all of its columns in the model's order."""
    values = list(row)
    for position, convert in _converters():
        values[position] = convert(values[position], None, connection)
    return TaskRun.from_db(connection.alias, [field.attname for field in TaskRun._meta.concrete_fields], values)


@functools.cache
def _converters() -> list[tuple[int, Callable[..., Any]]]:
    fields = enumerate(TaskRun._meta.concrete_fields)
    return [(position, field.from_db_value) for position, field in fields if hasattr(field, "from_db_value")]
