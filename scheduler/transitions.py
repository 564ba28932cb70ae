"""The only writer of a run's state. A transition is one guarded statement that moves the rows it may move, closes
their attempt and writes their events; the rows it returns are those that it won. Zero rows: somebody was first.
"""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from project.kit.prepared import execute_together
from scheduler import attention, notices, transition_statements
from scheduler.models import TaskRun
from scheduler.states import AttemptOutcome, EventTrigger, RunState, sources_of
from scheduler.transition_statements import NO_CANCEL_ASKED, UNENDED, Call


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
    call = transition_statements.moving(
        list(claims),
        written,
        sources_of(to).intersection(sources) if sources is not None else sources_of(to),
        guard=NO_CANCEL_ASKED if unless_cancel_asked else UNENDED,
        counting=tuple(counting),
        end=attempt_end,
        event=(now, to, trigger, actor, reason),
    )
    tell = _teller(to, trigger, actor, ended="finished_at" in written)
    if tell is None:
        return _moved_by(call)
    with transaction.atomic():
        moved = _moved_by(call)
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


def _moved_by(call: Call) -> list[Moved]:
    with connection.cursor() as cursor:
        execute_together(cursor, call)
        return _moved(cursor)


def begin(claim: Claim, worker: Worker, *, now: datetime, lease_until: datetime) -> TaskRun | None:
    """Move a launched run to RUNNING under a new attempt and return it; None if this worker did not win it.

    A doubled hint, a hint with an old token and a hint for a cancelled run find zero rows. So does one that comes
    again after its attempt has ended, when the run waits for a later time under the same token: it is not launched.
    Where people asked for that, they are told in the same transaction.
    """
    call = transition_statements.beginning(claim, worker, now, lease_until)
    notice = notices.wanted_on_entering(RunState.RUNNING)
    if notice is None:
        return _begun_by(call)
    with transaction.atomic():
        run = _begun_by(call)
        if run is not None and run.attempt_count == 1:  # begun anew, after a pause or a failure, it is the same run
            notices.tell_of_runs(notice, [run.pk], "", now)
    return run


def _begun_by(call: Call) -> TaskRun | None:
    with connection.cursor() as cursor:
        execute_together(cursor, call)
        return _begun(cursor)


def finish_and_begin(
    finished: Claim,
    end: AttemptEnd,
    result: Any,
    following: Claim,
    worker: Worker,
    *,
    now: datetime,
    lease_until: datetime,
) -> tuple[bool, TaskRun | None]:
    """Move a running run to DONE and the next one, which is launched, to RUNNING, in one round trip and one
    transaction; return whether the first moved, and the second if it did. Nobody is told: see `is_told_of_success`.

    Raises:
        IntegrityError: another run of the next one's key still runs; neither has moved.
    """
    written = {**_columns_on_entering(RunState.DONE, now), "state": RunState.DONE, "reason": "", "result": result}
    event = (now, RunState.DONE, EventTrigger.JOB, "", "")
    finishing = transition_statements.moving(
        [finished], written, [RunState.RUNNING], guard=UNENDED, counting=(), end=end, event=event
    )
    with connection.cursor() as cursor:
        execute_together(cursor, finishing, transition_statements.beginning(following, worker, now, lease_until))
        moved = bool(_moved(cursor))
        cursor.nextset()
        return moved, _begun(cursor)


def is_told_of_success() -> bool:
    """Tell whether anybody wants to know of runs that begin, or that are done."""
    return any(notices.wanted_on_entering(state) for state in (RunState.RUNNING, RunState.DONE))


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


def _moved(cursor: CursorWrapper) -> list[Moved]:
    return [Moved(run_id, RunState(state), attempt) for run_id, state, attempt in cursor.fetchall()]


def _begun(cursor: CursorWrapper) -> TaskRun | None:
    row = cursor.fetchone()
    return transition_statements.as_run(row) if row else None
