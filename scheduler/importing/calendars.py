"""Excluded dates from elsewhere: an .ics file, or the public holidays of a country, into a calendar.

An import adds dates and takes none away, so that a calendar may have several sources, and the same import twice changes
nothing.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import holidays
import icalendar
import recurring_ical_events
from django.db import transaction

from scheduler.models import Calendar, CalendarDay

LONGEST_FILE = 10_000_000
LONGEST_TITLE = 200
# An event of these happens within a day, or is broken.
WITHIN_A_DAY = {"SECONDLY", "MINUTELY", "HOURLY"}
Years = range


class UnusableSource(Exception):
    """The source has no dates that could be read; the message says why and what would be right."""


@dataclass(frozen=True, slots=True)
class Source:
    """The dates that a source excludes.

    Attributes:
        name: what it is, for people.
        days: the title of each date.
        left_out: the titles of events that are no whole days, or are cancelled.
    """

    name: str
    days: dict[date, str]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What becomes of a source's dates in a calendar.

    Attributes:
        new: to be added, with their titles.
        present: excluded there already.
        others: dates of the calendar, in the same years, that are not in the source; they stay.
    """

    calendar: str
    source: Source
    new: dict[date, str]
    present: dict[date, str]
    others: dict[date, str]


def from_file(path: Path, years: Years) -> Source:
    """Read the whole days of an iCalendar file, recurring ones within the years.

    Raises:
        UnusableSource: there is no such file, or as `from_content`.
    """
    try:
        if path.stat().st_size > LONGEST_FILE:
            raise UnusableSource(f"{path} has more than {LONGEST_FILE:,} bytes. Is it a calendar?")
        content = path.read_bytes()
    except OSError as error:
        raise UnusableSource(f"{path} cannot be read: {error.strerror}.") from error
    return from_content(content, path.name, years)


def from_content(content: bytes, name: str, years: Years) -> Source:
    """Return the whole days of what an iCalendar file holds, recurring ones within the years.

    Args:
        name: what people call the file.

    Raises:
        UnusableSource: it is none of that kind, or an event in it cannot be read.
    """
    calendar = _parse(content, name)
    events = [component for component in calendar.subcomponents if component.name == "VEVENT"]
    for event in events:
        _check(event, name)
    possible = [event for event in events if "RECURRENCE-ID" in event or _may_be_whole_days(event)]
    left_out = [_title(event) for event in events if event not in possible]
    calendar.subcomponents = [component for component in calendar.subcomponents if component not in events] + possible
    days: dict[date, list[str]] = defaultdict(list)
    for occurrence in _occurrences(calendar, name, years):
        dates = [] if _is_cancelled(occurrence) else list(_whole_days(occurrence))
        for day in dates:
            days[day].append(_title(occurrence))
        if not dates:
            left_out.append(_title(occurrence))
    return Source(name, _within(_joined(days), years, name), tuple(dict.fromkeys(left_out)))


def from_country(country: str, subdivision: str | None, years: Years) -> Source:
    """Return the public holidays of a country, or of a part of it, as the package `holidays` has them.

    Args:
        country: its ISO 3166 code, as DE.
        subdivision: the code of the part, as BY.

    Raises:
        UnusableSource: the country or its part is not known, or nothing is known of the years.
    """
    country = country.upper()
    known = holidays.list_supported_countries()
    if country not in known:
        raise UnusableSource(f"There are no holidays of “{country}”. Write the two letters of a country, as in DE.")
    if subdivision is not None and subdivision not in known[country]:
        parts = ", ".join(known[country]) or "none"
        raise UnusableSource(f"{country} has no part “{subdivision}”. There are: {parts}.")
    found = holidays.country_holidays(country, subdiv=subdivision, years=years)
    name = f"holidays of {country}{f', {subdivision}' if subdivision else ''}"
    return Source(name, _within({day: title[:LONGEST_TITLE] for day, title in found.items()}, years, name))


def plan(name: str, source: Source, years: Years) -> Plan:
    """Decide what becomes of the source's dates in the calendar of that name; nothing is written."""
    rows = CalendarDay.objects.filter(calendar__name=name, date__year__gte=years[0], date__year__lte=years[-1])
    there = dict(rows.order_by("date").values_list("date", "title"))
    return Plan(
        calendar=name,
        source=source,
        new={day: title for day, title in source.days.items() if day not in there},
        present={day: title for day, title in there.items() if day in source.days},
        others={day: title for day, title in there.items() if day not in source.days},
    )


def carry_out(planned: Plan) -> None:
    """Add the new dates, to a new calendar if there is none of that name; all of them or none."""
    with transaction.atomic():
        calendar, _ = Calendar.objects.get_or_create(name=planned.calendar)
        days = [CalendarDay(calendar=calendar, date=day, title=title) for day, title in planned.new.items()]
        CalendarDay.objects.bulk_create(days, ignore_conflicts=True)


# --- the steps of reading a file -------------------------------------------------------------------------------


def _parse(content: bytes, name: str) -> icalendar.Calendar:
    try:
        calendar = icalendar.Calendar.from_ical(content)
    except ValueError as error:
        raise UnusableSource(f"{name} is no iCalendar file (.ics): {_first_line(error)}") from error
    if not isinstance(calendar, icalendar.Calendar):
        raise UnusableSource(f"{name} is no iCalendar file (.ics): it does not begin with BEGIN:VCALENDAR.")
    return calendar


def _check(event: Any, name: str) -> None:
    faults = [f"{part}: {fault}" for part, fault in event.errors]
    if "DTSTART" not in event:
        faults.append("it has no DTSTART")
    if faults:
        raise UnusableSource(f"{name}: the event “{_title(event)}” cannot be read ({'; '.join(faults)}).")


def _occurrences(calendar: icalendar.Calendar, name: str, years: Years) -> list[Any]:
    try:
        found = recurring_ical_events.of(calendar, skip_bad_series=False)
        return list(found.between(date(years[0], 1, 1), date(years[-1] + 1, 1, 1)))
    except ValueError as error:
        raise UnusableSource(f"{name}: an event that recurs cannot be read: {_first_line(error)}") from error


def _may_be_whole_days(event: Any) -> bool:
    rules = event.get("RRULE", [])
    rules = rules if isinstance(rules, list) else [rules]
    frequencies = {str(frequency).upper() for rule in rules for frequency in rule.get("FREQ", [])}
    return not frequencies & WITHIN_A_DAY and any(_whole_days(event))


def _whole_days(event: Any) -> Iterator[date]:
    """Yield the dates of an event that takes whole days: as dates, or from a midnight to a midnight."""
    start, end = event.start, event.end
    if isinstance(start, datetime):
        if start.time() != time() or end.time() != time():
            return
        start, end = start.date(), end.date()
    for number in range(min((end - start).days, date.max.toordinal() - start.toordinal())):
        yield start + timedelta(days=number)


def _is_cancelled(event: Any) -> bool:
    return str(event.get("STATUS", "")).upper() == "CANCELLED"


def _title(event: Any) -> str:
    return " ".join(str(event.get("SUMMARY", "")).replace("\x00", "").split()) or "without a title"


def _joined(days: dict[date, list[str]]) -> dict[date, str]:
    return {day: ", ".join(dict.fromkeys(titles))[:LONGEST_TITLE] for day, titles in days.items()}


def _within(days: dict[date, str], years: Years, name: str) -> dict[date, str]:
    """Return the days of the years in order.

    Raises:
        UnusableSource: there are none.
    """
    within = {day: days[day] for day in sorted(days) if day.year in years}
    if not within:
        raise UnusableSource(f"{name}: there is no whole day in {years[0]} to {years[-1]}.")
    return within


def _first_line(error: Exception) -> str:
    return str(error).split("\n", maxsplit=1)[0][:200]
