"""Schedules by where they stand, and what became of their fires."""

from collections.abc import Iterator
from datetime import datetime

from django.db.models import Count, Min, Q

from project.metrics.definitions import LATELY, MOST_ROWS, Figure, by_value, gauge, seconds_since
from scheduler.admin import questions
from scheduler.models import Fire, Schedule
from scheduler.states import FireOutcome

SCHEDULES = gauge("tideline_schedules", "Schedules, those that are paused and broken included.")
PAUSED = gauge("tideline_schedules_paused", "Schedules that a person paused.")
BROKEN = gauge("tideline_schedules_broken", "Schedules whose trigger cannot be read any more.")
OVERDUE = gauge("tideline_schedules_overdue", "Schedules that are due for more than a minute, and no scan fired them.")
OLDEST_DUE = gauge(
    "tideline_schedules_oldest_due_seconds", "For how long the schedule that is due for longest has been; 0: none is."
)
FIRES = gauge(
    "tideline_fires_lately",
    f"Fires recorded in the last 5 minutes by what became of them, of the latest {MOST_ROWS:,}.",
    "outcome",
)
METRICS = (SCHEDULES, PAUSED, BROKEN, OVERDUE, OLDEST_DUE, FIRES)


def figures(now: datetime) -> Iterator[Figure]:
    """Yield the figures, with two queries."""
    yield from _schedules(now)
    yield from by_value(FIRES, FireOutcome.values, _fires(now))


def _schedules(now: datetime) -> Iterator[Figure]:
    counted = Schedule.objects.aggregate(
        all=Count("id"),
        paused=Count("id", filter=questions.is_paused(now)),
        broken=Count("id", filter=questions.is_broken(now)),
        overdue=Count("id", filter=questions.is_late(now)),
        oldest=Min("next_run_at", filter=questions.is_due(now)),
    )
    yield SCHEDULES.at(counted["all"])
    yield PAUSED.at(counted["paused"])
    yield BROKEN.at(counted["broken"])
    yield OVERDUE.at(counted["overdue"])
    yield OLDEST_DUE.at(seconds_since(counted["oldest"], now))


def _fires(now: datetime) -> dict[str, int]:
    """Count by outcome. Ids tell when a fire was recorded, its due time does not: it may be made up days later."""
    lately = Q(recorded_at__gte=now - LATELY)
    counted = {outcome: Count("id", filter=lately & Q(outcome=outcome)) for outcome in FireOutcome.values}
    return Fire.objects.order_by("-id")[:MOST_ROWS].aggregate(**counted)
