"""Functions that are executed as jobs."""

from collections.abc import Callable
from typing import Any

from project.kit.clock import database_now
from scheduler.executing import execute
from scheduler.identity import SharedSignals, ThisWorker
from scheduler.jobs import RunContext
from scheduler.models import Attempt, TaskRun
from scheduler.states import RunState
from tests.scheduler.factories import launched, make_run, registered

Job = Callable[[RunContext], Any]


def run_job(function: Job, worker: ThisWorker, *, job: dict[str, Any] | None = None, **fields: Any) -> TaskRun:
    """Execute a function as the job of a run that was just launched, and return the run's row."""
    with registered(function, **job or {}) as key:
        run = make_run(now=database_now(), job=key, **fields)
        execute(launched(run, now=database_now()), worker, database_now)
    return TaskRun.objects.get(pk=run.pk)


def raising(error: BaseException) -> Job:
    """Return a job that raises the error."""

    def job(run: RunContext) -> None:
        raise error

    return job


def attempt_of(run: TaskRun) -> Attempt:
    """Return the run's latest attempt."""
    return Attempt.objects.filter(run=run).latest("number")


def running(**fields: Any) -> TaskRun:
    """Make a running run whose lease holds by the database's clock."""
    return make_run(RunState.RUNNING, now=database_now(), **fields)


def in_job(run: TaskRun, signals: SharedSignals | None = None) -> RunContext:
    """Return what the run's job is given."""
    return RunContext(run, run.params, signals or SharedSignals())
