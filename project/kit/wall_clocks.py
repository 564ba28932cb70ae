"""What the clocks of a zone show, and when they change. Instants are UTC, wall-clock times are naive.

The standard library answers "which offset holds at this instant?" and keeps the changes themselves to itself,
so they are found here by looking for two neighbouring instants with different offsets.
"""

import difflib
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, time, timedelta
from functools import cache, lru_cache
from itertools import pairwise
from zoneinfo import ZoneInfo, available_timezones

from django.utils.translation import gettext as _

# Links of one machine and placeholders: readable as a zone, but not the name of one.
_NOT_A_ZONE = {"localtime", "posixrules", "Factory"}
# No zone has ever changed its offset twice within six days (tzdata 2026: the closest two are 6.9 days apart).
_STRIDE = timedelta(days=5)
_LONGEST_GAP = timedelta(days=2)  # Samoa once left out a whole day
_SECOND = timedelta(seconds=1)


@cache
def zone_names() -> frozenset[str]:
    """Return the IANA names that this machine knows."""
    return frozenset(available_timezones() - _NOT_A_ZONE)


def suggestion(name: str) -> str:
    """Return what to write instead of an unknown zone: zones of that place, names written nearly so, or examples."""
    wanted = name.strip().casefold().replace(" ", "_")
    # Never "Etc/GMT-8" and the like: their sign is the reverse of what people mean by it.
    names = {zone.casefold(): zone for zone in sorted(zone_names()) if not zone.startswith("Etc/")}
    near = _of_that_place(wanted, names) or difflib.get_close_matches(wanted, names, n=3, cutoff=0.7)
    if near and not re.search(r"[+-]\d", wanted):
        return _("Did you mean %(near)s?") % {"near": " or ".join(names[folded] for folded in near)}
    return _("Write the name of a place, as in Europe/Berlin or Asia/Shanghai, or UTC.")


def local(instant: datetime, place: ZoneInfo) -> datetime:
    """Return what the zone's clocks show at the instant, as a naive datetime (`fold` is kept)."""
    return instant.astimezone(place).replace(tzinfo=None)


def offset(place: ZoneInfo, instant: datetime) -> timedelta:
    """Return how far the zone is ahead of UTC at the instant."""
    return _ahead(instant.astimezone(place))


def furthest(instant: datetime, place: ZoneInfo) -> datetime:
    """Return a wall-clock time that the clocks have not passed: in a repeated hour it is ahead of what they show."""
    shown = instant.astimezone(place)
    return local(instant, place) + _ahead(shown.replace(fold=0)) - _ahead(shown)


def first_instant(wall: datetime, place: ZoneInfo) -> datetime:
    """Return when the zone's clocks first show a time, or the end of the gap that leaves it out.

    It never goes back: of two wall-clock times the later one has the later instant, or the same.
    """
    # For a time in a gap the standard library takes the offset before the change and so lands behind the gap.
    instant = wall.replace(tzinfo=place).astimezone(UTC)
    if local(instant, place) == wall:
        return instant
    return last_change(place, instant - _LONGEST_GAP, instant) or instant


def quiet_until(quiet_from: time, until: time, place: ZoneInfo, instant: datetime) -> datetime | None:
    """Return when the daily window that holds the instant ends; None if it is not quiet.

    A window whose end comes before its start passes midnight. It is quiet whenever the clocks show a time of the
    window: an end that they leave out is the first instant after the gap, one that they show twice may come twice.
    """
    shown_at = instant.astimezone(place)
    shown = shown_at.time()
    if quiet_from < until:
        inside, days = quiet_from <= shown < until, 0
    else:
        inside, days = shown >= quiet_from or shown < until, int(shown >= quiet_from)
    if not inside:
        return None
    end = datetime.combine(shown_at.date() + timedelta(days=days), until)
    first = first_instant(end, place)
    return first if first > instant else end.replace(tzinfo=place, fold=1).astimezone(UTC)


def first_change(place: ZoneInfo, after: datetime, until: datetime) -> datetime | None:
    """Return the first instant in (after, until] from which another offset holds."""
    return next(changes(place, after, until), None)


def last_change(place: ZoneInfo, after: datetime, until: datetime) -> datetime | None:
    """Return the last instant in (after, until] from which another offset holds."""
    for year in range(until.year, after.year - 1, -1):
        for change in reversed(_changes(place, year)):
            if change <= until:
                return change if after < change else None
    return None


def changes(place: ZoneInfo, after: datetime, until: datetime) -> Iterator[datetime]:
    """Yield the instants in (after, until] from which another offset holds, in their order."""
    for year in range(after.year, until.year + 1):
        yield from (change for change in _changes(place, year) if after < change <= until)


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


def _ahead(shown: datetime) -> timedelta:
    ahead = shown.utcoffset()
    assert ahead is not None  # noqa: S101 -- a ZoneInfo always knows
    return ahead


def _of_that_place(wanted: str, names: Iterable[str]) -> list[str]:
    return [folded for folded in names if wanted and (folded == wanted or folded.endswith(f"/{wanted}"))]
