"""The Celery application. Its settings, each with its reason, are in celery_settings.py."""

import os
import signal
from typing import Any

from celery import Celery, Task, signals
from structlog.contextvars import bind_contextvars, reset_contextvars

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")

app = Celery("tideline", amqp="project.broker:DiscreetAMQP")
app.config_from_object("project.celery_settings")
app.autodiscover_tasks()


@signals.beat_init.connect
@signals.worker_init.connect
def refuse_errors(**_: Any) -> None:
    """Start with no settings that a system check calls an error. Celery performs the checks, and starts all the same.

    Raises:
        SystemExit: its text is the errors with their remedies.
    """
    from django.core.management.base import BaseCommand, SystemCheckError

    try:
        BaseCommand().check()
    except SystemCheckError as error:
        raise SystemExit(str(error)) from None


@signals.beat_init.connect
@signals.worker_init.connect
def begin_to_tell(**_: Any) -> None:
    """Tell Sentry and OpenTelemetry of this process and its children, where the settings name them.

    Raises:
        SystemExit: a package that this needs is missing.
    """
    from django.core.exceptions import ImproperlyConfigured

    from project import observing

    try:
        observing.begin()
    except ImproperlyConfigured as error:
        raise SystemExit(str(error)) from None


@signals.beat_init.connect
def stop_beat_safely(sender: Any, **_: Any) -> None:
    """Let a signal only say that beat is to end.

    Celery's own handler (5.7) asks the database within the signal. Where beat was just asking it, the connection's lock
    is held by what the signal has interrupted, and beat waits for itself until it is killed.
    """

    def stop(*_: Any) -> None:
        sender.stop()
        raise SystemExit

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)


@signals.worker_init.connect
def wire_worker(sender: Any, **_: Any) -> None:
    """Make a starting worker one of Tideline's, once its apps are loaded."""
    from project import pollers, tallying, worker

    tallying.wire(sender.hostname)
    queues = list(sender.app.amqp.queues.consume_from)
    if pollers.reads(queues):
        pollers.wire(queues)
    else:
        worker.wire()


@signals.task_prerun.connect
def name_task(task_id: str, task: Task, **_: Any) -> None:
    """Let what is logged during a task name it. A task within a task, as that of the job `celery`, names itself."""
    task.request.named_in_log = bind_contextvars(task=task.name, task_id=task_id)


@signals.task_postrun.connect
def name_task_no_more(task: Task, **_: Any) -> None:
    """Leave no name behind for what comes next."""
    reset_contextvars(**task.request.named_in_log)
