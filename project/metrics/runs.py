"""Runs by state, how late they begin, and how they end."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db.models import Aggregate, Count, DurationField, F, Max, Min, Q

from project.metrics.definitions import LATELY, MOST_ROWS, Figure, by_value, gauge, seconds_since
from scheduler.admin import questions
from scheduler.models import Attempt, RunEvent, TaskRun
from scheduler.models.runs import UNFINISHED
from scheduler.states import EventTrigger, RunState

ENDED = (RunState.DONE, RunState.FAILED, RunState.CANCELLED)

RUNS = gauge("tideline_runs", "Runs that have not ended, by state; failed: it will be tried again.", "state")
DUE = gauge("tideline_runs_due", "Runs whose time has come and that no worker has begun, whatever keeps them.")
OVERDUE = gauge("tideline_runs_overdue", "Those of them that are due for more than a minute.")
OLDEST_DUE = gauge(
    "tideline_runs_oldest_due_seconds", "For how long the run that is due for longest has been; 0: none is."
)
STUCK = gauge("tideline_runs_stuck", "Running runs whose lease has expired; the next rescue frees them.")
BUSY = gauge("tideline_runners_busy", "Workers that hold runs.")
RUNS_ENDED = gauge(
    "tideline_runs_ended_lately",
    f"Runs that ended in the last 5 minutes by how, of the latest {MOST_ROWS:,}.",
    "state",
)
BEGUN = gauge("tideline_attempts_begun_lately", f"Executions begun in the last 5 minutes, of the latest {MOST_ROWS:,}.")
LATENESS = gauge(
    "tideline_run_lateness_seconds",
    "How long after they were due those executions were begun: p50, p95 and max; absent if there is none.",
    "statistic",
)
SEEN = gauge("tideline_runners_seen_lately", "Workers that began those executions; one that is idle is not seen.")
LEASES_LOST = gauge(
    "tideline_run_leases_lost_lately",
    f"Runs freed in the last 5 minutes because their worker was lost, by the latest {MOST_ROWS:,} events.",
)
METRICS = (RUNS, DUE, OVERDUE, OLDEST_DUE, STUCK, BUSY, RUNS_ENDED, BEGUN, LATENESS, SEEN, LEASES_LOST)


class Percentile(Aggregate):
    """The least of the values that so many percent do not exceed, or what lies between two of them."""

    function = "PERCENTILE_CONT"
    template = "%(function)s(%(share)s) WITHIN GROUP (ORDER BY %(expressions)s)"

    def __init__(self, expression: F, percent: int, filter: Q) -> None:
        super().__init__(expression, filter=filter, output_field=DurationField(), share=percent / 100)


def figures(now: datetime) -> Iterator[Figure]:
    """Yield the figures, with four queries."""
    yield from _unfinished(now)
    yield from by_value(RUNS_ENDED, ENDED, _ended(now))
    yield from _begun(now)
    yield LEASES_LOST.at(_leases_lost(now))


def _unfinished(now: datetime) -> Iterator[Figure]:
    """Yield what the indexes tell that hold unfinished runs alone."""
    is_due = Q(due_at__lte=now)
    rows = TaskRun.objects.filter(questions.is_unfinished(now)).order_by().values("state")
    by_state = rows.annotate(
        runs=Count("id"),
        due=Count("id", filter=is_due),
        overdue=Count("id", filter=questions.is_overdue(now)),
        oldest=Min("due_at", filter=is_due),
        stuck=Count("id", filter=questions.is_stuck(now)),
        busy=Count("lease_owner", filter=questions.is_running(now), distinct=True),
    )
    counted = list(by_state)
    yield from by_value(RUNS, UNFINISHED, {each["state"]: each["runs"] for each in counted})
    yield DUE.at(sum(each["due"] for each in counted))
    yield OVERDUE.at(sum(each["overdue"] for each in counted))
    yield STUCK.at(sum(each["stuck"] for each in counted))
    yield BUSY.at(sum(each["busy"] for each in counted))
    waiting = [each["oldest"] for each in counted if each["oldest"] is not None]
    yield OLDEST_DUE.at(seconds_since(min(waiting, default=None), now))


def _ended(now: datetime) -> dict[str, int]:
    latest = TaskRun.objects.filter(finished_at__gte=now - LATELY).order_by("-finished_at")[:MOST_ROWS]
    return latest.aggregate(**{state.value: Count("id", filter=Q(state=state)) for state in ENDED})


def _begun(now: datetime) -> Iterator[Figure]:
    lately, late = Q(started_at__gte=now - LATELY), F("started_at") - F("due_at")
    found = (
        Attempt.objects.order_by("-id")
        .annotate(late=late)[:MOST_ROWS]
        .aggregate(
            begun=Count("id", filter=lately),
            seen=Count("worker", filter=lately, distinct=True),
            p50=Percentile(F("late"), 50, lately),
            p95=Percentile(F("late"), 95, lately),
            max=Max("late", filter=lately),
        )
    )
    yield BEGUN.at(found["begun"])
    yield SEEN.at(found["seen"])
    for statistic in ("p50", "p95", "max"):
        if found[statistic] is not None:
            yield LATENESS.at(found[statistic] / timedelta(seconds=1), statistic)


def _leases_lost(now: datetime) -> int:
    lost = Q(at__gte=now - LATELY, trigger=EventTrigger.RESCUE)
    counted = RunEvent.objects.order_by("-id")[:MOST_ROWS].aggregate(lost=Count("id", filter=lost))
    return int(counted["lost"])
