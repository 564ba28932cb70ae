"""The sentences in which rows say why. One place, so that the same thing is always said in the same words."""

import re
import sys
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from project.kit.records import recorded
from project.kit.spans import span
from scheduler import cron
from scheduler.states import AttemptOutcome, EventTrigger, FireKind, RunState

if TYPE_CHECKING:
    from scheduler.firing import Plan
    from scheduler.models import Schedule
    from scheduler.operations import Resumed
    from scheduler.run_messages import Opened, ToldRun

CHANGED = "The schedule was changed before it fired"

CANCELLED_WHILE_RUNNING = "Cancelled while it was running."

# Added to a skip that begins later than it would, as its first instants are recorded: the clock had been set back.
RECORDED_BEFORE = "What was recorded before stays as it is."


def local(instant: datetime, zone: str) -> str:
    """Return the instant as a wall clock in the zone shows it, or in UTC if there is no such zone any more."""
    try:
        return f"{instant.astimezone(cron.zone(zone)):%Y-%m-%d %H:%M:%S} {zone}"
    except cron.TriggerError:
        return local(instant, "UTC")


def duration(length: timedelta) -> str:
    """Return the length in whole seconds, by its two largest units: `2 h 5 min`, `40 s`."""
    return span(timedelta(seconds=round(length.total_seconds())), detail_below=sys.maxsize)


def started(plan: "Plan", now: datetime) -> str:
    """Why a run was opened: nothing to say when it is on time, else how late it is made up."""
    if plan.kind != FireKind.MISFIRE or plan.planned_at is None:
        return ""
    return _made_up(now - plan.planned_at)


@recorded
def _made_up(late: timedelta) -> str:
    return f"Made up {duration(late)} late."


@recorded
def how_it_came(opened: "Opened") -> str:
    """How a run came to be, as every message about it says."""
    by = f" by {opened.actor}" if opened.actor else ""
    started = f"{_STARTED.get(opened.trigger, 'started by its schedule')}{by}"
    if opened.rerun_of is not None:
        return f"Rerun of #{opened.rerun_of}, {started}"
    if opened.backfill is not None:
        return f"For backfill #{opened.backfill}, {started}"
    if opened.made_up_late is not None:
        return f"Made up after a miss, {duration(opened.made_up_late)} late"
    return capfirst(started)


_STARTED = {
    EventTrigger.MANUAL: "started by hand",
    EventTrigger.BACKFILL: "asked for",
    EventTrigger.API: "started through the API",
}


def last_attempt(run: "ToldRun") -> str:
    """Which attempt a run ended with, where that was, and why there is no other."""
    where = f" on the worker {run.worker}" if run.worker else ""
    return f"It ended with attempt {run.attempt}{where}{_why_no_other(run)}."


def _why_no_other(run: "ToldRun") -> str:
    if run.outcome == AttemptOutcome.LOST:
        return ""
    if not run.retries:
        return "; it has no retries"
    if run.failures <= run.retries:
        return "; no retry would help"
    return "; its retry is used up" if run.retries == 1 else f"; its {run.retries} retries are used up"


@recorded
def missed(span: cron.Missed, schedule: "Schedule", *, made_up: datetime | None) -> str:
    """Why due instants were left out, with their span and count."""
    what = _due_times(span, schedule.timezone)
    if made_up is not None:
        return f"Nobody scanned: {what} missed. Only the latest is made up."
    grace = duration(timedelta(seconds=schedule.misfire_grace_seconds))
    return f"Nobody scanned: {what} missed, beyond the misfire grace of {grace}."


def paused(span: cron.Missed, schedule: "Schedule") -> str:
    """Why due instants were left out while a schedule was paused."""
    why = f" ({schedule.pause_reason})" if schedule.pause_reason else ""
    return f"The schedule was paused{why}: {_due_times(span, schedule.timezone)} left out."


def changed(span: cron.Missed, schedule: "Schedule") -> str:
    """Why due instants were left out when a schedule was changed."""
    return f"{CHANGED}: {_due_times(span, schedule.timezone)} left out."


@recorded
def overlap(run_id: int, state: RunState) -> str:
    """Why a fire gave way to an earlier run, in one of three wordings."""
    if state == RunState.AWAITING_APPROVAL:
        return f"Run #{run_id} is waiting for an approval. Answer it, then the schedule goes on."
    if state == RunState.SUSPENDED:
        return f"Run #{run_id} is suspended. Let it go on or give it up, then the schedule goes on."
    return f"Run #{run_id} is still in progress ({state.label})."


def named_run(reason: str) -> int | None:
    """Return the number of the run that a reason names first; None where it names none."""
    named = re.search(r"#(\d+)", reason)
    return int(named[1]) if named else None


def already_done(run_id: int, started_at: datetime) -> str:
    """Why a planned instant opens no run: its work is done."""
    return f"Run #{run_id} did this data day's work; it started at {started_at:%Y-%m-%d %H:%M:%S} UTC, on plan."


def quiet(until: datetime, zone: str) -> str:
    """Why a due run was put off."""
    return f"Quiet hours until {local(until, zone)}."


def excluded(day: date, calendar: str, title: str) -> str:
    """Why a planned instant opens no run, or opens it for another day."""
    return f"{day} is excluded by the calendar “{calendar}”{f' ({title})' if title else ''}."


def moved(until: datetime, zone: str) -> str:
    """What becomes of a run whose date is excluded."""
    return f"Moved to {local(until, zone)}."


def answered(actor: str, *, approve: bool, why: str) -> str:
    """What a person answered."""
    return f"{'Approved' if approve else 'Rejected'} by {actor}{f': {why}' if why else '.'}"


def resumed(run_id: int, outcome: "Resumed") -> str:
    """What came of it when a person resumed a paused run."""
    return str(_RESUMED[str(outcome)]) % {"id": run_id}


_RESUMED = {
    "resumed": _("Run #%(id)s is resumed; a worker takes it from its checkpoint."),
    "already": _("Run #%(id)s has gone on already; nothing is left to do."),
    "waits": _(
        "Run #%(id)s is neither held nor delayed any more. It waits for its quotas, and goes on by itself as soon as "
        "they allow it."
    ),
}


def cancelled_while_running(why: str) -> str:
    """Why a run ended that a person asked to cancel.

    Args:
        why: what the person said; may be empty.
    """
    return f"{CANCELLED_WHILE_RUNNING}{f' {why}' if why else ''}"


def broken(error: str) -> str:
    """Why a schedule is unscheduled."""
    return f"The trigger cannot be read, so the schedule is stopped: {error} Correct it and save."


def _due_times(span: cron.Missed, zone: str) -> str:
    first, last = local(span.first, zone), local(span.last, zone)
    count = f"{'more than ' if span.capped else ''}{span.count}"
    times = "due time" if span.count == 1 else "due times"
    return f"{count} {times} ({first if first == last else f'{first} to {last}'})"
