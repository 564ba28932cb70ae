"""A process in which runs fail without end: `python -m tests.races.failer FILE`, to be killed by a test."""

import sys

import django

TOGETHER = 10


def fail_for_ever(file: str) -> None:
    """Open runs, launch them and execute them as one hint does, as fast as it goes."""
    from project.kit.clock import database_now
    from scheduler.executing import execute_hint
    from scheduler.identity import become_worker
    from scheduler.models import TaskRun
    from scheduler.opening import Opening, open_runs
    from scheduler.states import EventTrigger
    from tests.scheduler.factories import launched

    worker = become_worker()
    while True:
        now = database_now()
        opening = Opening("failing", "test.raises", now.date(), now, now, params={"file": file})
        opened = open_runs([opening] * TOGETHER, now=now, trigger=EventTrigger.MANUAL, actor="a test")
        runs = TaskRun.objects.in_bulk([run.pk for run in opened])
        execute_hint([launched(run, now=now) for run in runs.values()], worker, database_now)


if __name__ == "__main__":
    django.setup()
    fail_for_ever(sys.argv[1])
