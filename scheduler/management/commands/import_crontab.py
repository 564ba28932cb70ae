"""`manage.py import_crontab`: run here what cron runs now."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, ProgrammingError

from project.kit.clock import database_now
from scheduler.cron import TriggerError, zone
from scheduler.importing.items import Item, Outcome
from scheduler.importing.schedules import import_lines
from scheduler.importing.sources import Machine, Missing, Source, from_file, on_this_machine, this_machine
from scheduler.management.listing import (
    DRY_RUN,
    counts,
    counts_as_json,
    fail_if_incomplete,
    item_as_json,
    item_lines,
    size,
    summary,
)

Listing = tuple[Source, list[Item]]


class Command(BaseCommand):
    """List every line of the crontabs and what becomes of it; with --apply, make it so."""

    help = (
        "Import crontabs: the named files, or what cron reads on this machine (/etc/crontab, /etc/cron.d, "
        "crontab -l). Without --apply nothing is written."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what can be said."""
        parser.add_argument("files", nargs="*", metavar="FILE", help="crontab files; - is standard input")
        form = parser.add_mutually_exclusive_group()
        form.add_argument("--system", action="store_true", help="a user name stands before each command")
        form.add_argument("--user", action="store_true", help="no user name stands before the commands")
        parser.add_argument("--tz", metavar="ZONE", help="the zone of lines without CRON_TZ (this machine's)")
        parser.add_argument("--apply", action="store_true", help="create the schedules")
        parser.add_argument("--json", action="store_true", help="print what becomes of each line as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """List, and import if asked; fail at the end if something could not be read."""
        try:
            machine = this_machine(zone(options["tz"]).key if options["tz"] is not None else None)
            sources = _sources(options)
            found = [source for source in sources if isinstance(source, Source)]
            listings = list(import_lines(found, machine, now=database_now(), apply=options["apply"]))
        except TriggerError as error:
            raise CommandError(error.message) from error
        except (OperationalError, ProgrammingError) as error:
            raise CommandError(f"The database cannot be used: {str(error).splitlines()[0]}") from error
        missing = [source for source in sources if isinstance(source, Missing)]
        report = _as_json if options["json"] else _as_text
        self.stdout.write("\n".join(report(listings, missing, machine, options["apply"])))
        absent = [source.name for source in missing if source.failed]
        fail_if_incomplete(counts(_all_items(listings)), "line", absent)


def _sources(options: dict[str, Any]) -> list[Source | Missing]:
    if not options["files"]:
        return list(on_this_machine())
    form = True if options["system"] else False if options["user"] else None
    return [_named(file, form) for file in options["files"]]


def _named(file: str, form: bool | None) -> Source | Missing:
    if file == "-":
        return Source("standard input", "-", sys.stdin.buffer.read(), bool(form), None)
    return from_file(Path(file), with_user=form)


def _all_items(listings: list[Listing]) -> list[Item]:
    return [item for _, items in listings for item in items]


# --- for people ------------------------------------------------------------------------------------------------


def _as_text(listings: list[Listing], missing: list[Missing], machine: Machine, apply: bool) -> Iterator[str]:
    yield from (f"{absent.name}: {absent.reason}" for absent in missing)
    for source, items in listings:
        yield f"{source.name}: {size(items, 'line') or 'no line runs a command'}."
        for item in items:
            yield from item_lines(item, f"{source.name}:{item.number}")
        yield from (f"  {note}" for note in dict.fromkeys(note for item in items for note in item.notes))
    yield ""
    yield from _conclusion(listings, machine)


def _conclusion(listings: list[Listing], machine: Machine) -> Iterator[str]:
    counted = counts(_all_items(listings))
    yield f"{summary(counted)}. Times are by {machine.zone} where no CRON_TZ is set."
    if counted[Outcome.NEW]:
        yield DRY_RUN
    if counted[Outcome.IMPORTED]:
        places = " and ".join(_places(listings))
        yield f"If cron runs these lines too, take them out of {places} once you have seen them run here."
    if counted[Outcome.NEW] + counted[Outcome.IMPORTED] + counted[Outcome.PRESENT]:
        yield from _warnings()


def _places(listings: list[Listing]) -> list[str]:
    return [source.name for source, items in listings if any(item.outcome is Outcome.IMPORTED for item in items)]


def _warnings() -> list[str]:
    if settings.TIDELINE_ALLOW_COMMANDS:
        return []
    return ["TIDELINE_ALLOW_COMMANDS is off: every run of these will fail until it is set to 1 for the runner."]


# --- for programs ----------------------------------------------------------------------------------------------


def _as_json(listings: list[Listing], missing: list[Missing], machine: Machine, apply: bool) -> Iterator[str]:
    report = {
        "applied": apply,
        "timezone": machine.zone,
        "counts": counts_as_json(counts(_all_items(listings))),
        "crontabs": [
            {"name": source.name, "lines": [{"line": item.number, **item_as_json(item)} for item in items]}
            for source, items in listings
        ],
        "missing": [asdict(absent) for absent in missing],
        "warnings": _warnings(),
    }
    yield json.dumps(report, indent=1, ensure_ascii=False)
