"""When something is due: a cron expression in a zone, an interval, or once. Everything in and out is UTC.

A local time becomes an instant in one of two ways (docs/daylight-saving.md states the rule):

- fixed times are appointments. Each has exactly one instant: its first copy if the clock shows it twice, the
  end of the gap if the clock leaves it out. Ordered by local time the instants never go back, so both
  directions are a walk over local times.
- times with a wildcard follow real time. Between two changes of the clock local and real time run in step, so
  both directions are a walk from one such piece to the next.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _

from project.kit.wall_clocks import first_change, first_instant, furthest, last_change, local, offset
from scheduler.cron.errors import TriggerError
from scheduler.cron.expression import WallClock, parse
from scheduler.cron.zones import zone

# Beyond these years nothing is due: there local times, or a walk ahead, would leave the range of dates.
_FIRST_YEAR, _LAST_YEAR = 2, 9900
LONGEST_INTERVAL = 10 * 366 * 86_400

_RESOLUTION = timedelta(microseconds=1)
_SECOND = timedelta(seconds=1)


class Stepping:
    """What all triggers share: a series is one step after the other, so it cannot disagree with the steps."""

    __slots__ = ()

    def next_after(self, instant: datetime) -> datetime | None:
        """Return the first due time after the instant; None: there is none."""
        raise NotImplementedError

    def instants(self, start: datetime, end: datetime) -> Iterator[datetime]:
        """Yield what is due in start <= t < end, in order and each instant once."""
        due = self.next_after(_utc(start) - _RESOLUTION)
        while due is not None and due < end:
            yield due
            due = self.next_after(due)


@dataclass(frozen=True, slots=True)
class Cron(Stepping):
    """A cron expression by the clocks of an IANA zone; `cron()` makes one and checks it."""

    expression: str
    zone: str

    def next_after(self, instant: datetime) -> datetime | None:
        """Return the first due instant strictly after this one; None if there is none for decades."""
        return _next_after(self.expression, self.zone, _utc(instant))

    def latest_until(self, instant: datetime) -> datetime | None:
        """Return the last due instant at or before this one; None if there is none for decades."""
        return _latest_until(self.expression, self.zone, _utc(instant))


@dataclass(frozen=True, slots=True)
class Interval(Stepping):
    """Every so many seconds of real time, without drift; its anchor is the first. `interval()` makes one."""

    seconds: int
    anchor: datetime

    def next_after(self, instant: datetime) -> datetime | None:
        """Return the first due instant strictly after this one."""
        instant, anchor = _utc(instant), _utc(self.anchor)
        if instant.year > _LAST_YEAR:
            return None
        step = timedelta(seconds=self.seconds)
        return anchor + max(0, (instant - anchor) // step + 1) * step

    def latest_until(self, instant: datetime) -> datetime | None:
        """Return the last due instant at or before this one; None before the anchor."""
        instant, anchor = _utc(instant), _utc(self.anchor)
        step = timedelta(seconds=self.seconds)
        return anchor + (instant - anchor) // step * step if instant >= anchor else None


@dataclass(frozen=True, slots=True)
class Once(Stepping):
    """One instant; `once()` makes one."""

    at: datetime

    def next_after(self, instant: datetime) -> datetime | None:
        """Return the instant if it is still to come."""
        return _utc(self.at) if self.at > instant else None

    def latest_until(self, instant: datetime) -> datetime | None:
        """Return the instant if it has come."""
        return _utc(self.at) if self.at <= instant else None


def cron(expression: str, zone_name: str) -> Cron:
    """Return the checked trigger of a cron expression, its spaces tidied.

    Raises:
        TriggerError: the expression or the zone cannot be used.
    """
    parse(expression)
    zone(zone_name)
    return Cron(" ".join(expression.split()), zone_name)


def interval(seconds: int | None, anchor: datetime | None) -> Interval:
    """Return the checked trigger of an interval.

    Raises:
        TriggerError: there is no length or no anchor, the length is below a second or above ten years, or the
            anchor has no zone.
    """
    if seconds is None or not 1 <= seconds <= LONGEST_INTERVAL:
        if seconds is None:
            raise TriggerError("interval", _("The interval is empty: write 1 second to 10 years, in seconds."))
        text = _("The interval is %(seconds)s seconds: write 1 second to 10 years, in seconds.")
        raise TriggerError("interval", text % {"seconds": f"{seconds:,}"})
    if anchor is None or anchor.tzinfo is None:
        raise TriggerError("interval", _("The interval's first instant is missing, or has no time zone."))
    return Interval(seconds, anchor)


def once(at: datetime | None) -> Once:
    """Return the checked trigger of a single instant.

    Raises:
        TriggerError: it is missing or has no zone.
    """
    if at is None or at.tzinfo is None:
        raise TriggerError("once", _("The instant of a schedule that runs once is missing, or has no time zone."))
    return Once(at)


@lru_cache(maxsize=8192)  # many schedules of one expression come due together
def _next_after(expression: str, zone_name: str, instant: datetime) -> datetime | None:
    clock, place = parse(expression), zone(zone_name)
    if not _FIRST_YEAR <= instant.year <= _LAST_YEAR:
        return None
    return _next_fixed(clock, place, instant) if clock.fixed else _next_real(clock, place, instant)


@lru_cache(maxsize=8192)
def _latest_until(expression: str, zone_name: str, instant: datetime) -> datetime | None:
    clock, place = parse(expression), zone(zone_name)
    if not _FIRST_YEAR <= instant.year <= _LAST_YEAR:
        return None
    return _latest_fixed(clock, place, instant) if clock.fixed else _latest_real(clock, place, instant)


def _next_fixed(clock: WallClock, place: ZoneInfo, instant: datetime) -> datetime | None:
    wall = clock.following(local(instant, place))
    while wall is not None:
        due = first_instant(wall, place)
        if due > instant:  # not so for what the clock shows a second time
            return due
        wall = clock.following(wall)
    return None


def _latest_fixed(clock: WallClock, place: ZoneInfo, instant: datetime) -> datetime | None:
    wall = clock.preceding(furthest(instant, place))
    while wall is not None:
        due = first_instant(wall, place)
        if due <= instant:
            return due
        wall = clock.preceding(wall - _SECOND)
    return None


def _next_real(clock: WallClock, place: ZoneInfo, instant: datetime) -> datetime | None:
    wall = clock.following(local(instant, place))
    while wall is not None:
        due = (wall - offset(place, instant)).replace(tzinfo=UTC)
        change = first_change(place, instant, due)
        if change is None:
            return due
        instant = change
        wall = clock.following(local(change, place) - _SECOND)
    return None


def _latest_real(clock: WallClock, place: ZoneInfo, instant: datetime) -> datetime | None:
    wall = clock.preceding(local(instant, place))
    while wall is not None:
        due = (wall - offset(place, instant)).replace(tzinfo=UTC)
        change = last_change(place, due, instant)
        if change is None:
            return due
        instant = change - _SECOND
        wall = clock.preceding(local(instant, place))
    return None


def _utc(instant: datetime) -> datetime:
    """Return the instant in UTC, as datetimes of one zone are compared by their clock faces, fold ignored."""
    if instant.tzinfo is None:
        raise ValueError("An instant needs a time zone.")
    return instant.astimezone(UTC)
