"""`manage.py cancel`: cancel a run."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from scheduler import operations
from scheduler.management.lookups import find_run
from scheduler.management.started import told_of
from scheduler.management.verbs import Told, Verb, actor


class Command(Verb):
    """Cancel a run that has not ended."""

    help = "Cancel a run that has not ended. A running one ends at its next checkpoint; a shell command is terminated."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what can be said."""
        super().add_arguments(parser)
        parser.add_argument("run", metavar="RUN", help="number of the run")
        parser.add_argument("--reason", default="", help="why, for the history")

    def act(self, options: dict[str, Any], now: datetime) -> Told:
        """Cancel it, or ask it to end."""
        run = find_run(options["run"])
        if operations.cancel(run, now=now, actor=actor(), reason=options["reason"]):
            return told_of(run, f"Run #{run.pk} is cancelled.")
        return told_of(run, f"Run #{run.pk} is asked to cancel; it ends at its next checkpoint.")
