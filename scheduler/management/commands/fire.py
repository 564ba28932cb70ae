"""`manage.py fire`: run a schedule now."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from scheduler import operations
from scheduler.management.lookups import day, find_schedule
from scheduler.management.started import add_wait, told_of, waited_for
from scheduler.management.verbs import Told, Verb, actor


class Command(Verb):
    """Open a run of a schedule for now, beside its plan."""

    help = "Run a schedule now, beside its plan: its next due time stays where it is."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what can be said."""
        super().add_arguments(parser)
        parser.add_argument("name", metavar="NAME", help="name or id of the schedule")
        parser.add_argument("--day", type=day, metavar="DAY", help="the data day (the one that this moment has)")
        parser.add_argument("--reason", default="", help="why, for the history")
        add_wait(parser)

    def act(self, options: dict[str, Any], now: datetime) -> Told:
        """Open the run, and wait for it if asked."""
        schedule = find_schedule(options["name"])
        run = operations.run_now(schedule, now=now, actor=actor(), stat_date=options["day"], reason=options["reason"])
        if options["wait"]:
            return waited_for(run)
        return told_of(run, f"Run #{run.pk} of “{schedule.name}” for {run.stat_date} is due now.")
