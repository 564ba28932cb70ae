"""When the periodic scans last ran, as far as an explanation needs to know. The composition keeps those marks, above
this app, and lends them here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

# A scan comes every few seconds: one that did not for this long does not run.
SILENT_AFTER = timedelta(seconds=30)
# What is due for longer than this, while scans run, is kept by something else than the time between two scans.
PATIENCE = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Scan:
    """When a scan last ran (None: never), and what it noted: why it could not do all of its work."""

    last_at: datetime | None
    note: str = ""

    def is_silent(self, now: datetime) -> bool:
        """Tell whether the scan does not run at the moment."""
        return self.last_at is None or now - self.last_at > SILENT_AFTER


@dataclass(frozen=True, slots=True)
class Scans:
    """The scans that fire schedules, launch runs, rescue them, and send out the cards that are due. None: nothing is
    known about it, so nothing is said about it."""

    fire: Scan | None = None
    launch: Scan | None = None
    rescue: Scan | None = None
    dispatch: Scan | None = None


_lenders: list[Callable[[], Scans]] = []


def lend(read: Callable[[], Scans]) -> None:
    """Take the function that reads the marks. The composition calls this once, when it starts."""
    _lenders[:] = [read]


def read_scans() -> Scans:
    """Return what is known of the scans."""
    for read in _lenders:
        return read()
    return Scans()
