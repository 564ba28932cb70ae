"""What people write on the command line: the name or id of a schedule, the number of a run, an instant, a day."""

import argparse
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

from django.core.management.base import CommandError

from scheduler.models import Backfill, Schedule, TaskRun

YEARS = range(1900, 9001)
LARGEST_ID = 2**63 - 1


def find_schedule(name: str) -> Schedule:
    """Return the schedule of that name, else of that id.

    Raises:
        CommandError: there is none; the message suggests the nearest names.
    """
    found = Schedule.objects.filter(name=name).first()
    if found is None and (number := _number(name)) is not None:
        found = Schedule.objects.filter(pk=number).first()
    if found is None:
        near = Schedule.objects.filter(name__icontains=name).values_list("name", flat=True)[:3]
        hint = f" Did you mean {' or '.join(f'“{other}”' for other in near)}?" if near else ""
        raise CommandError(f"There is no schedule “{name}”.{hint}")
    return found


def find_run(text: str) -> TaskRun:
    """Return the run of that number, written with or without a #.

    Raises:
        CommandError: there is none, or it is no number.
    """
    number = _number(text.removeprefix("#"))
    if number is None:
        raise CommandError(f"“{text}” is not the number of a run, such as 12 or '#12'.")
    run = TaskRun.objects.filter(pk=number).first()
    if run is None:
        raise CommandError(f"There is no run #{number}.")
    return run


def find_schedule_or_run(text: str) -> Schedule | TaskRun:
    """Return the run for `#12`, else the schedule of that name or id.

    Raises:
        CommandError: there is none of both.
    """
    if text.startswith("#") and not Schedule.objects.filter(name=text).exists():
        return find_run(text)
    try:
        return find_schedule(text)
    except CommandError as error:
        if _number(text) is None:
            raise
        raise CommandError(f"{error} If a run is meant, write '#{text}'.") from error


def find_backfill(text: str) -> Backfill:
    """Return the backfill of that id.

    Raises:
        CommandError: there is none.
    """
    number = _number(text)
    backfill = Backfill.objects.filter(pk=number).first() if number is not None else None
    if backfill is None:
        raise CommandError(f"There is no backfill “{text}”.")
    return backfill


def read_instant(option: str, text: str, place: ZoneInfo) -> datetime:
    """Return the instant of an ISO date or time; without an offset it is local to the zone.

    Raises:
        CommandError: it cannot be read, or is far away.
    """
    try:
        instant = datetime.fromisoformat(text)
    except ValueError as error:
        raise CommandError(
            f"{option} “{text}” is not an ISO time, such as 2026-03-08, 2026-03-08T02:30 or 2026-03-08T02:30+00:00."
        ) from error
    if instant.year not in YEARS:
        raise CommandError(f"{option} “{text}” is outside the years {YEARS[0]} to {YEARS[-1]}.")
    return (instant if instant.tzinfo else instant.replace(tzinfo=place)).astimezone(UTC)


def day(text: str) -> date:
    """Return the day of an ISO date, as the type of an argument.

    Raises:
        ArgumentTypeError: it is none.
    """
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"“{text}” is not a day, such as 2026-03-08") from None


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and int(text) <= LARGEST_ID else None
