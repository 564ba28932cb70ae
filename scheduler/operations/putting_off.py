"""A person hands a run that waits to another day: it is due then, still for the data day that it has."""

from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from scheduler import transitions
from scheduler.models import TaskRun
from scheduler.operations.refusing import NotPossible
from scheduler.states import EventTrigger, RunState
from scheduler.transitions import Claim

# What is wanted later than this is better cancelled, and run again when it is wanted.
LONGEST = timedelta(days=366)

# Where a run may be put off, and what it is then: no state leads to itself, and in each of these a run has its time.
_BECOMES = {
    RunState.DEFERRED: (RunState.PENDING, RunState.FAILED),
    RunState.PENDING: (RunState.DEFERRED, RunState.SUSPENDED),
}
MAY_BE_PUT_OFF = frozenset(source for sources in _BECOMES.values() for source in sources)


def put_off(run: TaskRun, until: datetime, *, now: datetime, actor: str, reason: str = "") -> None:
    """Make a run that waits for its time, or for a person who lets it go on, due at a later time.

    Its data day, its planned instant and its checkpoint stay as they are.

    Raises:
        NotPossible: it waits no more, somebody asked to cancel it, or the time has passed or is too far away.
    """
    if fault := fault_of(until, now):
        raise NotPossible(fault)
    if not any(_move(run, target, until, now, actor, reason) for target in _BECOMES):
        raise NotPossible(_("Run #%(id)s does not wait any more, so it cannot be put off.") % {"id": run.pk})


def _move(run: TaskRun, target: RunState, until: datetime, now: datetime, actor: str, reason: str) -> bool:
    moved = transitions.move(
        [Claim(run.pk)],
        target,
        now=now,
        trigger=EventTrigger.MANUAL,
        actor=actor,
        reason=reason or f"Put off by {actor}.",
        sources=_BECOMES[target],
        unless_cancel_asked=True,
        columns={"due_at": until},
    )
    return bool(moved)


def fault_of(until: datetime, now: datetime) -> str:
    """Return in a sentence what is wrong with a time to which a run is to be put off; empty: nothing."""
    if until <= now:
        return _("Choose a time that is still to come.")
    if until - now > LONGEST:
        return _("Choose a time within a year. What is wanted later can be cancelled now, and run again then.")
    return ""
