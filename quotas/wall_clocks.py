"""What the clocks of a zone show, and when they change. Instants are UTC, wall-clock times are naive.

The standard library answers "which offset holds at this instant?" and keeps the changes themselves to itself,
so they are found here by looking for two neighbouring instants with different offsets.
"""

from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo, available_timezones

# Links of one machine and placeholders: readable as a zone, but not the name of one.
_NOT_A_ZONE = {"localtime", "posixrules", "Factory"}
# No zone has ever changed its offset twice within six days (tzdata 2026: the closest two are 6.9 days apart).
_STRIDE = timedelta(days=5)
_LONGEST_GAP = timedelta(days=2)  # Samoa once left out a whole day
_SECOND = timedelta(seconds=1)


@cache
def zone_names() -> frozenset[str]:
    """Return the names that a rule may have as its zone."""
    return frozenset(available_timezones() - _NOT_A_ZONE)


def local(instant: datetime, place: ZoneInfo) -> datetime:
    """Return what the zone's clocks show at the instant, as a naive datetime."""
    return instant.astimezone(place).replace(tzinfo=None, fold=0)


def furthest(instant: datetime, place: ZoneInfo) -> datetime:
    """Return a wall-clock time that the clocks have not passed: in a repeated hour it is ahead of what they show."""
    shown = instant.astimezone(place)
    return local(instant, place) + _ahead(shown.replace(fold=0)) - _ahead(shown)


def offset(place: ZoneInfo, instant: datetime) -> timedelta:
    """Return how far the zone is ahead of UTC at the instant."""
    return _ahead(instant.astimezone(place))


def first_instant(wall: datetime, place: ZoneInfo) -> datetime:
    """Return when the zone's clocks first show a time, or the end of the gap that leaves it out.

    It never goes back: of two wall-clock times the later one has the later instant, or the same.
    """
    # For a time in a gap the standard library takes the offset before the change and so lands behind the gap.
    instant = wall.replace(tzinfo=place).astimezone(UTC)
    if local(instant, place) == wall:
        return instant
    return changes(place, instant - _LONGEST_GAP, instant)[-1]


def changes(place: ZoneInfo, after: datetime, until: datetime) -> list[datetime]:
    """Return the instants in (after, until], both whole seconds, from which another offset holds; ascending."""
    return [
        _change_between(place, earlier, later)
        for earlier, later in pairwise(_strides(after, until))
        if offset(place, earlier) != offset(place, later)
    ]


def _strides(after: datetime, until: datetime) -> list[datetime]:
    count = (until - after) // _STRIDE
    return [*(after + number * _STRIDE for number in range(count + 1)), until]


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
