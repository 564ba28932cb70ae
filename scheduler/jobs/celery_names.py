"""What is in Tideline's own Celery application, for those who may not know Celery."""

from celery import current_app


def registered_tasks() -> frozenset[str]:
    """Return the names of the tasks that a worker started with these settings can execute."""
    current_app.loader.import_default_modules()
    return frozenset(current_app.tasks)


def scans() -> frozenset[str]:
    """Return the names of the tasks that Tideline's own beat asks for."""
    return frozenset(entry["task"] for entry in current_app.conf.beat_schedule.values())
