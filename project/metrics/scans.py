"""The periodic scans, which tell whether beat and the workers are alive."""

from collections.abc import Iterator
from datetime import datetime

from project.health import scan_states
from project.metrics.definitions import Figure, counter, gauge, seconds_since

RECENT = gauge("tideline_scan_recent", "Whether the scan was done lately (1) or is missing (0), as in /readyz.", "scan")
AGE = gauge("tideline_scan_age_seconds", "How long ago the scan was done; absent: it never was.", "scan")
SCANS = counter(
    "tideline_scans_total",
    "How often the scan was done: for beat, or by a worker's watch because beat was silent.",
    "scan",
    "by",
)
METRICS = (RECENT, AGE, SCANS)


def figures(now: datetime) -> Iterator[Figure]:
    """Yield the figures, with two queries."""
    for state in scan_states(now):
        mark = state.mark
        yield RECENT.at(state.recent, state.name)
        if mark is not None:
            yield AGE.at(seconds_since(mark.last_at, now), state.name)
        yield SCANS.at(mark.beat_count if mark else 0, state.name, "beat")
        yield SCANS.at(mark.watch_count if mark else 0, state.name, "watch")
