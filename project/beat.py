"""Every periodic scan in one table. Beat is a metronome: it may stop, run twice or come late, and the next scan
catches up. It knows nothing of the business: schedules live in the rows of `scheduler`.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils.translation import gettext_noop as _


@dataclass(frozen=True, slots=True)
class Scan:
    """One line of beat: which task, how often, and why."""

    task: str
    every: timedelta
    reason: str


SCANS = {
    _("fire due schedules"): Scan("scheduler.fire_due", timedelta(seconds=1), _("schedules fire on the second")),
    _("launch due runs"): Scan("scheduler.launch_due", timedelta(seconds=1), _("runs start on the second")),
    _("resume by quotas"): Scan(
        "scheduler.resume_due", timedelta(seconds=0.5), _("a quota that came back resumes within a second")
    ),
    _("poll quotas"): Scan("scheduler.poll_quotas", timedelta(seconds=5), _("what the events missed is found")),
    _("all clear"): Scan("scheduler.all_clear", timedelta(seconds=10), _("what is well again is told")),
    _("deliver alerts"): Scan(
        "alerts.deliver_due", timedelta(seconds=1), _("whoever is told of a problem is told soon")
    ),
    _("repeat alerts"): Scan("alerts.repeat", timedelta(minutes=1), _("what stays open is told again")),
    _("correct next runs"): Scan(
        "scheduler.replan", timedelta(minutes=10), _("rules of zones change, clocks jump and return")
    ),
    _("seal ended runs"): Scan(
        "scheduler.seal_ended", timedelta(seconds=10), _("whoever looks at a run can verify it")
    ),
    _("dispatch cards"): Scan("polling.dispatch", timedelta(seconds=1), _("each second has its calls")),
    _("send stops and resumes"): Scan(
        "polling.operate", timedelta(seconds=1), _("cards are stopped soon, within limits")
    ),
    _("tidy stops and resumes"): Scan(
        "polling.tidy_operations", timedelta(minutes=1), _("those end of which nobody looks at the card any more")
    ),
    _("lead cut-overs"): Scan("polling.cut_over", timedelta(seconds=1), _("nothing is claimed until one is done")),
    _("pass on requests"): Scan(
        "polling.pass_on_requests", timedelta(seconds=2), _("what events ask for is checked soon")
    ),
    _("end card storms"): Scan("polling.end_storms", timedelta(seconds=30), _("an account that is well again is told")),
    _("reconcile cards"): Scan(
        "polling.reconcile", timedelta(minutes=5), _("what was lost between rows and live order is found")
    ),
    _("prune history"): Scan(
        "project.prune", timedelta(minutes=10), _("a little at a time, tables do not grow and can be vacuumed")
    ),
    _("rescue lost runs"): Scan("scheduler.rescue_lost", timedelta(seconds=5), _("an expired lease frees its run")),
}

beat_schedule: dict[str, dict[str, Any]] = {
    name: {"task": scan.task, "schedule": scan.every} for name, scan in SCANS.items()
}
