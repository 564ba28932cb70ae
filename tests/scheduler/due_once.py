"""Schedules that were due at one instant, and what is said of them."""

from datetime import date, datetime

from scheduler import firing
from scheduler.explaining import Explanation, Scan, Scans, explain
from scheduler.models import Calendar, Fire, Schedule
from tests.scheduler.factories import HOUR, utc

DUE = utc("2026-06-02 02:00")


def fired(schedule: Schedule, now: datetime) -> Schedule:
    """Return the schedule after a scan."""
    firing.fire_all_due(now=now)
    schedule.refresh_from_db()
    return schedule


def why(schedule: Schedule, at: datetime | None = DUE, *, now: datetime = DUE + HOUR) -> Explanation:
    """Ask, while all scans run."""
    scan = Scan(now)
    return explain(schedule, at=at, now=now, scans=Scans(scan, scan, scan))


def latest_fire(schedule: Schedule) -> Fire:
    """Return the fire that was recorded last."""
    return Fire.objects.filter(schedule=schedule).latest("pk")


def excluding(day: date, title: str) -> Calendar:
    """Insert a calendar that excludes one date."""
    calendar = Calendar.objects.create(name="Holidays")
    calendar.days.create(date=day, title=title)
    return calendar
