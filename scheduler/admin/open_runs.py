"""What of a schedule has not ended: the run that works, and those that wait behind it, for a time or for somebody."""

from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from project.kit.admin import when
from scheduler.admin import cells
from scheduler.models import Schedule, TaskRun
from scheduler.opening import exclusive_key

OPEN_RUNS_SHOWN = 8
# Where runs may overlap, no index knows those of a schedule that have not ended: they are among its latest.
RUNS_LOOKED_THROUGH = 200


def open_runs(schedule: Schedule, now: datetime) -> dict[str, Any]:
    """Return the oldest of the schedule's runs that have not ended, and whether there are more."""
    runs = list(_unfinished(schedule).defer("params", "progress", "result").order_by("id")[: OPEN_RUNS_SHOWN + 1])
    return {
        "lines": [_line(run, now) for run in runs[:OPEN_RUNS_SHOWN]],
        "more": len(runs) > OPEN_RUNS_SHOWN,
    }


def _unfinished(schedule: Schedule) -> QuerySet[TaskRun]:
    key = exclusive_key(schedule)
    if key is not None:
        return TaskRun.objects.filter(exclusive_key=key, finished_at__isnull=True)
    latest = TaskRun.objects.filter(schedule=schedule).order_by("-id").values_list("pk", flat=True)
    return TaskRun.objects.filter(pk__in=list(latest[:RUNS_LOOKED_THROUGH]), finished_at__isnull=True)


def _line(run: TaskRun, now: datetime) -> dict[str, Any]:
    return {
        "run": cells.run_link(run.pk),
        "day": run.stat_date.isoformat(),
        "badges": cells.run_badges(run, now),
        "bar": cells.progress(run),
        "reason": run.reason,
        "due": when(run.due_at, now) if run.due_at else "",
        "started": when(run.started_at, now) if run.started_at else "",
    }
