"""Stored next runs that are no longer right: a zone's rules have changed under them, or a clock that had jumped ahead
has come back. What is due already is left alone; firing decides about it.
"""

from collections.abc import Iterator
from datetime import datetime

from scheduler.cron import TriggerError
from scheduler.models import Schedule

BATCH = 2000


def replan(*, now: datetime) -> int:
    """Set the next run of each schedule to what its trigger says now, and return how many were wrong.

    By compare-and-swap: a schedule that is fired or edited meanwhile is right already.
    """
    return sum(_correct(schedule, now) for schedule in _planned(now))


def _planned(now: datetime) -> Iterator[Schedule]:
    planned = Schedule.objects.filter(enabled=True, next_run_at__gt=now).order_by("pk")
    last = 0
    while batch := list(planned.filter(pk__gt=last)[:BATCH]):
        yield from batch
        last = batch[-1].pk


def _correct(schedule: Schedule, now: datetime) -> int:
    try:
        upcoming = schedule.as_trigger().next_after(now)
    except TriggerError:
        return 0  # when it comes due, firing unschedules it and says so
    if upcoming == schedule.next_run_at:
        return 0
    stale = Schedule.objects.filter(pk=schedule.pk, next_run_at=schedule.next_run_at, version=schedule.version)
    return stale.update(next_run_at=upcoming)
