"""Asks why a run does not run."""

from typing import Any

from scheduler.explaining import Explanation, Scan, Scans, explain_run
from scheduler.models import TaskRun
from tests.scheduler.factories import NOW


def why(run: TaskRun, *, now: Any = NOW) -> Explanation:
    """Ask about the run as the database has it."""
    return explain_run(TaskRun.objects.get(pk=run.pk), now=now, scans=Scans(Scan(now), Scan(now), Scan(now)))
