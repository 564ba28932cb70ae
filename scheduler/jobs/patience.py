"""How long a job may go on that cannot save where it is: interrupted, it would do the same again from the start."""

import time

from scheduler.jobs.context import RunContext

# Of the 8 s that a stopping worker gives; the rest is for saying goodbye.
STOP_SECONDS = 5.0


class Patience:
    """Gives way to a cancel at once, but to a stopping worker only when the job did not end within some seconds."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._stopping_since: float | None = None

    def check(self) -> None:
        """Raise if the job has to give way now.

        Raises:
            Cancelled, LeaseLost, Stopping: as RunContext.checkpoint.
        """
        if self._context.cancelled or self._stop_is_urgent():
            self._context.raise_if_interrupted()

    def _stop_is_urgent(self) -> bool:
        if not self._context.stopping:
            return False
        if self._stopping_since is None:
            self._stopping_since = time.monotonic()
        return time.monotonic() - self._stopping_since >= STOP_SECONDS
