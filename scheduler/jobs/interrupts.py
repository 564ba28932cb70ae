"""What may reach a job while it runs, and how it says that it failed.

The interruptions are BaseExceptions, so that a job's own `except Exception` lets them through.
"""

from datetime import datetime


class RunInterrupted(BaseException):
    """The run ends here for now, and not by a fault of the job."""


class LeaseLost(RunInterrupted):
    """The worker's lease is gone: somebody else may have the run. Nothing that it writes counts any more."""


class Cancelled(RunInterrupted):
    """A person cancelled the run."""


class Stopping(RunInterrupted):
    """The worker is shutting down; the run goes on elsewhere with its progress."""


class TimedOut(RunInterrupted):
    """The attempt took longer than it may."""


class Deferred(RunInterrupted):
    """The job put itself off."""

    def __init__(self, reason: str, *, until: datetime | None = None, seconds: float | None = None) -> None:
        super().__init__(reason)
        self.reason, self.until, self.seconds = reason, until, seconds


class AwaitingApproval(RunInterrupted):
    """The job asks a person a question."""

    def __init__(self, question: str) -> None:
        super().__init__(question)
        self.question = question


class JobFailed(Exception):
    """The job did not do its work. The text is a sentence for people and stands for itself, without a traceback.

    Args:
        traceback: where the work was done elsewhere, the traceback that came from there.
    """

    def __init__(self, sentence: str, *, traceback: str = "") -> None:
        super().__init__(sentence)
        self.traceback = traceback
