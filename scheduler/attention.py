"""What a person should know of. It is told in the transaction that makes it so: whoever records it, as an alert or
otherwise, is connected to the signal `attention_needed`, and what he writes is committed with it or not at all.

Told once for each event: a run that is suspended tells so when it is, not at each later fire that gives way to it.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.dispatch import Signal

from scheduler.models import Fire, TaskRun
from scheduler.states import EventTrigger, FireOutcome, RunState

logger = logging.getLogger(__name__)

# Sent with `attention`, an Attention. A receiver's error undoes the transaction, so receivers only write rows.
attention_needed = Signal()


class Kind(StrEnum):
    """What happened."""

    RUN_FAILED = "run_failed"
    RUN_POISON = "run_poison"
    RUN_SUSPENDED = "run_suspended"
    RUN_ASKS = "run_asks"
    SCHEDULE_BROKEN = "schedule_broken"
    SCHEDULE_MISSED = "schedule_missed"


@dataclass(frozen=True, slots=True)
class Attention:
    """One thing to know.

    Attributes:
        fingerprint: the same for the same problem, so that it can be one open alert.
        subject: what it is about, in a few words.
        sentence: what happened.
    """

    kind: Kind
    fingerprint: str
    subject: str
    sentence: str
    at: datetime


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
    """Tell that the runs need a look. An approval point is told for itself, each other problem once a run."""
    for run in TaskRun.objects.filter(pk__in=list(run_ids)).only("name", "stat_date", "attempt_count"):
        point = f":{run.attempt_count}" if kind == Kind.RUN_ASKS else ""
        _tell(Attention(kind, f"{kind}:{run.pk}{point}", str(run), sentence, at))


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
    _tell(Attention(kind, f"{kind}:{fire.schedule_id}", fire.schedule.name, fire.reason, fire.recorded_at))


def _tell(attention: Attention) -> None:
    logger.warning("%s: %s: %s", attention.kind, attention.subject, attention.sentence)
    attention_needed.send(sender=Attention, attention=attention)
