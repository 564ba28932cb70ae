"""Alerts of the platform itself: beat that is silent, a broker that is away. Each is told once, by whichever worker
notices it first, and resolved by a scan that beat has sent through the broker.
"""

from datetime import datetime

from alerts.recording import Problem, raise_alert, resolve_alerts
from alerts.states import Severity

BEAT_SILENT = "beat_silent"
BROKER_DOWN = "broker_down"
# A restart of beat, as in a deploy, is no problem yet.
SILENCE_TOLD_AFTER_SECONDS = 30.0
# What this scan notes is why it could send no hints.
LAUNCH = "launch due runs"
# Performed by a worker whom beat's message has reached, it shows that both are well.
PROOF = "all clear"


def tell_of_silence(*, now: datetime) -> None:
    """Tell that beat does not ask for its scans any more."""
    sentence = (
        "Beat has not asked for its scans lately, so the workers scan in its place. Schedules fire, a little later than"
        " usual. Look whether the process `beat` is running."
    )
    raise_alert(Problem(BEAT_SILENT, BEAT_SILENT, "Beat is silent", sentence), now=now)


def tell_of_broker(note: str, *, now: datetime) -> None:
    """Tell that no hints can be sent."""
    problem = Problem(BROKER_DOWN, BROKER_DOWN, "The broker cannot be reached", note, severity=Severity.CRITICAL)
    raise_alert(problem, now=now)


def all_clear(scan: str, *, now: datetime) -> None:
    """Resolve both, if the scan that a worker has just performed for beat proves them well."""
    if scan == PROOF:
        resolve_alerts([BEAT_SILENT, BROKER_DOWN], now=now, sentence="Beat and the broker are at work.")
