"""`manage.py approve`: answer the question that a run asks."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from scheduler import operations
from scheduler.management.lookups import find_run
from scheduler.management.started import told_of
from scheduler.management.verbs import Told, Verb, actor
from scheduler.models import Approval


class Command(Verb):
    """Say yes or no to what a run asks."""

    help = "Answer the question that a run asks: yes, and it goes on; with --reject no, and it is cancelled."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what can be said."""
        super().add_arguments(parser)
        parser.add_argument("run", metavar="RUN", help="number of the run")
        parser.add_argument("--reject", action="store_true", help="say no")
        parser.add_argument("--why", default="", help="why, for the history")

    def act(self, options: dict[str, Any], now: datetime) -> Told:
        """Answer."""
        run = find_run(options["run"])
        approve = not options["reject"]
        operations.answer(run, approve=approve, now=now, actor=actor(), why=options["why"])
        question = Approval.objects.filter(run=run).latest("segment").question
        fate = "Approved: it is due now." if approve else "Rejected: it is cancelled."
        return told_of(run, f"Run #{run.pk} asked: “{question}” {fate}")
