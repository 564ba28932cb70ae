"""What a person should know of schedules and runs, told as `alerts.attention` says.

Told once for each event: a run that is suspended tells so when it is, not at each later fire that gives way to it.
"""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

from django.urls import reverse

from alerts.attention import Attention, tell
from alerts.states import Severity
from scheduler.models import Fire, TaskRun
from scheduler.states import EventTrigger, FireOutcome, RunState


class Kind(StrEnum):
    """What happened."""

    RUN_FAILED = "run_failed"
    RUN_POISON = "run_poison"
    RUN_SUSPENDED = "run_suspended"
    RUN_ASKS = "run_asks"
    RUN_NOT_RESUMED = "run_not_resumed"
    RUN_FLAPS = "run_flaps"
    SCHEDULE_BROKEN = "schedule_broken"
    SCHEDULE_MISSED = "schedule_missed"


# One problem of the schedule, and not one for each of its runs.
BY_SCHEDULE = frozenset({Kind.RUN_FAILED, Kind.RUN_POISON})
CRITICAL = frozenset({Kind.RUN_POISON, Kind.SCHEDULE_BROKEN})


def kind_of_transition(to: RunState, trigger: EventTrigger, *, ended: bool) -> Kind | None:
    """Return what a transition has to tell; None for most."""
    match to:
        case RunState.SUSPENDED:
            return Kind.RUN_SUSPENDED
        case RunState.AWAITING_APPROVAL:
            return Kind.RUN_ASKS
        case RunState.FAILED if ended and trigger == EventTrigger.RESCUE:
            return Kind.RUN_POISON
        case RunState.FAILED if ended and trigger != EventTrigger.MANUAL:
            return Kind.RUN_FAILED
        case _:
            return None


def tell_of_runs(kind: Kind, run_ids: Iterable[int], sentence: str, at: datetime) -> None:
    """Tell that the runs need a look.

    That a schedule's runs fail is one problem, until one of them is done; each approval point is one, and each other
    problem of a run.
    """
    needed = ("name", "stat_date", "attempt_count", "schedule_id", "job")
    for run in TaskRun.objects.filter(pk__in=list(run_ids)).only(*needed):
        _tell_of_run(kind, run, sentence, at)


def _tell_of_run(kind: Kind, run: TaskRun, sentence: str, at: datetime) -> None:
    by_schedule = kind in BY_SCHEDULE and run.schedule_id is not None
    key = f"schedule:{run.schedule_id}" if by_schedule else f"run:{run.pk}"
    point = f":{run.attempt_count}" if kind == Kind.RUN_ASKS else ""
    tell(
        Attention(
            kind,
            f"{kind}:{key}{point}",
            str(run),
            sentence,
            at,
            severity=Severity.CRITICAL if kind in CRITICAL else Severity.WARNING,
            key=key,
            labels={"name": run.name, "job": run.job},
            url=reverse("admin:scheduler_taskrun_change", args=[run.pk]),
        )
    )


def tell_of_fires(fires: Iterable[Fire]) -> None:
    """Tell of schedules that are broken, and of those whose due times were missed with none made up."""
    fires = list(fires)
    fired = {fire.schedule_id for fire in fires if fire.outcome != FireOutcome.SKIPPED_MISFIRE}
    for fire in fires:
        if fire.outcome == FireOutcome.FAILED_TO_START:
            _tell_of_fire(Kind.SCHEDULE_BROKEN, fire)
        elif fire.outcome == FireOutcome.SKIPPED_MISFIRE and fire.schedule_id not in fired:
            _tell_of_fire(Kind.SCHEDULE_MISSED, fire)


def _tell_of_fire(kind: Kind, fire: Fire) -> None:
    schedule = fire.schedule
    tell(
        Attention(
            kind,
            f"{kind}:schedule:{schedule.pk}",
            schedule.name,
            fire.reason,
            fire.recorded_at,
            severity=Severity.CRITICAL if kind in CRITICAL else Severity.WARNING,
            key=f"schedule:{schedule.pk}",
            labels={"name": schedule.name, "job": schedule.job},
            url=reverse("admin:scheduler_schedule_change", args=[schedule.pk]),
        )
    )
