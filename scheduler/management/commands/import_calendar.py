"""`manage.py import_calendar`: dates on which schedules do not fire, from a file or a country's holidays."""

import json
import re
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, ProgrammingError

from project.kit.clock import database_now
from scheduler.importing.calendars import (
    Plan,
    Source,
    UnusableSource,
    Years,
    carry_out,
    from_country,
    from_file,
    plan,
)
from scheduler.management.listing import DRY_RUN

YEARS_AHEAD = 5
LONGEST_NAME = 200


class Command(BaseCommand):
    """List every date and what becomes of it; with --apply, make it so."""

    help = (
        "Add excluded dates to a calendar: the whole days of an .ics file, or the public holidays of a country. "
        "Dates that are there already stay as they are. Without --apply nothing is written."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what can be said."""
        parser.add_argument("name", metavar="NAME", type=_name, help="the calendar; it is made if there is none")
        parser.add_argument("file", nargs="?", metavar="FILE.ics", type=Path, help="an iCalendar file")
        parser.add_argument("--country", metavar="CODE", help="the public holidays of this country, as in DE")
        parser.add_argument("--subdivision", metavar="CODE", help="of this part of the country, as in BY")
        parser.add_argument(
            "--years",
            metavar="FIRST-LAST",
            type=_years,
            help="as in 2026-2030; else this year and the four after",
        )
        parser.add_argument("--apply", action="store_true", help="write the dates")
        parser.add_argument("--json", action="store_true", help="print what becomes of each date as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """List, and import if asked."""
        try:
            years = options["years"] or _coming_years()
            planned = plan(options["name"], _source(options, years), years)
            if options["apply"]:
                carry_out(planned)
        except UnusableSource as error:
            raise CommandError(str(error)) from error
        except (OperationalError, ProgrammingError) as error:
            raise CommandError(f"The database cannot be used: {str(error).splitlines()[0]}") from error
        report = _as_json if options["json"] else _as_text
        self.stdout.write("\n".join(report(planned, options["apply"])))


def _name(text: str) -> str:
    name = text.strip()
    if not 1 <= len(name) <= LONGEST_NAME or "\x00" in name:
        raise ArgumentTypeError(f"a calendar's name has 1 to {LONGEST_NAME} characters")
    return name


def _years(text: str) -> Years:
    match = re.fullmatch(r"(\d{4})(?:-(\d{4}))?", text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1970 <= first <= last <= 2200:
        raise ArgumentTypeError(f"“{text}” is no span of years: write one or two from 1970 to 2200, as in 2026-2030")
    return range(first, last + 1)


def _coming_years() -> Years:
    this_year = database_now().year
    return range(this_year, this_year + YEARS_AHEAD)


def _source(options: dict[str, Any], years: Years) -> Source:
    if (options["file"] is None) == (options["country"] is None):
        raise CommandError("Name either an .ics file or a --country.")
    if options["file"] is not None:
        if options["subdivision"] is not None:
            raise CommandError("--subdivision belongs to a --country.")
        return from_file(options["file"], years)
    return from_country(options["country"], options["subdivision"], years)


# --- for people ------------------------------------------------------------------------------------------------


def _as_text(planned: Plan, applied: bool) -> Iterator[str]:
    yield f"“{planned.calendar}”, from {planned.source.name}:"
    added = "added" if applied else "to add"
    for day, title in planned.source.days.items():
        yield f"  {_day(day, title)} → {added if day in planned.new else 'there already'}"
    for title in planned.source.left_out:
        yield f"  “{title}” is left out: it is cancelled, or takes no whole day."
    for day, title in planned.others.items():
        yield f"  {_day(day, title)} stays: it is in the calendar and not in this source."
    yield ""
    yield f"{len(planned.new)} {added}, {len(planned.present)} there already."
    if planned.new and not applied:
        yield DRY_RUN


def _day(day: date, title: str) -> str:
    return f"{day:%Y-%m-%d %a} {title}".rstrip()


# --- for programs ----------------------------------------------------------------------------------------------


def _as_json(planned: Plan, applied: bool) -> Iterator[str]:
    report = {
        "applied": applied,
        "calendar": planned.calendar,
        "source": planned.source.name,
        "new": _days_as_json(planned.new),
        "present": _days_as_json(planned.present),
        "others": _days_as_json(planned.others),
        "left_out": planned.source.left_out,
    }
    yield json.dumps(report, indent=1, ensure_ascii=False)


def _days_as_json(days: dict[date, str]) -> dict[str, str]:
    return {day.isoformat(): title for day, title in days.items()}
