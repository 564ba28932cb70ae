"""Why a schedule ran at an instant or did not, and where it stands: pure decisions over rows that were read."""

from dataclasses import dataclass
from datetime import datetime

from scheduler import cron, wording
from scheduler.cron import Trigger
from scheduler.explaining.explanation import Explanation, RowRef, Situation
from scheduler.explaining.run_facts import silence_of
from scheduler.explaining.scans import PATIENCE, Scans
from scheduler.models import Fire, Schedule


@dataclass(frozen=True, slots=True)
class ScheduleFacts:
    """A schedule and what lies around it.

    Attributes:
        trigger: None where it cannot be read; then `fault` says why.
        broken_fire: the fire that found the trigger broken.
    """

    schedule: Schedule
    scans: Scans
    trigger: Trigger | None = None
    fault: str = ""
    broken_fire: Fire | None = None

    @property
    def name(self) -> str:
        """How it is called in a sentence."""
        return f"“{self.schedule.name}”"

    def at(self, instant: datetime) -> str:
        """Return an instant as the clocks of the schedule's zone show it."""
        return wording.local(instant, self.schedule.timezone)

    def answer(
        self,
        situation: Situation,
        text: str,
        *,
        waits_for: str = "",
        next_step: str | None = None,
        next_at: datetime | None = None,
        rows: tuple[RowRef, ...] = (),
    ) -> Explanation:
        """Return an answer about the schedule. What it does next is said here unless the answer says otherwise."""
        if next_step is None:
            next_step, next_at = self._next()
        rows = (*rows, RowRef("schedule", self.schedule.pk))
        zone = self.schedule.timezone
        return Explanation(situation, text, zone, waits_for, next_step=next_step, next_at=next_at, rows=rows)

    def _next(self) -> tuple[str, datetime | None]:
        if self.fault:
            return "Correct its trigger and save it; then it fires again", None
        if not self.schedule.enabled:
            return "It fires no more until a person enables it", None
        if self.schedule.next_run_at is None:
            return "It fires no more: no time of its trigger is left", None
        return "It fires next", self.schedule.next_run_at


# --- where it stands -------------------------------------------------------------------------------------------


def explain_standing(facts: ScheduleFacts, now: datetime) -> Explanation:
    """Say what the schedule does next, or why it does nothing."""
    schedule = facts.schedule
    if facts.fault:
        return _broken(facts)
    if not schedule.enabled:
        return _disabled(facts)
    if schedule.next_run_at is None:
        return _ended(facts)
    if schedule.next_run_at <= now:
        return _unfired(facts, schedule.next_run_at, now)
    if schedule.starts_at is not None and schedule.starts_at > now:
        return _not_started_yet(facts, schedule.starts_at)
    return facts.answer(Situation.TO_COME, f"{facts.name} is enabled and waits for its next due time.")


def _broken(facts: ScheduleFacts) -> Explanation:
    fire = facts.broken_fire
    since = f" since {facts.at(fire.recorded_at)}" if fire else ""
    return facts.answer(
        Situation.BROKEN,
        f"{facts.name} is unscheduled{since}, because its trigger cannot be read: {facts.fault}",
        waits_for="a person who corrects it",
        rows=(RowRef("fire", fire.pk),) if fire else (),
    )


def _disabled(facts: ScheduleFacts) -> Explanation:
    why = facts.schedule.pause_reason.rstrip(".") or "no reason was given"
    by = f" by {facts.schedule.paused_by}" if facts.schedule.paused_by else ""
    return facts.answer(
        Situation.DISABLED,
        f"{facts.name} is paused{by}: {why}. What falls due meanwhile is left out; the schedule was last changed at"
        f" {facts.at(facts.schedule.updated_at)}.",
        waits_for="a person who enables it",
    )


def _ended(facts: ScheduleFacts) -> Explanation:
    schedule = facts.schedule
    how = "has no due time left"
    if schedule.ends_at is not None:
        how = f"ended at {facts.at(schedule.ends_at)}"
    elif schedule.trigger == Schedule.TriggerKind.ONCE and schedule.once_at is not None:
        how = f"was to run once, at {facts.at(schedule.once_at)}"
    return facts.answer(Situation.ENDED, f"{facts.name} {how}: it fires no more.")


def _not_started_yet(facts: ScheduleFacts, starts_at: datetime) -> Explanation:
    text = f"{facts.name} starts at {facts.at(starts_at)} only; what its trigger names before is not due."
    return facts.answer(Situation.NOT_STARTED_YET, text, waits_for="its start")


def _unfired(facts: ScheduleFacts, due_at: datetime, now: datetime) -> Explanation:
    """Say why what is due did not fire: either nobody scans, or it was due a moment ago."""
    late = wording.duration(now - due_at)
    due = f"{facts.name} is due since {facts.at(due_at)} ({late}) and has not fired"
    if silence := silence_of(facts.scans.fire, now, facts.schedule.timezone):
        return facts.answer(
            Situation.NOBODY_FIRES,
            f"{due}. {silence}: no worker is running, so nothing fires.",
            waits_for="a worker",
            next_step="Start a worker (and beat): the latest due time is made up if that is within the misfire grace of"
            f" {facts.schedule.misfire_grace_seconds} s, the others are recorded as missed",
        )
    situation, text = Situation.JUST_DUE, f"{due} yet."
    if facts.scans.fire is not None and now - due_at > PATIENCE:
        situation = Situation.HELD_UP
        text = f"{due}, although scans run: a long backlog or a lock in the database holds it up; see the worker's log."
    return facts.answer(
        situation, text, waits_for="the next scan", next_step="The next scan that can fires it, within seconds"
    )


# --- an instant without a fire ---------------------------------------------------------------------------------


def explain_unrecorded(facts: ScheduleFacts, at: datetime, now: datetime, exclusion: str) -> Explanation:
    """Say why no fire stands for the instant.

    Args:
        exclusion: why its date is excluded; nothing if it is not.
    """
    schedule = facts.schedule
    if facts.trigger is None or schedule.broken_reason:
        return _broken(facts)
    if cron.unbounded(facts.trigger).latest_until(at) != at:
        return _not_due(facts, facts.trigger, at)
    if schedule.starts_at is not None and at < schedule.starts_at:
        return _not_started_yet(facts, schedule.starts_at)
    if schedule.ends_at is not None and at > schedule.ends_at:
        return _ended(facts)
    if at > now:
        return _future(facts, at, now, exclusion)
    return _past(facts, at, now)


def _not_due(facts: ScheduleFacts, trigger: Trigger, at: datetime) -> Explanation:
    before, after = trigger.latest_until(at), trigger.next_after(at)
    neighbours = [
        *([f"the one before is {facts.at(before)}"] if before else ["there is none before"]),
        *([f"the one after is {facts.at(after)}"] if after else ["there is none after"]),
    ]
    text = f"{facts.at(at)} is not a due time of {facts.name}: {', '.join(neighbours)}."
    return facts.answer(Situation.NOT_DUE, text)


def _future(facts: ScheduleFacts, at: datetime, now: datetime, exclusion: str) -> Explanation:
    if not facts.schedule.enabled:
        return _disabled(facts)
    when = f"{facts.at(at)} is a due time of {facts.name}, in {wording.duration(at - now)}"
    if not exclusion:
        return facts.answer(Situation.TO_COME, f"{when}.")
    moves = facts.schedule.on_excluded == Schedule.OnExcluded.MOVE
    fate = "Its run will move to the next date that is not" if moves else "It will be skipped"
    return facts.answer(Situation.EXCLUDED, f"{when}. {fate}: {exclusion}")


def _past(facts: ScheduleFacts, at: datetime, now: datetime) -> Explanation:
    schedule = facts.schedule
    if at < schedule.created_at:
        text = f"{facts.name} did not exist at {facts.at(at)}: it was created at {facts.at(schedule.created_at)}."
        return facts.answer(Situation.BEFORE_CREATION, text)
    if schedule.next_run_at is not None and schedule.next_run_at <= at:
        return _unfired(facts, at, now) if schedule.enabled else _disabled(facts)
    text = f"Nothing is recorded for {facts.at(at)}, which is a due time of {facts.name} as it is now."
    if schedule.updated_at > at:
        text += f" The schedule was changed at {facts.at(schedule.updated_at)}: it was another, or paused, before."
    else:
        text += " Its history of that time may have been pruned."
    return facts.answer(Situation.NO_RECORD, text)
