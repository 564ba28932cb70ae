"""The Celery application. Its settings, each with its reason, are in celery_settings.py."""

import os
from typing import Any

from celery import Celery, signals

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")

app = Celery("tideline")
app.config_from_object("project.celery_settings")
app.autodiscover_tasks()


@signals.worker_init.connect
def wire_worker(**_: Any) -> None:
    """Make a starting worker one of Tideline's, once its apps are loaded."""
    from project import worker

    worker.wire()
