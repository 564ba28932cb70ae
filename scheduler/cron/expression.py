"""A cron expression as days and times of a wall clock that never changes; `triggers.py` puts it into a zone.

cronsim reads the fields and says which days match. Its own walk from instant to instant is not used: at a
change of the clocks it can go back in time, give an instant twice or leave one out.
"""

from bisect import bisect_right
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import lru_cache

from cronsim import CronSim, CronSimError
from django.utils.translation import gettext as _

from scheduler.cron.errors import TriggerError
from scheduler.cron.refusals import refusal

MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
# 29 February on a given weekday comes every 28 years, and every 40 around a century without a leap day.
_YEARS_AHEAD = 40
_DAY = timedelta(days=1)
_ANY_DATE = datetime(2000, 1, 1)  # noqa: DTZ001 -- cronsim wants some date to begin with; only its fields are used


@dataclass(frozen=True, slots=True)
class WallClock:
    """The days and the minutes of the day on which an expression matches.

    Attributes:
        minutes: the matching minutes since midnight, ascending.
        fixed: neither the minute nor the hour field begins with `*` (cron's own test): the times are
            appointments, kept through a change of the clocks; otherwise they follow real time.
        either_day: day-of-month and day-of-week are both restricted, so that one of them is enough.
    """

    fields: CronSim
    minutes: tuple[int, ...]
    fixed: bool
    either_day: bool

    def following(self, wall: datetime) -> datetime | None:
        """Return the first match after this wall-clock time."""
        position = bisect_right(self.minutes, wall.hour * 60 + wall.minute)
        if position < len(self.minutes) and self._has(wall.date()):
            return _at(wall.date(), self.minutes[position])
        day = self._day_after(wall.date())
        return _at(day, self.minutes[0]) if day else None

    def preceding(self, wall: datetime) -> datetime | None:
        """Return the last match at or before this wall-clock time."""
        position = bisect_right(self.minutes, wall.hour * 60 + wall.minute) - 1
        if position >= 0 and self._has(wall.date()):
            return _at(wall.date(), self.minutes[position])
        day = self._day_before(wall.date())
        return _at(day, self.minutes[-1]) if day else None

    def _has(self, day: date) -> bool:
        return day.month in self.fields.months and self.fields.match_day(day)

    def _day_after(self, day: date) -> date | None:
        last_year = day.year + _YEARS_AHEAD
        while day.year <= last_year:
            day += _DAY
            while day.month not in self.fields.months:
                day = (day.replace(day=1) + 31 * _DAY).replace(day=1)
            if self.fields.match_day(day):
                return day
        return None

    def _day_before(self, day: date) -> date | None:
        first_year = max(day.year - _YEARS_AHEAD, date.min.year + 1)
        while day.year >= first_year:
            day -= _DAY
            while day.month not in self.fields.months:
                day = day.replace(day=1) - _DAY
            if self.fields.match_day(day):
                return day
        return None


@lru_cache(maxsize=4096)
def parse(expression: str) -> WallClock:
    """Return the days and times that an expression stands for.

    Raises:
        TriggerError: it is not a cron expression, or names only days that never come.
    """
    text = _without_macro(expression)
    sim = _read(text)
    minute, hour, day, _month, weekday = text.split()
    clock = WallClock(
        fields=sim,
        minutes=tuple(hour * 60 + minute for hour in sorted(sim.hours) for minute in sorted(sim.minutes)),
        fixed=not minute.startswith("*") and not hour.startswith("*"),
        either_day=not day.startswith("*") and not weekday.startswith("*"),
    )
    if clock.following(_ANY_DATE) is None:
        raise _never(expression)
    return clock


def _without_macro(expression: str) -> str:
    """Return the five fields that an expression, or a word such as @daily, stands for."""
    text = " ".join(expression.split())
    if not text.startswith("@"):
        return text
    if text.lower() == "@reboot":
        raise TriggerError("cron", _("@reboot is not a time: a restart starts nothing here. Write a time, or @daily."))
    if text.lower() not in MACROS:
        raise TriggerError(
            "cron",
            _("The cron expression “%(text)s” is not known. There are %(macros)s.")
            % {"text": text, "macros": ", ".join(MACROS)},
        )
    return MACROS[text.lower()]


def _read(text: str) -> CronSim:
    if message := refusal(text):
        raise TriggerError("cron", message)
    try:
        return CronSim(text, _ANY_DATE)
    except CronSimError as error:  # each field is right by itself: 31 April
        raise _never(text) from error


def _never(expression: str) -> TriggerError:
    return TriggerError(
        "cron",
        _(
            "The cron expression “%(expression)s” names a day that never comes. Correct its "
            "day-of-month or month field; L as the day of the month is the last day."
        )
        % {"expression": expression},
    )


def _at(day: date, minute: int) -> datetime:
    return datetime.combine(day, time(minute // 60, minute % 60))
