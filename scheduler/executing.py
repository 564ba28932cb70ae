"""One hint, one execution: begin the run, call its job, settle what came of it."""

import logging
import signal
import threading
import time
import traceback as tracebacks
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from types import FrameType
from typing import Any

from django.db import InterfaceError, OperationalError, connection
from structlog.contextvars import bound_contextvars

from project.kit.outages import outlast, went_away
from quotas.refusals import NeverSatisfiable, PauseNeeded
from scheduler import rescuing, running
from scheduler.identity import ThisWorker
from scheduler.jobs.context import RunContext
from scheduler.jobs.interrupts import (
    AwaitingApproval,
    Cancelled,
    Deferred,
    JobFailed,
    LeaseLost,
    RunInterrupted,
    Stopping,
    TimedOut,
)
from scheduler.jobs.registry import BadParams, Job, UnknownJob, get_job
from scheduler.jobs.results import as_result
from scheduler.models import TaskRun
from scheduler.running import Outcome
from scheduler.states import AttemptOutcome, EventTrigger, RunState
from scheduler.transitions import Claim

logger = logging.getLogger(__name__)


# A hint may stand for several short runs; when they turn out longer, the rest goes to other workers.
HINT_SECONDS = 5.0


def execute_hint(claims: Sequence[Claim], worker: ThisWorker, clock: Callable[[], datetime]) -> None:
    """Execute the claimed runs one after another, as long as they are short and the worker is not stopping.

    Args:
        clock: tells the database's present instant.
    """
    line = _Line(claims, worker)
    if len(claims) > 1:
        patience = running.lease_seconds().total_seconds()
        outlast(lambda: running.keep_launched(claims, now=clock()), seconds=patience)
    claim, run = line.next(), None
    while claim is not None:
        claim, run = _execute_safely(claim, run, line, worker, clock)
    if line.waiting:
        running.give_back(line.waiting)


class _Line:
    """The runs of a hint that wait for their turn. When they turn out long, or the worker is stopping, none is next,
    and those that are left go to other workers.
    """

    def __init__(self, claims: Sequence[Claim], worker: ThisWorker) -> None:
        self.waiting = list(claims)
        self._signals, self._began = worker.signals, time.monotonic()

    def next(self) -> Claim | None:
        """Take the next one out of the line, if it may have its turn here."""
        if not self.waiting or self._signals.stopping or time.monotonic() - self._began > HINT_SECONDS:
            return None
        return self.waiting.pop(0)


# Which run of the hint is next, and itself where it was begun together with the end of the one before.
_Next = tuple[Claim | None, TaskRun | None]


def execute(claim: Claim, worker: ThisWorker, clock: Callable[[], datetime]) -> None:
    """Execute the claimed run if the claim still holds; its rows say how it went."""
    _execute_safely(claim, None, _Line([], worker), worker, clock)


def _execute_safely(
    claim: Claim, run: TaskRun | None, line: _Line, worker: ThisWorker, clock: Callable[[], datetime]
) -> _Next:
    """However this ends, the run is not left behind as running: while the worker lives, its heartbeat would keep it
    so.
    """
    with bound_contextvars(run=claim.run_id):
        try:
            return _execute(claim, run, line, worker, clock)
        except BaseException as error:
            detail = f"Its execution broke off ({type(error).__name__})."
            outlast(lambda: rescuing.free_attempt(claim, now=clock(), detail=detail), seconds=float("inf"))
            raise


def _execute(
    claim: Claim, run: TaskRun | None, line: _Line, worker: ThisWorker, clock: Callable[[], datetime]
) -> _Next:
    patience = running.lease_seconds().total_seconds()
    run = run or outlast(lambda: _begin(claim, worker, clock), seconds=patience)
    if run is None:
        logger.debug("hint for run #%s is out of date", claim.run_id)
        return line.next(), None
    with bound_contextvars(attempt=run.attempt_count, schedule=run.schedule_id):
        outcome = _attempt(run, worker, clock)
    following = line.next()
    settled, begun = _settle(run, outcome, following, worker, clock) if outcome is not None else (False, None)
    if not settled:
        logger.warning("run #%s: this attempt was interrupted, its outcome does not count", run.pk)
        detail = "The lease or the database was away for too long."
        outlast(lambda: rescuing.free_attempt(claim, now=clock(), detail=detail), seconds=patience)
    return following, begun


def _settle(
    run: TaskRun, outcome: Outcome, following: Claim | None, worker: ThisWorker, clock: Callable[[], datetime]
) -> tuple[bool, TaskRun | None]:
    """Settle the run, and begin the following one with it where that can be one round trip."""
    patience = running.lease_seconds().total_seconds()
    if following is None or not running.may_settle_and_begin(run, outcome, following):
        return outlast(lambda: running.settle(run, outcome, now=clock()), seconds=patience), None
    worker.signals.note_begun()
    me = worker.as_worker()
    return outlast(lambda: running.settle_and_begin(run, outcome, following, me, now=clock()), seconds=patience)


def _begin(claim: Claim, worker: ThisWorker, clock: Callable[[], datetime]) -> TaskRun | None:
    """Begin the run; one that was begun already in this process, which is free, is ours: the database went away
    before it could say so.
    """
    me = worker.as_worker()
    worker.signals.note_begun()
    return running.begin(claim, me, now=clock()) or running.begun(claim, me)


def _attempt(run: TaskRun, worker: ThisWorker, clock: Callable[[], datetime]) -> Outcome | None:
    try:
        job = get_job(run.job)
        params = job.read_params(run.params)
    except (UnknownJob, BadParams) as error:
        return _failed(str(error))
    running.limit_attempt(run, run.timeout_seconds or job.timeout_seconds, now=clock())
    return _call(job, RunContext(run, params, worker.signals, clock), clock)


def _call(job: Job, context: RunContext, clock: Callable[[], datetime]) -> Outcome | None:
    """Call the job and translate what comes out of it; None where the lease was lost, or the database went away
    under the job.
    """
    try:
        with _timeout(context, clock), _clean_connection():
            result = _result_of(job, context)
        outcome = Outcome(RunState.DONE, AttemptOutcome.DONE, result=as_result(result))
    except LeaseLost:
        return None
    except RunInterrupted as interruption:
        # It may have come amid a statement, and broken the connection.
        now = outlast(clock, seconds=running.lease_seconds().total_seconds())
        outcome = _interrupted(interruption, now)
    except PauseNeeded as pause:
        outcome = _paused(pause, context)
    except NeverSatisfiable as never:
        outcome = replace(_failed(str(never)), final=True)
    except SystemExit as end:
        outcome = _failed(f"The job ended the process: exit status {end.code}.")
    except JobFailed as failure:
        outcome = _failed(_one_line(failure), traceback=failure.traceback)
    except Exception as error:
        if isinstance(error, OperationalError | InterfaceError) and went_away():
            return None
        name = type(error).__name__
        outcome = _failed(f"{name}: {_one_line(error)}".removesuffix(": "), traceback=tracebacks.format_exc())
    return replace(
        outcome,
        reason=context.discreet(outcome.reason),
        error=context.discreet(outcome.error),
        traceback=context.discreet(outcome.traceback),
        output=context.output.text,
        spent=context.spending.touched,
    )


def _result_of(job: Job, context: RunContext) -> Any:
    """Call the job's function. Interruptions that come as a group, from tasks side by side, are raised as one."""
    try:
        return job.function(context)
    except BaseExceptionGroup as group:
        interruptions = list(_interruptions_in(group))
        if not interruptions:
            raise
        pauses = [each for each in interruptions if isinstance(each, PauseNeeded)]
        others = [each for each in interruptions if not isinstance(each, PauseNeeded)]
        raise (others[0] if others else PauseNeeded(*(no for pause in pauses for no in pause.refusals))) from group


def _interruptions_in(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _interruptions_in(error)
        elif isinstance(error, RunInterrupted | PauseNeeded):
            yield error


@contextmanager
def _clean_connection() -> Iterator[None]:
    """Roll back what a job leaves open by `set_autocommit(False)`: no outcome is written into its transaction."""
    try:
        yield
    finally:
        # The attribute, not the method, which would connect: the database may be away just now.
        if not connection.in_atomic_block and not connection.autocommit:
            connection.close()


def _interrupted(interruption: RunInterrupted, now: datetime) -> Outcome:
    match interruption:
        case Deferred():
            return _deferred(interruption, now)
        case AwaitingApproval():
            question = interruption.question
            return Outcome(
                RunState.AWAITING_APPROVAL, AttemptOutcome.AWAITING_APPROVAL, reason=question, question=question
            )
        case Stopping():
            reason = "The worker was stopping; the run goes on elsewhere."
            return Outcome(RunState.PENDING, AttemptOutcome.HANDED_BACK, EventTrigger.STOP, reason=reason, due_at=now)
        case Cancelled():
            return Outcome(RunState.CANCELLED, AttemptOutcome.CANCELLED)
        case _:
            return _failed(str(interruption), AttemptOutcome.TIMED_OUT, EventTrigger.TIMEOUT)


def _deferred(deferral: Deferred, now: datetime) -> Outcome:
    due_at = deferral.until or now + timedelta(seconds=deferral.seconds or 0)
    return Outcome(RunState.DEFERRED, AttemptOutcome.DEFERRED, reason=deferral.reason, due_at=due_at)


def _paused(pause: PauseNeeded, context: RunContext) -> Outcome:
    return Outcome(
        RunState.PAUSED,
        AttemptOutcome.PAUSED,
        EventTrigger.QUOTA,
        reason=str(pause),
        refusals=pause.refusals,
        progressed=context.checkpointed or context.spending.granted,
    )


def _failed(
    error: str,
    outcome: AttemptOutcome = AttemptOutcome.FAILED,
    trigger: EventTrigger = EventTrigger.JOB,
    traceback: str = "",
) -> Outcome:
    return Outcome(RunState.FAILED, outcome, trigger, reason=error, error=error, traceback=traceback)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:1000]


@contextmanager
def _timeout(context: RunContext, clock: Callable[[], datetime]) -> Iterator[None]:
    """Raise TimedOut in the job when its deadline passes.

    By a timer signal, which reaches Python code only: a job that hangs in a C call or swallows the exception is
    ended by the worker process (keeping.py). Outside a main thread there is no signal, and only that one counts.
    """
    if context.deadline is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    seconds = max(0.001, (context.deadline - clock()).total_seconds())

    def ring(signum: int, frame: FrameType | None) -> None:
        raise TimedOut(f"The attempt took longer than its timeout of {round(seconds)} s.")

    before: Any = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
