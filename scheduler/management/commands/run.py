"""`manage.py run`: run a job without a schedule."""

import json
from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from scheduler import operations
from scheduler.jobs.registry import get_job
from scheduler.management.lookups import day
from scheduler.management.started import add_wait, told_of, waited_for
from scheduler.management.verbs import Told, Verb, actor


class Command(Verb):
    """Open a run of a job, side by side with whatever runs."""

    help = "Run a job now, without a schedule. A worker executes it; --wait shows how far it is."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what can be said."""
        super().add_arguments(parser)
        parser.add_argument("job", metavar="JOB", help="key of the job")
        parser.add_argument("--params", metavar="JSON", default="{}", help="its parameters, a JSON object ({})")
        parser.add_argument("--day", type=day, metavar="DAY", help="the data day (today)")
        add_wait(parser)

    def act(self, options: dict[str, Any], now: datetime) -> Told:
        """Open the run, and wait for it if asked."""
        params = _params(options["params"])
        get_job(options["job"]).read_params(params)
        zone = settings.TIME_ZONE
        run = operations.run_job(options["job"], params, now=now, actor=actor(), zone=zone, stat_date=options["day"])
        if options["wait"]:
            return waited_for(run)
        return told_of(run, f"Run #{run.pk} of the job “{run.job}” for {run.stat_date} is due now.")


def _params(text: str) -> dict[str, object]:
    try:
        params = json.loads(text)
    except json.JSONDecodeError as error:
        sentence = f"--params is not JSON: {error.msg} at character {error.pos + 1}. Write, for example, "
        raise CommandError(sentence + """--params '{"limit": 10}'.""") from error
    if not isinstance(params, dict):
        raise CommandError("--params is not a JSON object. Write, for example, --params '{\"limit\": 10}'.")
    return params
