"""Jobs: named pieces of code that can be run. `@job` makes one; each built-in has a file of its own here."""

from scheduler.jobs.context import RunContext
from scheduler.jobs.interrupts import JobFailed
from scheduler.jobs.registry import job

__all__ = ["JobFailed", "RunContext", "job"]
