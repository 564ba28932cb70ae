"""Zones and the moments at which they change their clocks.

The standard library answers "which offset holds at this instant?" and keeps the changes themselves to itself,
so they are found here by looking for two neighbouring instants with different offsets.
"""

import difflib
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from itertools import pairwise
from zoneinfo import ZoneInfo, available_timezones

from scheduler.cron.errors import TriggerError

# Links of one machine and placeholders: readable as a zone, but not the name of one.
_NOT_A_ZONE = {"localtime", "posixrules", "Factory"}
# No zone has ever changed its offset twice within six days (tzdata 2026: the closest two are 6.9 days apart).
_STRIDE = timedelta(days=5)
_SECOND = timedelta(seconds=1)


@cache
def zone(name: str) -> ZoneInfo:
    """Return the IANA zone of that name.

    Raises:
        TriggerError: there is no such zone; the message suggests the nearest names.
    """
    if name not in zone_names():
        raise TriggerError("timezone", f"The time zone “{name}” is not known. {_suggestion(name)}")
    return ZoneInfo(name)


def local(instant: datetime, place: ZoneInfo) -> datetime:
    """Return what the zone's clocks show at the instant, as a naive datetime (`fold` is kept)."""
    return instant.astimezone(place).replace(tzinfo=None)


def offset(place: ZoneInfo, instant: datetime) -> timedelta:
    """Return how far the zone is ahead of UTC at the instant."""
    ahead = instant.astimezone(place).utcoffset()
    assert ahead is not None  # noqa: S101 -- a ZoneInfo always knows
    return ahead


def first_change(place: ZoneInfo, after: datetime, until: datetime) -> datetime | None:
    """Return the first instant in (after, until] from which another offset holds."""
    for year in range(after.year, until.year + 1):
        for change in _changes(place, year):
            if after < change:
                return change if change <= until else None
    return None


def last_change(place: ZoneInfo, after: datetime, until: datetime) -> datetime | None:
    """Return the last instant in (after, until] from which another offset holds."""
    for year in range(until.year, after.year - 1, -1):
        for change in reversed(_changes(place, year)):
            if change <= until:
                return change if after < change else None
    return None


@lru_cache(maxsize=4096)
def _changes(place: ZoneInfo, year: int) -> tuple[datetime, ...]:
    """Return the changes of one UTC year: after its first instant, up to and with the next one's first."""
    return tuple(
        _change_between(place, earlier, later)
        for earlier, later in pairwise(_strides(year))
        if offset(place, earlier) != offset(place, later)
    )


def _strides(year: int) -> Iterator[datetime]:
    instant, end = datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)
    while instant < end:
        yield instant
        instant += _STRIDE
    yield end


def _change_between(place: ZoneInfo, earlier: datetime, later: datetime) -> datetime:
    """Return the first second after `earlier` that has the offset of `later`."""
    old = offset(place, earlier)
    while later - earlier > _SECOND:
        middle = earlier + (later - earlier) // _SECOND // 2 * _SECOND
        earlier, later = (middle, later) if offset(place, middle) == old else (earlier, middle)
    return later


@cache
def zone_names() -> frozenset[str]:
    """Return the names that a schedule may have as its zone."""
    return frozenset(available_timezones() - _NOT_A_ZONE)


def _suggestion(name: str) -> str:
    """Return what to write instead: zones of that place, else names written nearly so, else examples."""
    wanted = name.strip().casefold().replace(" ", "_")
    # Never "Etc/GMT-8" and the like: their sign is the reverse of what people mean by it.
    names = {zone.casefold(): zone for zone in sorted(zone_names()) if not zone.startswith("Etc/")}
    near = _of_that_place(wanted, names) or difflib.get_close_matches(wanted, names, n=3, cutoff=0.7)
    if near and not re.search(r"[+-]\d", wanted):
        return f"Did you mean {' or '.join(names[folded] for folded in near)}?"
    return "Write the name of a place, as in Europe/Berlin or Asia/Shanghai, or UTC."


def _of_that_place(wanted: str, names: Iterable[str]) -> list[str]:
    return [folded for folded in names if wanted and (folded == wanted or folded.endswith(f"/{wanted}"))]
