"""The rows that decide. Invariants stand here as constraints, and each index is named after its question."""

from scheduler.models.approvals import Approval
from scheduler.models.backfills import Backfill
from scheduler.models.calendars import Calendar, CalendarDay
from scheduler.models.fires import Fire
from scheduler.models.history import Attempt, RunEvent
from scheduler.models.pauses import Pause, QuotaWait
from scheduler.models.runs import TaskRun
from scheduler.models.schedules import Schedule

__all__ = [
    "Approval",
    "Attempt",
    "Backfill",
    "Calendar",
    "CalendarDay",
    "Fire",
    "Pause",
    "QuotaWait",
    "RunEvent",
    "Schedule",
    "TaskRun",
]
