"""Every periodic scan in one table. Beat is a metronome: it may stop, run twice or come late, and the next scan
catches up. It knows nothing of the business: schedules live in the rows of `scheduler`.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any


@dataclass(frozen=True, slots=True)
class Scan:
    """One line of beat: which task, how often, and why."""

    task: str
    every: timedelta
    reason: str


SCANS = {
    "fire due schedules": Scan("scheduler.fire_due", timedelta(seconds=1), "schedules fire on the second"),
    "launch due runs": Scan("scheduler.launch_due", timedelta(seconds=1), "runs start on the second"),
    "resume by quotas": Scan(
        "scheduler.resume_due", timedelta(seconds=0.5), "a quota that came back resumes within a second"
    ),
    "poll quotas": Scan("scheduler.poll_quotas", timedelta(seconds=5), "what the events missed is found"),
    "all clear": Scan("scheduler.all_clear", timedelta(seconds=10), "what is well again is told"),
    "deliver alerts": Scan("alerts.deliver_due", timedelta(seconds=1), "whoever is told of a problem is told soon"),
    "repeat alerts": Scan("alerts.repeat", timedelta(minutes=1), "what stays open is told again"),
    "correct next runs": Scan(
        "scheduler.replan", timedelta(minutes=10), "rules of zones change, clocks jump and return"
    ),
    "seal ended runs": Scan("scheduler.seal_ended", timedelta(seconds=10), "whoever looks at a run can verify it"),
    "dispatch cards": Scan("polling.dispatch", timedelta(seconds=1), "each second has its calls"),
    "send stops and resumes": Scan("polling.operate", timedelta(seconds=1), "cards are stopped soon, within limits"),
    "tidy stops and resumes": Scan(
        "polling.tidy_operations", timedelta(minutes=1), "those end of which nobody looks at the card any more"
    ),
    "lead cut-overs": Scan("polling.cut_over", timedelta(seconds=1), "nothing is claimed until one is done"),
    "pass on requests": Scan("polling.pass_on_requests", timedelta(seconds=2), "what events ask for is checked soon"),
    "end card storms": Scan("polling.end_storms", timedelta(seconds=30), "an account that is well again is told"),
    "reconcile cards": Scan(
        "polling.reconcile", timedelta(minutes=5), "what was lost between rows and live order is found"
    ),
    "prune history": Scan(
        "project.prune", timedelta(minutes=10), "a little at a time, tables do not grow and can be vacuumed"
    ),
    "rescue lost runs": Scan("scheduler.rescue_lost", timedelta(seconds=5), "an expired lease frees its run"),
}

beat_schedule: dict[str, dict[str, Any]] = {
    name: {"task": scan.task, "schedule": scan.every} for name, scan in SCANS.items()
}
