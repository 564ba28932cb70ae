"""The verbs of the scheduler: what they refuse."""

from project.kit import commands
from project.kit.commands import Status, Told, actor
from scheduler.cron import TriggerError
from scheduler.jobs.registry import BadParams, UnknownJob
from scheduler.operations import NotPossible

__all__ = ["Status", "Told", "Verb", "actor"]


class Verb(commands.Verb):
    """A verb that fails with one sentence where the scheduler refuses."""

    refusals = (NotPossible, TriggerError, UnknownJob, BadParams)
