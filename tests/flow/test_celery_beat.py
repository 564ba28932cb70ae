"""A team's periodic tasks are taken over from a beat that runs: each that was sent, by whomever, is executed once."""

import json
import sys
from pathlib import Path

import pytest
from django.core.management import call_command
from django_celery_beat.models import IntervalSchedule, PeriodicTask

from project.services import Redis
from scheduler.models import Schedule, TaskRun
from scheduler.states import RunState
from tests.processes import Processes, Started

OLD = f"{sys.executable} -m celery -A tests.flow.old_system"


@pytest.mark.slow
def test_tideline_goes_on_where_a_running_beat_was_told_to_stop(
    processes: Processes, redis_server: Redis, tmp_path: Path
) -> None:
    marks = tmp_path / "marks"
    interval = IntervalSchedule.objects.create(every=1, period="seconds")
    PeriodicTask.objects.create(name="Mark", task="legacy.mark", interval=interval, args=json.dumps([str(marks)]))
    broker = redis_server.url.removesuffix("/0") + "/5"
    old_beat = start_old_system(processes, broker)
    processes.wait_until(lambda: lines(marks) >= 2, what="tasks that the old beat has sent")

    for name in ("worker", "runner"):
        processes.start(name, REDIS_URL=redis_server.url)
    call_command("import_celery_beat", "--apply", "--take-over", "--broker-url", broker, "--queue", "legacy")
    schedule = Schedule.objects.get()
    done = TaskRun.objects.filter(schedule=schedule, state=RunState.DONE)
    processes.wait_until(lambda: done.count() >= 3, 60, "runs of Tideline")

    Schedule.objects.update(enabled=False)
    processes.wait_until(lambda: not TaskRun.objects.filter(finished_at__isnull=True).exists(), what="the last run")
    processes.wait_until(lambda: lines(marks) >= sent_by(old_beat) + done.count(), what="the last task")
    assert lines(marks) == len(set(marks.read_text().split())) == sent_by(old_beat) + done.count()
    assert PeriodicTask.objects.get(name="Mark").enabled is False


def start_old_system(processes: Processes, broker: str) -> Started:
    """Start the old worker and the old beat, and return the beat."""
    processes.run("old-worker", f"exec {OLD} worker --concurrency 1 --loglevel info", OLD_BROKER=broker)
    return processes.run("old-beat", f"exec {OLD} beat --loglevel info --pidfile=", OLD_BROKER=broker)


def lines(file: Path) -> int:
    return len(file.read_text().splitlines()) if file.exists() else 0


def sent_by(beat: Started) -> int:
    return beat.output.count("Sending due task Mark")
