"""What is read from rows again and again and changes rarely: each process keeps it for some seconds."""

import time
from collections.abc import Callable
from typing import Generic, TypeVar

Kept = TypeVar("Kept")

KEPT_SECONDS = 5.0


class Remembered(Generic[Kept]):
    """Calls a function at most once in some seconds, on a clock that nobody sets, and returns what it returned.

    Args:
        load: reads it; what it raises goes to the caller, and nothing is kept.
        seconds: for how long it is kept.
        monotonic: seconds on a clock that nobody sets.
    """

    def __init__(
        self,
        load: Callable[[], Kept],
        *,
        seconds: float = KEPT_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._load, self._seconds, self._monotonic = load, seconds, monotonic
        self._kept: tuple[Kept, float] | None = None

    def __call__(self) -> Kept:
        """Return it, read anew if it is older than it may be."""
        kept = self._kept  # read once: another thread may forget it meanwhile
        if kept is not None and self._monotonic() - kept[1] < self._seconds:
            return kept[0]
        asked_at = self._monotonic()
        value = self._load()
        self._kept = value, asked_at
        return value

    def forget(self) -> None:
        """Read it anew the next time."""
        self._kept = None
