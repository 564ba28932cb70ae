"""What of a schedule has not ended: the run that works, and those that wait behind it, for a time or for somebody."""

from datetime import datetime
from typing import Any

from django.db.models import Q

from project.kit.admin import when
from scheduler.admin import cells
from scheduler.models import Schedule, TaskRun
from scheduler.opening import exclusive_key

OPEN_RUNS_SHOWN = 8
# Where runs may overlap, no index knows those of a schedule that have not ended: they are among its latest.
RUNS_LOOKED_THROUGH = 200


def open_runs(schedule: Schedule, now: datetime) -> dict[str, Any]:
    """Return the oldest of the schedule's runs that have not ended, whether there are more, and among how many of its
    latest runs they were looked for; 0: among all.
    """
    key = exclusive_key(schedule)
    latest = [] if key is not None else _latest(schedule)
    among = Q(exclusive_key=key) if key is not None else Q(pk__in=latest[:RUNS_LOOKED_THROUGH])
    unfinished = TaskRun.objects.filter(among, finished_at__isnull=True).defer("params", "progress", "result")
    runs = list(unfinished.order_by("id")[: OPEN_RUNS_SHOWN + 1])
    return {
        "lines": [_line(run, now) for run in runs[:OPEN_RUNS_SHOWN]],
        "more": len(runs) > OPEN_RUNS_SHOWN,
        "looked_through": RUNS_LOOKED_THROUGH if len(latest) > RUNS_LOOKED_THROUGH else 0,
    }


def _latest(schedule: Schedule) -> list[int]:
    """Return the keys of its latest runs, and one more where there are more than are looked through."""
    latest = TaskRun.objects.filter(schedule=schedule).order_by("-id").values_list("pk", flat=True)
    return list(latest[: RUNS_LOOKED_THROUGH + 1])


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
