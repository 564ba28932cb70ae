"""Quiet hours: a local window of a schedule in which nothing is launched. What is due in it is put off to its end."""

from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from scheduler import cron, transitions, wording
from scheduler.models import Schedule, TaskRun
from scheduler.states import EventTrigger, RunState
from scheduler.transitions import Claim

BATCH = 1000
# What waits for a quota has a deadline of its own, and is launched whatever the hour.
PUT_OFF = (RunState.PENDING, RunState.FAILED)


def quiet_until(quiet_from: time, until: time, zone: ZoneInfo, instant: datetime) -> datetime | None:
    """Return when the window that holds the instant ends; None if it is not quiet.

    A window whose end comes before its start passes midnight. An end that the clocks leave out is the first instant
    after the gap.
    """
    local = instant.astimezone(zone)
    shown = local.time()
    if quiet_from < until:
        inside, days = quiet_from <= shown < until, 0
    else:
        inside, days = shown >= quiet_from or shown < until, int(shown >= quiet_from)
    if not inside:
        return None
    return cron.first_instant(datetime.combine(local.date() + timedelta(days=days), until), zone)


def put_off(*, now: datetime) -> int:
    """Put off what is due in its schedule's quiet hours to their end; return how many runs that were."""
    total = 0
    for schedule in Schedule.objects.filter(quiet_from__isnull=False).order_by("pk"):
        end = _end_of_quiet(schedule, now)
        if end is not None:
            total += _put_off(schedule, end, now)
    return total


def _end_of_quiet(schedule: Schedule, now: datetime) -> datetime | None:
    if schedule.quiet_from is None or schedule.quiet_until is None:
        return None
    return quiet_until(schedule.quiet_from, schedule.quiet_until, cron.zone(schedule.timezone), now)


def _put_off(schedule: Schedule, end: datetime, now: datetime) -> int:
    due = TaskRun.objects.filter(schedule=schedule, due_at__lte=now)
    reason = wording.quiet(end, schedule.timezone)
    waiting = due.filter(state__in=PUT_OFF).order_by("pk").values_list("pk", flat=True)
    moved = transitions.move(
        [Claim(pk) for pk in waiting[:BATCH]],
        RunState.DEFERRED,
        now=now,
        trigger=EventTrigger.SCHEDULE,
        reason=reason,
        sources=PUT_OFF,
        columns={"due_at": end},
    )
    # A run that had put itself off until now is DEFERRED already: only its time changes.
    later = due.filter(state=RunState.DEFERRED).update(due_at=end, reason=reason, lease_expires_at=None)
    return len(moved) + later
