"""Excluded dates: which planned instants fall on one, and to which instant they move."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from scheduler import cron, wording
from scheduler.models import CalendarDay, Schedule

# A calendar that excludes every day for longer than this allows no day at all.
HORIZON_DAYS = 3660


@dataclass(frozen=True, slots=True)
class ExcludedDays:
    """The excluded dates of several calendars, read at once.

    Attributes:
        titles: by calendar, the title of each excluded date.
    """

    titles: Mapping[int, Mapping[date, str]]

    def reason(self, schedule: Schedule, planned_at: datetime) -> str:
        """Return in a sentence why the planned instant falls on an excluded date; nothing if it does not."""
        if schedule.calendar is None:
            return ""
        day = cron.stat_date(planned_at, schedule.timezone)
        title = self.title(schedule, day)
        if title is None:
            return ""
        return wording.excluded(day, schedule.calendar.name, title)

    def moved_to(self, schedule: Schedule, planned_at: datetime) -> datetime | None:
        """Return when the run of an excluded date is due instead; None where the schedule skips it."""
        if schedule.on_excluded == Schedule.OnExcluded.SKIP:
            return None
        return self.next_allowed(schedule, planned_at)

    def title(self, schedule: Schedule, day: date) -> str | None:
        """Return what makes the date an excluded one for the schedule, perhaps an empty title; None if it is not."""
        if schedule.calendar_id is None:
            return None
        return self.titles.get(schedule.calendar_id, {}).get(day)

    def next_allowed(self, schedule: Schedule, planned_at: datetime) -> datetime | None:
        """Return the planned instant's local time on the next date that is not excluded; None if there is none."""
        zone = cron.zone(schedule.timezone)
        wall = planned_at.astimezone(zone).replace(tzinfo=None)
        for days in range(1, HORIZON_DAYS):
            moved = wall + timedelta(days=days)
            if self.title(schedule, moved.date()) is None:
                return cron.first_instant(moved, zone)
        return None


def read_excluded_days(schedules: Iterable[Schedule], since: date) -> ExcludedDays:
    """Read the excluded dates of the schedules' calendars from a date on, in one query or none.

    Args:
        since: a date of any zone; one day earlier is read as well.
    """
    calendars = {schedule.calendar_id for schedule in schedules if schedule.calendar_id is not None}
    titles: dict[int, dict[date, str]] = {}
    if calendars:
        days = CalendarDay.objects.filter(calendar__in=calendars, date__gte=since - timedelta(days=1))
        for calendar_id, day, title in days.values_list("calendar_id", "date", "title"):
            titles.setdefault(calendar_id, {})[day] = title
    return ExcludedDays(titles)
