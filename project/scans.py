"""Marks of the periodic scans, and the watch that scans when beat is silent."""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from django.db import DatabaseError, connection

from project import watching
from project.beat import Scan
from project.kit.clock import database_now
from project.models import ScanMark
from scheduler.explaining import Scan as LastScan
from scheduler.explaining import Scans

logger = logging.getLogger(__name__)

# Beat is silent when a scan was not asked for during this many of its intervals, and at least so many seconds.
SILENT_AFTER_INTERVALS = 5
SILENT_AFTER_SECONDS = 5.0


def mark(name: str, *, by: str, note: str = "", from_beat: bool = True) -> None:
    """Record that the scan ran just now, by the database's clock."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO project_scanmark AS mark (name, beat_count, watch_count, last_at, last_by, note)"
            " VALUES (%(name)s, %(beat)s, %(watch)s, clock_timestamp(), %(by)s, %(note)s)"
            " ON CONFLICT (name) DO UPDATE SET beat_count = mark.beat_count + %(beat)s,"
            " watch_count = mark.watch_count + %(watch)s, last_at = clock_timestamp(), last_by = %(by)s,"
            " note = %(note)s",
            {"name": name, "beat": int(from_beat), "watch": int(not from_beat), "by": by[:200], "note": note},
        )


def last_scans() -> Scans:
    """Return when the scans that explanations speak of last ran."""
    marks = ScanMark.objects.in_bulk()
    fire, launch, rescue, dispatch = (
        LastScan(last.last_at, last.note) if (last := marks.get(name)) else LastScan(None)
        for name in ("fire due schedules", "launch due runs", "rescue lost runs", "dispatch cards")
    )
    return Scans(fire, launch, rescue, dispatch)


@dataclass(slots=True)
class _Watched:
    beat_count: int
    changed_at: float
    scanned_at: float


class ScanWatch:
    """Watches whether beat asks for its scans, and scans in its place while it does not.

    The time since a scan is measured on this process's monotonic clock against a count that only grows, so that a
    stepped wall clock, here or at beat, deceives nobody. Several processes may watch: the scans are idempotent.

    Args:
        scan: performs the named scan and returns its note.
        monotonic: seconds.
    """

    def __init__(
        self,
        scans: Mapping[str, Scan],
        scan: Callable[[str], str],
        by: str,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._scans, self._scan, self._by, self._monotonic = scans, scan, by, monotonic
        self._watched: dict[str, _Watched] = {}
        self._silent = False
        self._silent_since = float("-inf")
        self._told = False  # of this silence

    def tick(self) -> None:
        """Look once, and scan what is overdue. A database that is away is borne."""
        try:
            counts = dict(ScanMark.objects.values_list("name", "beat_count"))
            silent = [name for name, scan in self._scans.items() if self._is_silent(name, scan, counts)]
            self._say(silent=bool(silent))
            for name in filter(self._is_due, silent):
                note = self._scan(name)
                mark(name, by=self._by, note=note, from_beat=False)
                self._tell(name, note)
        except DatabaseError as error:
            connection.close()
            logger.warning("scans cannot be watched: %s", type(error).__name__)

    def _is_silent(self, name: str, scan: Scan, counts: Mapping[str, int]) -> bool:
        now, count = self._monotonic(), counts.get(name, 0)
        watched = self._watched.setdefault(name, _Watched(count, now, float("-inf")))
        if watched.beat_count != count:
            watched.beat_count, watched.changed_at = count, now
        patience = max(SILENT_AFTER_SECONDS, SILENT_AFTER_INTERVALS * scan.every.total_seconds())
        return now - watched.changed_at >= patience

    def _is_due(self, name: str) -> bool:
        """Whether this watch has not scanned for an interval; notes that it does now."""
        watched, now = self._watched[name], self._monotonic()
        if now - watched.scanned_at < self._scans[name].every.total_seconds():
            return False
        watched.scanned_at = now
        return True

    def _say(self, *, silent: bool) -> None:
        if silent != self._silent:
            logger.warning("beat is silent: scanning in its place" if silent else "beat is back")
            self._silent_since, self._told = self._monotonic(), False
        self._silent = silent

    def _tell(self, name: str, note: str) -> None:
        """Tell once a silence what is wrong: the broker that is away, or else beat that has been silent for long."""
        silent_for = self._monotonic() - self._silent_since
        if name != watching.LAUNCH or self._told:
            return
        if note:
            watching.tell_of_broker(note, now=database_now())
            self._told = True
        elif silent_for >= watching.SILENCE_TOLD_AFTER_SECONDS:
            watching.tell_of_silence(now=database_now())
            self._told = True
