"""The schedules and runs over HTTP: what the control panel shows of them, and what it lets people do."""

from scheduler.api.approvals import Approvals
from scheduler.api.backfills import Backfills
from scheduler.api.calendars import CalendarDays, Calendars
from scheduler.api.fires import Fires
from scheduler.api.history import Attempts, Events
from scheduler.api.jobs import Jobs
from scheduler.api.runs import Runs
from scheduler.api.schedules import Schedules

RESOURCES = {
    "approvals": Approvals,
    "attempts": Attempts,
    "backfills": Backfills,
    "calendar-days": CalendarDays,
    "calendars": Calendars,
    "events": Events,
    "fires": Fires,
    "jobs": Jobs,
    "runs": Runs,
    "schedules": Schedules,
}
