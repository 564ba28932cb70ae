"""A run and what lies around it, as it was read."""

from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from scheduler import wording
from scheduler.explaining.explanation import RowRef
from scheduler.explaining.quota_facts import NO_QUOTAS, QuotaFacts
from scheduler.explaining.scans import Scan, Scans
from scheduler.models import Approval, Attempt, RunEvent, Schedule, TaskRun

# Nobody counts further: so many are many, and a page that refreshes itself asks every two seconds.
AHEAD_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class RunFacts:
    """A run and what lies around it.

    Attributes:
        blocker: another run of its key, the oldest that has not ended or one at work, for which it waits.
        event: the transition that brought it where it is.
        attempt: its latest one.
        question: the one that it asks now.
        ahead: how many due runs are launched before it, AHEAD_LIMIT at the most.
        quotas: how it stands with its quotas.
    """

    run: TaskRun
    schedule: Schedule | None
    scans: Scans
    blocker: TaskRun | None = None
    event: RunEvent | None = None
    attempt: Attempt | None = None
    question: Approval | None = None
    ahead: int = 0
    quotas: QuotaFacts = NO_QUOTAS

    @property
    def zone(self) -> str:
        """The zone by whose clocks times are said."""
        return self.schedule.timezone if self.schedule else "UTC"

    def at(self, instant: datetime) -> str:
        """Return an instant as the clocks of that zone show it."""
        return wording.local(instant, self.zone)

    @property
    def attempt_row(self) -> RowRef | None:
        """Its latest attempt, as a row that shows something."""
        return RowRef("attempt", self.attempt.pk) if self.attempt else None

    def since(self) -> str:
        """Return since when it is where it is, to be put behind that."""
        return _(" since %(at)s") % {"at": self.at(self.event.at)} if self.event else ""

    def rows(self, *more: RowRef | None) -> tuple[RowRef, ...]:
        """Return the run's row, more of them, and the event that brought it where it is."""
        event = RowRef("event", self.event.pk) if self.event else None
        return tuple(row for row in (RowRef("run", self.run.pk), *more, event) if row is not None)


def silence_of(scan: Scan | None, now: datetime, zone: str) -> str:
    """Return that a scan does not run; nothing where it does, or where that is not known."""
    if scan is None or not scan.is_silent(now):
        return ""
    if scan.last_at is None:
        return _("No scan has ever run")
    return _("No scan has run since %(at)s") % {"at": wording.local(scan.last_at, zone)}


def sentence(reason: str) -> str:
    """Return a stored reason as a sentence behind another one."""
    text = reason.strip()
    return f" {text}{'' if text.endswith(('.', '!', '?', '。', '！', '？')) else '.'}" if text else ""
