"""`manage.py resume`: let a run go on."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from scheduler import operations, wording
from scheduler.explaining import explain_run, next_in_words
from scheduler.management.lookups import find_run
from scheduler.management.started import add_wait, told_of, waited_for
from scheduler.management.verbs import Told, Verb, actor
from scheduler.models import TaskRun
from scheduler.operations import NotPossible
from scheduler.states import RunState

WAYS = {
    RunState.SUSPENDED: operations.let_go_on,
    RunState.FAILED: operations.retry_now,
    RunState.DEFERRED: operations.retry_now,
}


class Command(Verb):
    """Let a suspended or paused run go on, or retry one now that waits for its time."""

    help = (
        "Let a run go on now: one that is suspended, that waits for its retry, or that is put off; and one that waits"
        " for a quota, whatever held or delayed it, as soon as its quotas allow it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what can be said."""
        super().add_arguments(parser)
        parser.add_argument("run", metavar="RUN", help="number of the run")
        parser.add_argument("--reason", default="", help="why, for the history")
        add_wait(parser)

    def act(self, options: dict[str, Any], now: datetime) -> Told:
        """Make it due, in the way that fits its state, and wait for it if asked."""
        run = find_run(options["run"])
        sentence = _let_go_on(run, now, options["reason"])
        return waited_for(run) if options["wait"] else told_of(run, sentence)


def _let_go_on(run: TaskRun, now: datetime, reason: str) -> str:
    if run.state in (RunState.PAUSED, RunState.RESUMING):
        return wording.resumed(run.pk, operations.resume(run, now=now, actor=actor(), reason=reason))
    go_on = WAYS.get(RunState(run.state))
    if go_on is None or run.finished_at is not None:
        raise _not_waiting(run, now)
    go_on(run, now=now, actor=actor(), reason=reason)
    return f"Run #{run.pk} is due now."


def _not_waiting(run: TaskRun, now: datetime) -> NotPossible:
    explanation = explain_run(run, now=now)
    return NotPossible(f"There is nothing to resume. {explanation.answer} {next_in_words(explanation, now)}")
