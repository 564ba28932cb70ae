"""The doors through which Celery comes in: three lines that call a function of the composition."""

from celery import shared_task

from project import pruning
from project.kit.clock import database_now


@shared_task(name="project.prune")
def prune() -> None:
    """Delete a part of the history that is older than it is kept."""
    pruning.prune_some(now=database_now())
