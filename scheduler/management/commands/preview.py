"""`manage.py preview`: when an expression or a schedule is due, without waiting for it."""

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, ProgrammingError

from project.kit.clock import database_now
from scheduler.cron import Trigger, TriggerError, cron, remarks, shifted_by_daylight_saving, zone
from scheduler.management.lookups import YEARS, find_schedule, read_instant
from scheduler.models import Schedule

LIMIT = 10_000
_FAR = datetime(YEARS[-1] + 1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What to look at, and from where."""

    trigger: Trigger
    place: ZoneInfo
    now: datetime
    warnings: list[str]


class Command(BaseCommand):
    """Print the instants at which a cron expression or a schedule is due; see docs/daylight-saving.md."""

    help = "Show when a cron expression (--cron) or a schedule (its name or id) is due."
    # An expression can be tried without settings, without a database and without a secret key.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what can be asked."""
        parser.add_argument("schedule", nargs="?", help="name or id of a schedule")
        parser.add_argument("--cron", metavar="EXPR", help="a cron expression of five fields, or @daily and friends")
        parser.add_argument("--tz", metavar="ZONE", help="IANA time zone of the expression (UTC)")
        parser.add_argument("--from", dest="start", metavar="ISO", help="first instant that counts (now)")
        parser.add_argument("--to", dest="end", metavar="ISO", help="first instant that counts no more")
        parser.add_argument("--count", type=int, default=5, help="how many to show if --to is not given (5)")
        parser.add_argument("--json", action="store_true", help="a JSON list of UTC instants")

    def handle(self, *args: Any, **options: Any) -> None:
        """Answer, or fail with one sentence."""
        try:
            asked = _asked(options)
            instants = _instants(asked, options)
        except TriggerError as error:
            raise CommandError(error.message) from error
        except (OperationalError, ProgrammingError) as error:
            raise CommandError(f"The database cannot be used: {str(error).splitlines()[0]}") from error
        if options["json"]:
            self.stdout.write(json.dumps([instant.isoformat() for instant in instants], indent=1))
        else:
            self.stdout.write("\n".join(_table(asked, instants)))


def _asked(options: dict[str, Any]) -> _Asked:
    if (options["schedule"] is None) == (options["cron"] is None):
        raise CommandError("Name one schedule, or give an expression: preview --cron '30 2 * * *' --tz Europe/Berlin.")
    if options["cron"] is not None:
        name = "UTC" if options["tz"] is None else options["tz"]
        return _Asked(cron(options["cron"], name), zone(name), datetime.now(UTC), [])
    if options["tz"] is not None:
        raise CommandError("--tz goes with --cron; a schedule has its own time zone.")
    schedule = find_schedule(options["schedule"])
    return _Asked(schedule.as_trigger(), zone(schedule.timezone), database_now(), _warnings(schedule))


def _warnings(schedule: Schedule) -> list[str]:
    if not schedule.enabled:
        return [f"“{schedule.name}” is paused: none of this happens until it is enabled."]
    if schedule.broken_reason:
        return [f"“{schedule.name}” is unscheduled: {schedule.broken_reason}"]
    return []


def _instants(asked: _Asked, options: dict[str, Any]) -> list[datetime]:
    start = read_instant("--from", options["start"], asked.place) if options["start"] else asked.now
    if options["end"] is None:
        if not 1 <= options["count"] <= LIMIT:
            raise CommandError(f"--count is {options['count']}: say 1 to {LIMIT:,}.")
        return list(islice(asked.trigger.instants(start, _FAR), options["count"]))
    end = read_instant("--to", options["end"], asked.place)
    if end < start:
        raise CommandError(f"--to ({end.isoformat()}) is before --from ({start.isoformat()}).")
    instants = list(islice(asked.trigger.instants(start, end), LIMIT + 1))
    if len(instants) > LIMIT:
        raise CommandError(f"There are more than {LIMIT:,} instants until {options['end']}: ask for a shorter span.")
    return instants


def _table(asked: _Asked, instants: list[datetime]) -> Iterator[str]:
    yield from asked.warnings
    if not instants:
        yield "Nothing is due."
    else:
        time = "%H:%M:%S" if any(instant.second for instant in instants) else "%H:%M"
        notes = shifted_by_daylight_saving(asked.trigger, instants)
        yield f"{asked.place.key:<28}  UTC"
        for instant in instants:
            local = instant.astimezone(asked.place)
            shown = f"{local:%a %Y-%m-%d {time}} {local.isoformat()[-6:]}"
            yield f"{shown:<28}  {instant:%Y-%m-%d {time}}  {notes.get(instant, '')}".rstrip()
    yield from remarks(asked.trigger)
