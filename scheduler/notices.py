"""What happens to runs and is no problem: told as `alerts.noticing` says, to those who asked for it, in the transaction
that makes it so. Where nobody asked, it costs no statement.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

from django.urls import reverse

from alerts import noticing
from alerts.noticing import Notice
from project.kit.records import recorded
from project.kit.spans import span
from scheduler import wording
from scheduler.fires import NewFire
from scheduler.run_messages import ToldRun, read_runs
from scheduler.states import FireKind, FireOutcome, RunState


class Kind(StrEnum):
    """What happened."""

    RUN_STARTED = "run_started"
    RUN_SUCCEEDED = "run_succeeded"
    RUN_CANCELLED = "run_cancelled"
    RUN_SKIPPED = "run_skipped"
    RUN_MADE_UP = "run_made_up"


ON_ENTERING: Mapping[RunState, Kind] = MappingProxyType(
    {
        RunState.RUNNING: Kind.RUN_STARTED,
        RunState.DONE: Kind.RUN_SUCCEEDED,
        RunState.CANCELLED: Kind.RUN_CANCELLED,
    }
)
# A due time that gave way. What nobody scanned in time is an alert instead, and a paused schedule is no news.
GAVE_WAY = frozenset({FireOutcome.SKIPPED_OVERLAP, FireOutcome.SKIPPED_EXCLUDED, FireOutcome.ALREADY_DONE})


def wanted_on_entering(state: RunState) -> Kind | None:
    """Return the notice of runs that come into the state, if there is one and some channel wants it."""
    kind = ON_ENTERING.get(state)
    return kind if kind is not None and noticing.is_wanted(kind) else None


def tell_of_runs(kind: Kind, run_ids: Sequence[int], reason: str, at: datetime, *, actor: str = "") -> None:
    """Tell what happened to the runs, why and by whom: two statements, however many they are."""
    if run_ids:
        noticing.tell(_notice_of_run(kind, run, reason, at, actor) for run in read_runs(run_ids))


def _notice_of_run(kind: Kind, run: ToldRun, reason: str, at: datetime, actor: str) -> Notice:
    by = actor or run.cancel_asked_by if kind == Kind.RUN_CANCELLED else ""
    facts = (("Cancelled by", by), *run.facts) if by else run.facts
    return Notice(kind, str(run), _sentence(kind, run, reason), at, facts, run.labels, run.url)


@recorded
def _sentence(kind: Kind, run: ToldRun, reason: str) -> str:
    match kind:
        case Kind.RUN_SUCCEEDED:
            return f"Done in {span(run.duration)}." if run.duration is not None else "Done."
        case Kind.RUN_STARTED:
            return f"It has begun on the worker {run.worker}."
        case _:
            return reason or f"{wording.how_it_came(run.opened)}."


def tell_of_made_up(fires: Sequence[NewFire], run_ids: Sequence[int], at: datetime) -> None:
    """Tell of the runs that make up for a due time that was missed.

    Args:
        run_ids: the runs that the fires opened, in their order.
    """
    made_up = [run_id for fire, run_id in zip(fires, run_ids, strict=True) if fire.kind == FireKind.MISFIRE]
    if made_up and noticing.is_wanted(Kind.RUN_MADE_UP):
        tell_of_runs(Kind.RUN_MADE_UP, made_up, "", at)


def tell_of_fires(fires: Sequence[NewFire]) -> None:
    """Tell of the due times that gave way."""
    gave_way = [fire for fire in fires if fire.outcome in GAVE_WAY]
    if gave_way and noticing.is_wanted(Kind.RUN_SKIPPED):
        noticing.tell(map(_notice_of_fire, gave_way))


def _notice_of_fire(fire: NewFire) -> Notice:
    schedule = fire.schedule
    return Notice(
        Kind.RUN_SKIPPED,
        schedule.name,
        fire.reason,
        fire.recorded_at,
        facts=(("Due at", wording.local(fire.fire_at, schedule.timezone)),),
        labels={"name": schedule.name, "job": schedule.job},
        url=reverse("admin:scheduler_schedule_change", args=[schedule.pk]),
    )
