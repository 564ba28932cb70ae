"""What the verbs tell about a run that they opened or touched, and how they wait for it."""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from project.kit.clock import database_now
from scheduler.explaining import explain_run
from scheduler.management.following import Glance, follow
from scheduler.management.verbs import Status, Told
from scheduler.models import TaskRun
from scheduler.states import RunState


def add_wait(parser: ArgumentParser) -> None:
    """Declare --wait."""
    help_text = f"wait until it has ended; the status is {Status.NOT_WELL} if it did not end well"
    parser.add_argument("--wait", action="store_true", help=help_text)


def told_of(run: TaskRun, sentence: str) -> Told:
    """Return a sentence about a run, and the run's row for programs."""
    run.refresh_from_db()
    return Told([sentence], run_values(run))


def waited_for(run: TaskRun) -> Told:
    """Wait for the run, show how far it is, and tell how it ended. Ctrl-C ends the waiting, not the run."""
    try:
        follow(lambda: _glance(run))
    except KeyboardInterrupt:
        run.refresh_from_db()
        sentence = f"Run #{run.pk} goes on without you. Look at it: manage.py why '#{run.pk}'"
        return Told([sentence], run_values(run), Status.INTERRUPTED)
    status = Status.DONE if run.state == RunState.DONE else Status.NOT_WELL
    return Told([explain_run(run, now=database_now()).answer], run_values(run), status)


def run_values(run: TaskRun) -> dict[str, Any]:
    """Return a run's row for programs."""
    return {
        "run": run.pk,
        "name": run.name,
        "job": run.job,
        "stat_date": run.stat_date,
        "state": run.state,
        "reason": run.reason,
        "due_at": run.due_at,
        "done": run.progress_done,
        "total": run.progress_total,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "result": run.result,
        "seal": run.seal,
    }


def _glance(run: TaskRun) -> Glance:
    run.refresh_from_db()
    says = _SHORT.get(RunState(run.state)) or (lambda run: explain_run(run, now=database_now()).answer)
    return Glance(says(run), run.progress_done, run.progress_total, run.finished_at is not None)


# Their answers would change with each second's progress, and with each run that waits beside it; everything else is
# said in full, once.
_SHORT: dict[RunState, Callable[[TaskRun], str]] = {
    RunState.RUNNING: lambda run: f"Run #{run.pk} is running, attempt {run.attempt_count}:",
    RunState.PAUSED: lambda run: f"Run #{run.pk} is paused. {run.reason}".rstrip(),
    RunState.RESUMING: lambda run: f"Run #{run.pk} is resuming. {run.reason}".rstrip(),
}
