"""The period of a quota that holds an instant: a pure function of the rule and the instant, so nothing can drift.

A period goes from one reset to the next. Resets are wall-clock times in the rule's zone, and become instants by the
rule of docs/daylight-saving.md:

- a day, week or month, and a cron expression of fixed times, are appointments: each has exactly one instant, the first
  copy of a time that the clock shows twice, the end of the gap for one that it leaves out.
- an hour, and a cron expression whose minute or hour begins with `*`, follow real time: a reset comes whenever the
  clock shows a time that matches, 25 times on the long day and 23 times on the short one.
"""

from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from functools import lru_cache
from typing import Protocol
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from cronsim.cronsim import Field
from django.db.models import TextChoices
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from project.kit.wall_clocks import (
    first_change,
    first_instant,
    furthest,
    last_change,
    local,
    offset,
    suggestion,
    zone_names,
)

_HOUR, _DAY, _WEEK = timedelta(hours=1), timedelta(days=1), timedelta(weeks=1)
_SECOND = timedelta(seconds=1)
_MONDAY = datetime(2001, 1, 1)  # noqa: DTZ001 -- a wall-clock time; every even series of resets goes through such a day
_CRON_FORM = gettext_noop("minute hour day-of-month month day-of-week, as in “0 6 * * 1-5”")
_CRON_PARTS = (
    (Field.MINUTE, gettext_noop("minute"), gettext_noop("0 to 59")),
    (Field.HOUR, gettext_noop("hour"), gettext_noop("0 to 23")),
    (Field.DAY, gettext_noop("day-of-month"), gettext_noop("1 to 31, L for the last day")),
    (Field.MONTH, gettext_noop("month"), gettext_noop("1 to 12, JAN to DEC")),
    (Field.DOW, gettext_noop("day-of-week"), gettext_noop("0 to 7, SUN to SAT, 5L for the last Friday")),
)


class RuleError(ValueError):
    """A reset rule that cannot be used: `field` names what to correct, `sentence` says it to a person."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field
        self.sentence = sentence


class Preset(TextChoices):
    """How often a periodic quota resets."""

    HOUR = "hour", _("hour")
    DAY = "day", _("day")
    WEEK = "week", _("week")
    MONTH = "month", _("month")
    CRON = "cron", _("cron expression")


@dataclass(frozen=True, slots=True)
class ResetRule:
    """When a periodic quota resets.

    Attributes:
        preset: how often.
        timezone: the IANA zone by whose clocks it resets.
        at: the wall-clock time of the reset; of an hourly one only the minute counts.
        weekday: 0 (Monday) to 6, the day of a weekly reset.
        day: 1 to 31, the day of a monthly reset; a shorter month resets on its last day.
        cron: five fields, if the preset is cron.
    """

    preset: Preset
    timezone: str
    at: time = time(0)
    weekday: int = 0
    day: int = 1
    cron: str = ""


@dataclass(frozen=True, slots=True)
class Period:
    """From one reset (included) to the next (not included), both UTC."""

    start: datetime
    end: datetime

    def __contains__(self, instant: datetime) -> bool:
        return self.start <= instant < self.end


def period_at(rule: ResetRule, instant: datetime) -> Period:
    """Return the period that holds the instant. Periods have no gaps: each begins where the one before it ends.

    Raises:
        RuleError: the rule cannot be used (see `check_rule`).
        ValueError: the instant has no time zone.
    """
    if instant.tzinfo is None:
        raise ValueError("An instant needs a time zone.")
    instant = instant.astimezone(UTC)
    series = _series(rule)
    period = series.last  # read once: another thread may be asking about another instant
    if period is None or instant not in period:
        period = series.last = series.period_at(instant.replace(microsecond=0))
    return period


def check_rule(rule: ResetRule) -> None:
    """Do nothing if the rule can be used.

    Raises:
        RuleError: its zone is unknown, a number is out of range, or its cron expression cannot be read or never fires.
    """
    _check_zone(rule.timezone)
    if rule.at.tzinfo is not None or rule.at.second or rule.at.microsecond:
        raise RuleError(
            "at",
            gettext("The reset time “%(at)s” is not a plain hour and minute. Write one, as in 06:30.")
            % {"at": rule.at},
        )
    if rule.preset == Preset.WEEK and rule.weekday not in range(7):
        raise RuleError(
            "weekday",
            gettext("The weekday %(weekday)s does not exist. Write 0 (Monday) to 6 (Sunday).")
            % {"weekday": rule.weekday},
        )
    if rule.preset == Preset.MONTH and rule.day not in range(1, 32):
        raise RuleError(
            "day",
            gettext("The day %(day)s is in no month. Write 1 to 31; 31 is the last day of every month.")
            % {"day": rule.day},
        )
    if rule.preset == Preset.CRON:
        _check_cron(rule.cron)


class _Face(Protocol):
    """Resets on a wall clock that never changes."""

    def preceding(self, wall: datetime) -> datetime:
        """Return the last reset at or before this time."""

    def following(self, wall: datetime) -> datetime:
        """Return the first reset after this time."""


@dataclass(slots=True)
class _Series:
    """The resets of one rule, and the period that was asked for last: the next question is mostly about the same."""

    face: _Face
    place: ZoneInfo
    real_time: bool
    last: Period | None = None

    def period_at(self, instant: datetime) -> Period:
        latest, following = (_latest_shown, _next_shown) if self.real_time else (_latest_fixed, _next_fixed)
        return Period(latest(self.face, self.place, instant), following(self.face, self.place, instant))


@lru_cache(maxsize=4096)
def _series(rule: ResetRule) -> _Series:
    check_rule(rule)
    return _Series(_face(rule), ZoneInfo(rule.timezone), _follows_real_time(rule))


def _follows_real_time(rule: ResetRule) -> bool:
    if rule.preset == Preset.CRON:
        minute, hour = rule.cron.split()[:2]
        return minute.startswith("*") or hour.startswith("*")  # cron's own test
    return rule.preset == Preset.HOUR


def _face(rule: ResetRule) -> _Face:
    match rule.preset:
        case Preset.HOUR:
            return _Even(_HOUR, _MONDAY.replace(minute=rule.at.minute))
        case Preset.DAY:
            return _Even(_DAY, datetime.combine(_MONDAY, rule.at))
        case Preset.WEEK:
            return _Even(_WEEK, datetime.combine(_MONDAY + rule.weekday * _DAY, rule.at))
        case Preset.MONTH:
            return _Monthly(rule.day, rule.at)
        case Preset.CRON:
            return _Cron(rule.cron)


@dataclass(frozen=True, slots=True)
class _Even:
    step: timedelta
    anchor: datetime

    def preceding(self, wall: datetime) -> datetime:
        return self.anchor + (wall - self.anchor) // self.step * self.step

    def following(self, wall: datetime) -> datetime:
        return self.preceding(wall) + self.step


@dataclass(frozen=True, slots=True)
class _Monthly:
    day: int
    at: time

    def preceding(self, wall: datetime) -> datetime:
        reset = self._in_month_of(wall)
        return reset if reset <= wall else self._in_month_of(wall.replace(day=1) - _DAY)

    def following(self, wall: datetime) -> datetime:
        reset = self._in_month_of(wall)
        return reset if reset > wall else self._in_month_of(wall.replace(day=28) + 4 * _DAY)

    def _in_month_of(self, wall: datetime) -> datetime:
        last = monthrange(wall.year, wall.month)[1]
        return datetime.combine(wall.replace(day=min(self.day, last)), self.at)


@dataclass(frozen=True, slots=True)
class _Cron:
    """Without a zone, cronsim walks a clock that never changes; its walk through changes can repeat or skip a time."""

    expression: str

    def preceding(self, wall: datetime) -> datetime:
        return next(CronSim(self.expression, wall + _SECOND, reverse=True))

    def following(self, wall: datetime) -> datetime:
        return next(CronSim(self.expression, wall))


def _latest_fixed(face: _Face, place: ZoneInfo, instant: datetime) -> datetime:
    wall = face.preceding(furthest(instant, place))
    while (reset := first_instant(wall, place)) > instant:
        wall = face.preceding(wall - _SECOND)
    return reset


def _next_fixed(face: _Face, place: ZoneInfo, instant: datetime) -> datetime:
    wall = face.following(local(instant, place))
    while (reset := first_instant(wall, place)) <= instant:  # the clock shows the time of a past reset again
        wall = face.following(wall)
    return reset


def _latest_shown(face: _Face, place: ZoneInfo, instant: datetime) -> datetime:
    """Return the last reset until an instant, walking back over pieces of time in which the offset stays the same."""
    reset = (face.preceding(local(instant, place)) - offset(place, instant)).replace(tzinfo=UTC)
    while passed := last_change(place, reset, instant):
        instant = passed - _SECOND
        reset = (face.preceding(local(instant, place)) - offset(place, instant)).replace(tzinfo=UTC)
    return reset


def _next_shown(face: _Face, place: ZoneInfo, instant: datetime) -> datetime:
    """Return the first reset after an instant, walking on over pieces of time in which the offset stays the same."""
    reset = (face.following(local(instant, place)) - offset(place, instant)).replace(tzinfo=UTC)
    while coming := first_change(place, instant, reset):
        instant = coming
        before = local(instant, place) - _SECOND  # so that a reset at the change itself counts
        reset = (face.following(before) - offset(place, instant)).replace(tzinfo=UTC)
    return reset


def _check_zone(name: str) -> None:
    if name in zone_names():
        return
    raise RuleError(
        "timezone",
        gettext("The time zone “%(name)s” is not known. %(suggestion)s")
        % {"name": name, "suggestion": suggestion(name)},
    )


def _check_cron(expression: str) -> None:
    fields = expression.split()
    if len(fields) == len(_CRON_PARTS) + 1:
        raise RuleError(
            "cron",
            gettext("“%(expression)s” has six fields, but seconds are not supported. Write %(form)s.")
            % {"expression": expression, "form": gettext(_CRON_FORM)},
        )
    if len(fields) != len(_CRON_PARTS):
        raise RuleError(
            "cron",
            gettext("The cron expression “%(expression)s” is not five fields. Write %(form)s.")
            % {"expression": expression, "form": gettext(_CRON_FORM)},
        )
    for (reader, name, values), field in zip(_CRON_PARTS, fields, strict=True):
        _check_field(reader, name, values, field)
    try:
        next(CronSim(expression, _MONDAY))
    except (CronSimError, StopIteration) as error:  # each field is right by itself: 31 April
        raise _never(expression) from error


def _check_field(reader: Field, name: str, values: str, field: str) -> None:
    try:
        reader.parse(field.upper())
    except (CronSimError, ValueError) as error:  # ValueError: more digits than int() takes
        raise RuleError(
            "cron",
            gettext(
                "The cron expression's %(name)s field “%(field)s” cannot be read: write *, %(values)s, a "
                "list (1,15), a range (1-5) or a step (*/2)."
            )
            % {"name": gettext(name), "field": field, "values": gettext(values)},
        ) from error


def _never(expression: str) -> RuleError:
    return RuleError(
        "cron",
        gettext(
            "The cron expression “%(expression)s” names a day that never comes. Correct its "
            "day-of-month or month field; L as the day of the month is the last day."
        )
        % {"expression": expression},
    )
