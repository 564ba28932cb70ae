"""What a recorded fire says about its due time: pure decisions over rows that were read."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from scheduler import wording
from scheduler.explaining.due_times import ScheduleFacts
from scheduler.explaining.explanation import Explanation, RowRef, Situation
from scheduler.explaining.run_facts import sentence
from scheduler.models import Fire, RunEvent, TaskRun
from scheduler.states import FireKind, FireOutcome, RunState


@dataclass(frozen=True, slots=True)
class FireFacts:
    """A fire and what lies around it.

    Attributes:
        at: the due time that is asked about; a skip stands for several.
        run: the one that it opened.
        opened: how that run was opened.
        off_plan: an earlier run that did the same data day's work, but began before the due time.
        made_up: the fire that made up for this one, which was missed.
    """

    about: ScheduleFacts
    fire: Fire
    at: datetime
    run: TaskRun | None = None
    opened: RunEvent | None = None
    off_plan: TaskRun | None = None
    made_up: Fire | None = None


def explain_fire_facts(facts: FireFacts) -> Explanation:
    """Say what became of the due time, and which rule decided."""
    if facts.fire.outcome == FireOutcome.STARTED:
        return _started(facts)
    situation = _SKIPS[FireOutcome(facts.fire.outcome)](facts)
    named = wording.named_run(facts.fire.reason)
    rows = [RowRef("fire", facts.fire.pk), *([RowRef("run", named)] if named else [])]
    if facts.made_up is not None:
        rows.append(RowRef("fire", facts.made_up.pk))
    text = f"{facts.about.name} started no run for {facts.about.at(facts.at)}.{sentence(facts.fire.reason)}"
    return facts.about.answer(situation, text, rows=tuple(rows))


# --- it started a run ------------------------------------------------------------------------------------------


def _started(facts: FireFacts) -> Explanation:
    situation, text = _how_it_started(facts, f"run #{facts.run.pk}" if facts.run else "a run, which is gone")
    rows = [RowRef("fire", facts.fire.pk)]
    if facts.run is not None:
        rows.append(RowRef("run", facts.run.pk))
    if facts.off_plan is not None:
        rows.append(RowRef("run", facts.off_plan.pk))
    return facts.about.answer(situation, text, rows=tuple(rows))


def _how_it_started(facts: FireFacts, run: str) -> tuple[Situation, str]:
    about, fire = facts.about, facts.fire
    at = about.at(fire.fire_at)
    if fire.kind in (FireKind.MANUAL, FireKind.BACKFILL):
        by = "by hand" if fire.kind == FireKind.MANUAL else "for a backfill"
        return Situation.FIRED, f"{fire.actor} started {run} of {about.name} {by} at {at}.{sentence(fire.reason)}"
    if facts.opened is not None and facts.opened.reason != fire.reason:
        return Situation.MOVED, f"{about.name} opened {run} for {at}, for a later day.{sentence(facts.opened.reason)}"
    if facts.off_plan is not None:
        return Situation.OFF_PLAN, _off_plan(facts, facts.off_plan, run)
    if fire.kind == FireKind.MISFIRE:
        late = wording.duration(fire.recorded_at - fire.fire_at)
        text = f"{about.name} opened {run} for {at} {late} late: no scan had fired it in time."
        return Situation.MADE_UP_LATE, text
    return Situation.FIRED, f"{about.name} fired on time at {at} and opened {run}."


def _off_plan(facts: FireFacts, earlier: TaskRun, run: str) -> str:
    about, at = facts.about, facts.about.at(facts.fire.fire_at)
    began = about.at(earlier.started_at) if earlier.started_at else "an unknown time"
    return (
        f"{about.name} opened {run} for {at}, although run #{earlier.pk} had done the work of {earlier.stat_date}:"
        f" that one began at {began}, before the planned time, so it does not count as the planned run."
    )


# --- it started none -------------------------------------------------------------------------------------------


def _missed(facts: FireFacts) -> Situation:
    if facts.fire.reason.startswith(wording.CHANGED):
        return Situation.LEFT_OUT_BY_EDIT
    return Situation.MISSED if facts.made_up is not None else Situation.MISSED_BEYOND_GRACE


def _overlap(facts: FireFacts) -> Situation:
    reason, blocker = facts.fire.reason, wording.named_run(facts.fire.reason) or 0
    if reason == wording.overlap(blocker, RunState.AWAITING_APPROVAL):
        return Situation.OVERLAP_AWAITING_APPROVAL
    if reason == wording.overlap(blocker, RunState.SUSPENDED):
        return Situation.OVERLAP_SUSPENDED
    return Situation.OVERLAP_IN_PROGRESS


_SKIPS: dict[FireOutcome, Callable[[FireFacts], Situation]] = {
    FireOutcome.SKIPPED_MISFIRE: _missed,
    FireOutcome.SKIPPED_OVERLAP: _overlap,
    FireOutcome.SKIPPED_PAUSED: lambda facts: Situation.LEFT_OUT_WHILE_PAUSED,
    FireOutcome.SKIPPED_EXCLUDED: lambda facts: Situation.EXCLUDED,
    FireOutcome.ALREADY_DONE: lambda facts: Situation.ALREADY_DONE,
    FireOutcome.FAILED_TO_START: lambda facts: Situation.BROKEN,
}
