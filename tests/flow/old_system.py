"""A system as a team has it before it comes to Tideline: a Celery application and its django-celery-beat."""

import os
from typing import Any

from celery import Celery

app = Celery("legacy", broker=os.environ.get("OLD_BROKER"))
app.conf.update(
    task_default_queue="legacy",
    task_ignore_result=True,
    beat_scheduler="django_celery_beat.schedulers:DatabaseScheduler",
    beat_max_loop_interval=1,
)


@app.task(name="legacy.mark", bind=True)
def mark(self: Any, file: str) -> None:
    """Leave a mark with the task's id."""
    with open(file, "a") as marks:
        marks.write(f"{self.request.id}\n")
