"""What a recorded fire says about its due time: pure decisions over rows that were read."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

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
    text = _("%(schedule)s started no run for %(at)s.")
    text %= {"schedule": facts.about.name, "at": facts.about.at(facts.at)}
    return facts.about.answer(situation, f"{text}{sentence(facts.fire.reason)}", rows=tuple(rows))


# --- it started a run ------------------------------------------------------------------------------------------


def _started(facts: FireFacts) -> Explanation:
    run = _("run #%(id)s") % {"id": facts.run.pk} if facts.run else _("a run, which is gone")
    situation, text = _how_it_started(facts, run)
    rows = [RowRef("fire", facts.fire.pk)]
    if facts.run is not None:
        rows.append(RowRef("run", facts.run.pk))
    if facts.off_plan is not None:
        rows.append(RowRef("run", facts.off_plan.pk))
    return facts.about.answer(situation, text, rows=tuple(rows))


def _how_it_started(facts: FireFacts, run: str) -> tuple[Situation, str]:
    about, fire = facts.about, facts.fire
    said = {"schedule": about.name, "run": run, "at": about.at(fire.fire_at), "who": fire.actor}
    if fire.kind == FireKind.MANUAL:
        text = _("%(who)s started %(run)s of %(schedule)s by hand at %(at)s.") % said
        return Situation.FIRED, text + sentence(fire.reason)
    if fire.kind == FireKind.BACKFILL:
        text = _("%(who)s started %(run)s of %(schedule)s for a backfill at %(at)s.") % said
        return Situation.FIRED, text + sentence(fire.reason)
    if facts.opened is not None and facts.opened.reason != fire.reason:
        text = _("%(schedule)s opened %(run)s for %(at)s, for a later day.") % said
        return Situation.MOVED, text + sentence(facts.opened.reason)
    if facts.off_plan is not None:
        return Situation.OFF_PLAN, _off_plan(facts, facts.off_plan, run)
    if fire.kind == FireKind.MISFIRE:
        late = wording.duration(fire.recorded_at - fire.fire_at)
        text = _("%(schedule)s opened %(run)s for %(at)s %(late)s late: no scan had fired it in time.")
        return Situation.MADE_UP_LATE, text % {**said, "late": late}
    return Situation.FIRED, _("%(schedule)s fired on time at %(at)s and opened %(run)s.") % said


def _off_plan(facts: FireFacts, earlier: TaskRun, run: str) -> str:
    about = facts.about
    return _(
        "%(schedule)s opened %(run)s for %(at)s, although run #%(earlier)s had done the work of %(day)s: that one "
        "began at %(began)s, before the planned time, so it does not count as the planned run."
    ) % {
        "schedule": about.name,
        "run": run,
        "at": about.at(facts.fire.fire_at),
        "earlier": earlier.pk,
        "day": earlier.stat_date,
        "began": about.at(earlier.started_at) if earlier.started_at else _("an unknown time"),
    }


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
