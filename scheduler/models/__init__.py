"""The rows that decide. Invariants stand here as constraints, and each index is named after its question."""

from scheduler.models.fires import Fire
from scheduler.models.history import Attempt, RunEvent
from scheduler.models.runs import TaskRun
from scheduler.models.schedules import Schedule

__all__ = ["Attempt", "Fire", "RunEvent", "Schedule", "TaskRun"]
