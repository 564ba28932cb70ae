"""`manage.py import_crontab`: run here what cron runs now."""

import json
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, ProgrammingError

from project.kit.clock import database_now
from scheduler.cron import TriggerError, zone
from scheduler.importing.schedules import Item, Outcome, carry_out, plan
from scheduler.importing.sources import Machine, Missing, Source, from_file, on_this_machine, this_machine

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
            listings = _listings(found, machine, database_now(), apply=options["apply"])
        except TriggerError as error:
            raise CommandError(error.message) from error
        except (OperationalError, ProgrammingError) as error:
            raise CommandError(f"The database cannot be used: {str(error).splitlines()[0]}") from error
        missing = [source for source in sources if isinstance(source, Missing)]
        report = _as_json if options["json"] else _as_text
        self.stdout.write("\n".join(report(listings, missing, machine, options["apply"])))
        _fail_if_incomplete(listings, missing)


def _sources(options: dict[str, Any]) -> list[Source | Missing]:
    if not options["files"]:
        return list(on_this_machine())
    form = True if options["system"] else False if options["user"] else None
    return [_named(file, form) for file in options["files"]]


def _named(file: str, form: bool | None) -> Source | Missing:
    if file == "-":
        return Source("standard input", "-", sys.stdin.buffer.read(), bool(form), None)
    return from_file(Path(file), with_user=form)


def _listings(found: list[Source], machine: Machine, now: datetime, *, apply: bool) -> list[Listing]:
    planned = list(plan(found, machine, now=now))
    return [(source, list(carry_out(source, items, now=now))) for source, items in planned] if apply else planned


def _fail_if_incomplete(listings: list[Listing], missing: list[Missing]) -> None:
    counts = _counts(listings)
    lines = counts[Outcome.UNREADABLE] + counts[Outcome.REFUSED]
    faults = [f"{lines} line{'s' * (lines != 1)}"] if lines else []
    faults += [absent.name for absent in missing if absent.failed]
    if faults:
        raise CommandError(f"{' and '.join(faults)} could not be imported: see above for the reasons.")


def _counts(listings: list[Listing]) -> Counter[Outcome]:
    return Counter(item.outcome for _, items in listings for item in items)


# --- for people ------------------------------------------------------------------------------------------------


def _as_text(listings: list[Listing], missing: list[Missing], machine: Machine, apply: bool) -> Iterator[str]:
    yield from (f"{absent.name}: {absent.reason}" for absent in missing)
    for source, items in listings:
        yield f"{source.name}: {_size(items)}"
        for item in items:
            yield from _item_lines(source, item)
        yield from (f"  {note}" for note in dict.fromkeys(note for item in items for note in item.notes))
    yield ""
    yield from _conclusion(listings, machine, apply)


def _size(items: list[Item]) -> str:
    count = sum(item.line is not None for item in items)
    return "no line runs a command." if not count else f"{count} line{'s' * (count != 1)}."


def _item_lines(source: Source, item: Item) -> Iterator[str]:
    if item.line is not None:
        yield f"  {source.name}:{item.line}: {item.text}"
    name = f" as “{item.name}”" if item.outcome in (Outcome.NEW, Outcome.IMPORTED, Outcome.PRESENT) else ""
    subject = f"“{item.name}” is " if item.outcome is Outcome.GONE else ""
    said = [f"{subject}{item.outcome}{name}", *([_next_fire(item)] if item.next_run_at else [])]
    yield f"    → {', '.join(said)}. {item.reason}".rstrip()


def _next_fire(item: Item) -> str:
    place = ZoneInfo(item.trigger.zone if item.trigger else "UTC")
    assert item.next_run_at is not None  # noqa: S101 -- asked only where there is one
    return f"next {item.next_run_at.astimezone(place):%a %Y-%m-%d %H:%M} {place.key}"


def _conclusion(listings: list[Listing], machine: Machine, apply: bool) -> Iterator[str]:
    counts = _counts(listings)
    summary = ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome if counts[outcome])
    yield f"{summary or 'Nothing to import'}. Times are by {machine.zone} where no CRON_TZ is set."
    if counts[Outcome.NEW]:
        yield "This was a dry run: nothing is written. Add --apply to import."
    if counts[Outcome.IMPORTED]:
        places = " and ".join(_places(listings))
        yield f"If cron runs these lines too, take them out of {places} once you have seen them run here."
    if counts[Outcome.NEW] + counts[Outcome.IMPORTED] + counts[Outcome.PRESENT]:
        yield from _warnings()


def _places(listings: Iterable[Listing]) -> list[str]:
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
        "counts": {outcome.value: count for outcome, count in _counts(listings).items()},
        "crontabs": [
            {"name": source.name, "lines": [_item_as_json(item) for item in items]} for source, items in listings
        ],
        "missing": [asdict(absent) for absent in missing],
        "warnings": _warnings(),
    }
    yield json.dumps(report, indent=1, ensure_ascii=False)


def _item_as_json(item: Item) -> dict[str, Any]:
    return {
        "line": item.line,
        "text": item.text,
        "outcome": item.outcome.value,
        "reason": item.reason,
        "notes": item.notes,
        "schedule": item.name or None,
        "cron": item.trigger.expression if item.trigger else None,
        "timezone": item.trigger.zone if item.trigger else None,
        "params": item.params,
        "next_run_at": item.next_run_at.isoformat() if item.next_run_at else None,
    }
