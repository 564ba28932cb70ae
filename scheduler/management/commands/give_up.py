"""`manage.py give_up`: end a suspended run as failed."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from scheduler import operations
from scheduler.management.lookups import find_run
from scheduler.management.started import told_of
from scheduler.management.verbs import Told, Verb, actor


class Command(Verb):
    """Give up a suspended run, for good."""

    help = "End a suspended run as failed, for good, so that its schedule goes on."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what can be said."""
        super().add_arguments(parser)
        parser.add_argument("run", metavar="RUN", help="number of the run")
        parser.add_argument("--reason", default="", help="why, for the history")

    def act(self, options: dict[str, Any], now: datetime) -> Told:
        """Give it up."""
        run = find_run(options["run"])
        operations.give_up(run, now=now, actor=actor(), reason=options["reason"])
        return told_of(run, f"Run #{run.pk} is given up.")
