"""What will keep a schedule's coming times from launching at once: excluded dates, jitter and quiet hours."""

from collections.abc import Sequence
from datetime import datetime

from django.utils.translation import gettext as _

from project.kit.sentences import together
from project.kit.wall_clocks import quiet_until
from scheduler import cron, wording
from scheduler.calendars import ExcludedDays, read_excluded_days
from scheduler.firing import jitter
from scheduler.models import Schedule


def obstacles_of(schedule: Schedule, instants: Sequence[datetime]) -> dict[datetime, str]:
    """Return a sentence for each of the times at which something is in the way, in the order in which it comes."""
    if not instants:
        return {}
    excluded = read_excluded_days([schedule], since=min(instants).date())
    said = {instant: _obstacle(schedule, instant, excluded) for instant in instants}
    return {instant: sentence for instant, sentence in said.items() if sentence}


def _obstacle(schedule: Schedule, instant: datetime, excluded: ExcludedDays) -> str:
    sentence, due_at = _exclusion(schedule, instant, excluded)
    if due_at is None:
        return sentence
    if schedule.pk is not None:  # before it is saved its jitter is not known
        due_at += jitter(schedule, instant)
    return f"{sentence} {_quiet(schedule, due_at)}".strip()


def _exclusion(schedule: Schedule, instant: datetime, excluded: ExcludedDays) -> tuple[str, datetime | None]:
    """Return what is said of the time's date, and when its run is due; None: it is skipped."""
    sentence = excluded.reason(schedule, instant)
    if not sentence:
        return "", instant
    moved = excluded.moved_to(schedule, instant)
    if moved is None:
        return together(sentence, _("It is skipped.")), None
    return f"{sentence} {wording.moved(moved, schedule.timezone)}", moved


def _quiet(schedule: Schedule, due_at: datetime) -> str:
    if schedule.quiet_from is None or schedule.quiet_until is None:
        return ""
    end = quiet_until(schedule.quiet_from, schedule.quiet_until, cron.zone(schedule.timezone), due_at)
    return wording.quiet(end, schedule.timezone) if end else ""
