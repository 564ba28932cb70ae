"""Quiet hours: a local window of a schedule in which nothing is launched. What is due in it is put off to its end."""

import logging
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from project.kit.wall_clocks import quiet_until
from scheduler import cron, transitions, wording
from scheduler.models import Schedule, TaskRun
from scheduler.states import EventTrigger, RunState
from scheduler.transitions import Claim

logger = logging.getLogger(__name__)

# A run that is resumed has a deadline: scheduler.resuming asks for quiet hours before, and lets it wait in its pause.
PUT_OFF = (RunState.PENDING, RunState.FAILED)


def put_off(claims: Iterable[Claim], *, now: datetime) -> set[int]:
    """Put off the claimed runs whose schedule is quiet now to the end of its quiet hours; return their ids.

    It is asked for runs that were just leased, before any hint goes out: none slips by between this look and its
    launch.
    """
    groups: dict[tuple[datetime, str], list[Claim]] = defaultdict(list)
    for claim, schedule in _with_quiet_hours(claims):
        end = end_of_quiet(schedule, now)
        if end is not None:
            groups[end, schedule.timezone].append(claim)
    for (end, zone), quiet in groups.items():
        _put_off(quiet, end, wording.quiet(end, zone), now)
    return {claim.run_id for quiet in groups.values() for claim in quiet}


def _with_quiet_hours(claims: Iterable[Claim]) -> list[tuple[Claim, Schedule]]:
    by_id = {claim.run_id: claim for claim in claims}
    runs = TaskRun.objects.filter(pk__in=by_id, schedule__quiet_from__isnull=False)
    runs = runs.filter(state__in=[*PUT_OFF, RunState.DEFERRED]).select_related("schedule").order_by("pk")
    return [(by_id[run.pk], run.schedule) for run in runs.defer("params", "progress", "result") if run.schedule]


def end_of_quiet(schedule: Schedule, now: datetime) -> datetime | None:
    """Return when the schedule's quiet hours end that hold the instant; None: it is not quiet."""
    if schedule.quiet_from is None or schedule.quiet_until is None:
        return None
    try:
        zone = cron.zone(schedule.timezone)
    except cron.TriggerError:  # it fires no more, and says so; what it has opened goes on
        logger.warning("schedule %r has no quiet hours: its zone %r is not known", schedule.name, schedule.timezone)
        return None
    return quiet_until(schedule.quiet_from, schedule.quiet_until, zone, now)


def _put_off(claims: list[Claim], end: datetime, reason: str, now: datetime) -> None:
    transitions.move(
        claims,
        RunState.DEFERRED,
        now=now,
        trigger=EventTrigger.SCHEDULE,
        reason=reason,
        sources=PUT_OFF,
        columns={"due_at": end},
    )
    # A run that had put itself off until now is DEFERRED already: only its time changes.
    put_off_already = TaskRun.objects.filter(pk__in=[claim.run_id for claim in claims], state=RunState.DEFERRED)
    put_off_already.filter(due_at__lte=now).update(due_at=end, reason=reason, lease_expires_at=None)
