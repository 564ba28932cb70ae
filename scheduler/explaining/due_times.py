"""Why a schedule ran at an instant or did not, and where it stands: pure decisions over rows that were read."""

from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from project.kit.sentences import together
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
            return _("Correct its trigger and save it; then it fires again"), None
        if not self.schedule.enabled:
            return _("It fires no more until a person enables it"), None
        if self.schedule.next_run_at is None:
            return _("It fires no more: no time of its trigger is left"), None
        return _("It fires next"), self.schedule.next_run_at


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
    text = _("%(schedule)s is enabled and waits for its next due time.") % {"schedule": facts.name}
    return facts.answer(Situation.TO_COME, text)


def _broken(facts: ScheduleFacts) -> Explanation:
    fire = facts.broken_fire
    text = _("%(schedule)s is unscheduled, because its trigger cannot be read: %(fault)s")
    if fire:
        text = _("%(schedule)s is unscheduled since %(since)s, because its trigger cannot be read: %(fault)s")
    said = {"schedule": facts.name, "since": facts.at(fire.recorded_at) if fire else "", "fault": facts.fault}
    return facts.answer(
        Situation.BROKEN,
        text % said,
        waits_for=_("a person who corrects it"),
        rows=(RowRef("fire", fire.pk),) if fire else (),
    )


def _disabled(facts: ScheduleFacts) -> Explanation:
    schedule = facts.schedule
    why = schedule.pause_reason.rstrip(".") or _("no reason was given")
    paused = (
        _("%(schedule)s is paused by %(who)s: %(why)s.")
        if schedule.paused_by
        else _("%(schedule)s is paused: %(why)s.")
    )
    meanwhile = _("What falls due meanwhile is left out; the schedule was last changed at %(at)s.")
    return facts.answer(
        Situation.DISABLED,
        together(
            paused % {"schedule": facts.name, "who": schedule.paused_by, "why": why},
            meanwhile % {"at": facts.at(schedule.updated_at)},
        ),
        waits_for=_("a person who enables it"),
    )


def _ended(facts: ScheduleFacts) -> Explanation:
    schedule = facts.schedule
    text, at = _("%(schedule)s has no due time left: it fires no more."), None
    if schedule.ends_at is not None:
        text, at = _("%(schedule)s ended at %(at)s: it fires no more."), schedule.ends_at
    elif schedule.trigger == Schedule.TriggerKind.ONCE and schedule.once_at is not None:
        text, at = _("%(schedule)s was to run once, at %(at)s: it fires no more."), schedule.once_at
    return facts.answer(Situation.ENDED, text % {"schedule": facts.name, "at": facts.at(at) if at else ""})


def _not_started_yet(facts: ScheduleFacts, starts_at: datetime) -> Explanation:
    text = _("%(schedule)s starts at %(at)s only; what its trigger names before is not due.")
    said = {"schedule": facts.name, "at": facts.at(starts_at)}
    return facts.answer(Situation.NOT_STARTED_YET, text % said, waits_for=_("its start"))


def _unfired(facts: ScheduleFacts, due_at: datetime, now: datetime) -> Explanation:
    """Say why what is due did not fire: either nobody scans, or it was due a moment ago."""
    due = {"schedule": facts.name, "since": facts.at(due_at), "late": wording.duration(now - due_at)}
    if silence := silence_of(facts.scans.fire, now, facts.schedule.timezone):
        return facts.answer(
            Situation.NOBODY_FIRES,
            together(
                _("%(schedule)s is due since %(since)s (%(late)s) and has not fired.") % due,
                _("%(silence)s: no worker is running, so nothing fires.") % {"silence": silence},
            ),
            waits_for=_("a worker"),
            next_step=_(
                "Start a worker (and beat): the latest due time is made up if that is within the misfire grace of "
                "%(seconds)s s, the others are recorded as missed"
            )
            % {"seconds": facts.schedule.misfire_grace_seconds},
        )
    situation, text = Situation.JUST_DUE, _("%(schedule)s is due since %(since)s (%(late)s) and has not fired yet.")
    if facts.scans.fire is not None and now - due_at > PATIENCE:
        situation = Situation.HELD_UP
        text = _(
            "%(schedule)s is due since %(since)s (%(late)s) and has not fired, although scans run: a long backlog or a "
            "lock in the database holds it up; see the worker's log."
        )
    next_step = _("The next scan that can fires it, within seconds")
    return facts.answer(situation, text % due, waits_for=_("the next scan"), next_step=next_step)


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
    said = {
        "at": facts.at(at),
        "schedule": facts.name,
        "before": _("the one before is %(at)s") % {"at": facts.at(before)} if before else _("there is none before"),
        "after": _("the one after is %(at)s") % {"at": facts.at(after)} if after else _("there is none after"),
    }
    return facts.answer(Situation.NOT_DUE, _("%(at)s is not a due time of %(schedule)s: %(before)s, %(after)s.") % said)


def _future(facts: ScheduleFacts, at: datetime, now: datetime, exclusion: str) -> Explanation:
    if not facts.schedule.enabled:
        return _disabled(facts)
    said = {"at": facts.at(at), "schedule": facts.name, "span": wording.duration(at - now)}
    to_come = _("%(at)s is a due time of %(schedule)s, in %(span)s.") % said
    if not exclusion:
        return facts.answer(Situation.TO_COME, to_come)
    moves = facts.schedule.on_excluded == Schedule.OnExcluded.MOVE
    fate = _("Its run will move to the next date that is not: %(why)s") if moves else _("It will be skipped: %(why)s")
    return facts.answer(Situation.EXCLUDED, together(to_come, fate % {"why": exclusion}))


def _past(facts: ScheduleFacts, at: datetime, now: datetime) -> Explanation:
    schedule = facts.schedule
    if at < schedule.created_at:
        text = _("%(schedule)s did not exist at %(at)s: it was created at %(created)s.")
        said = {"schedule": facts.name, "at": facts.at(at), "created": facts.at(schedule.created_at)}
        return facts.answer(Situation.BEFORE_CREATION, text % said)
    if schedule.next_run_at is not None and schedule.next_run_at <= at:
        return _unfired(facts, at, now) if schedule.enabled else _disabled(facts)
    nothing = _("Nothing is recorded for %(at)s, which is a due time of %(schedule)s as it is now.")
    why = _("Its history of that time may have been pruned.")
    if schedule.updated_at > at:
        why = _("The schedule was changed at %(at)s: it was another, or paused, before.")
        why %= {"at": facts.at(schedule.updated_at)}
    text = together(nothing % {"at": facts.at(at), "schedule": facts.name}, why)
    return facts.answer(Situation.NO_RECORD, text)
