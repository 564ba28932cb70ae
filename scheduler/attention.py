"""What a person should know of schedules and runs, told as `alerts.attention` says.

Told once for each event: a run that is suspended tells so when it is, not at each later fire that gives way to it.
"""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

from django.urls import reverse

from alerts.attention import Attention, tell
from alerts.states import Severity
from scheduler import wording
from scheduler.fires import NewFire
from scheduler.remedies import remedy
from scheduler.run_messages import ToldRun, read_runs
from scheduler.states import AttemptOutcome, EventTrigger, FireOutcome, RunState


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
# Of what failed it depends on the cause: scheduler.remedies. Of a broken schedule the reason itself says it.
WHAT_TO_DO = {
    Kind.RUN_SUSPENDED: "Let it go on or give it up, on its page.",
    Kind.RUN_ASKS: "Answer it on its page: approved, it goes on at once; rejected, it is cancelled.",
    Kind.RUN_NOT_RESUMED: "See that its quota has what the run really takes, then resume it on its page.",
    Kind.RUN_FLAPS: "Raise the quota, or let the job ask for all that it needs before it begins.",
    Kind.SCHEDULE_MISSED: "See that beat and a worker are up. If the work is still wanted, run it by hand.",
}


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
    for run in read_runs(run_ids):
        _tell_of_run(kind, run, sentence, at)


def _tell_of_run(kind: Kind, run: ToldRun, sentence: str, at: datetime) -> None:
    by_schedule = kind in BY_SCHEDULE and run.schedule_id is not None
    key = f"schedule:{run.schedule_id}" if by_schedule else f"run:{run.pk}"
    point = f":{run.attempt}" if kind == Kind.RUN_ASKS else ""
    tell(
        Attention(
            kind,
            f"{kind}:{key}{point}",
            str(run),
            _what_happened_and_what_to_do(kind, run, sentence),
            at,
            severity=Severity.CRITICAL if kind in CRITICAL else Severity.WARNING,
            key=key,
            labels=run.labels,
            url=run.url,
            facts=run.facts,
        )
    )


def _what_happened_and_what_to_do(kind: Kind, run: ToldRun, sentence: str) -> str:
    if kind in WHAT_TO_DO:
        return f"{sentence}\n{WHAT_TO_DO[kind]}"
    error, *_ = sentence.splitlines() or ["It failed without a word."]
    outcome = run.outcome or AttemptOutcome.FAILED
    return "\n".join([error, wording.last_attempt(run), remedy(run.job, outcome, error)])


def tell_of_fires(fires: Iterable[NewFire]) -> None:
    """Tell of schedules that are broken, and of those whose due times were missed with none made up."""
    fires = list(fires)
    fired = {fire.schedule.pk for fire in fires if fire.outcome != FireOutcome.SKIPPED_MISFIRE}
    for fire in fires:
        if fire.outcome == FireOutcome.FAILED_TO_START:
            _tell_of_fire(Kind.SCHEDULE_BROKEN, fire)
        elif fire.outcome == FireOutcome.SKIPPED_MISFIRE and fire.schedule.pk not in fired:
            _tell_of_fire(Kind.SCHEDULE_MISSED, fire)


def _tell_of_fire(kind: Kind, fire: NewFire) -> None:
    schedule = fire.schedule
    tell(
        Attention(
            kind,
            f"{kind}:schedule:{schedule.pk}",
            schedule.name,
            f"{fire.reason} {WHAT_TO_DO.get(kind, '')}".rstrip(),
            fire.recorded_at,
            severity=Severity.CRITICAL if kind in CRITICAL else Severity.WARNING,
            key=f"schedule:{schedule.pk}",
            labels={"name": schedule.name, "job": schedule.job},
            url=reverse("admin:scheduler_schedule_change", args=[schedule.pk]),
        )
    )
