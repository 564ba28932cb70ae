"""Ends runs: cancels those that have not ended, and gives up those that are suspended."""

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from scheduler import accounts, transitions
from scheduler.jobs.registry import JOBS
from scheduler.models import TaskRun
from scheduler.operations.refusing import NotPossible, not_possible
from scheduler.states import EventTrigger, RunState
from scheduler.transitions import Claim


def cancel(run: TaskRun, *, now: datetime, actor: str, reason: str = "") -> bool:
    """Cancel a run that has not ended. True: it is cancelled. False: it is running and will see it.

    A run that waits and holds something elsewhere is executed once more, so that its job can end that; asked a second
    time, it is cancelled at once.

    Raises:
        NotPossible: it has ended.
    """
    with transaction.atomic():
        accounts.lock([run.pk])
        current = TaskRun.objects.select_for_update().get(pk=run.pk)
        if current.finished_at is not None:
            raise NotPossible(
                _("Run #%(id)s has ended already (%(state)s).") % {"id": run.pk, "state": current.get_state_display()}
            )
        if current.state == RunState.RUNNING:
            _ask_to_cancel(current, now, actor, reason)
            return False
        if current.cancel_requested_at is None and holds_outside(current):
            _ask_to_cancel(current, now, actor, reason)
            _wake_to_be_told(current, now, actor)
            return False
        transitions.move(
            [Claim(run.pk)],
            RunState.CANCELLED,
            now=now,
            trigger=EventTrigger.MANUAL,
            actor=actor,
            reason=reason or f"Cancelled by {actor}.",
        )
        accounts.abandon([current.pk], now=now)
        return True


def _ask_to_cancel(run: TaskRun, now: datetime, actor: str, reason: str) -> None:
    TaskRun.objects.filter(pk=run.pk, cancel_requested_at__isnull=True).update(
        cancel_requested_at=now,
        cancel_requested_by=actor,
        cancel_reason=reason,
        reason=f"{actor} asked to cancel it: {reason or 'no reason given'}. It ends at its next checkpoint.",
    )


def holds_outside(run: TaskRun) -> bool:
    """Tell whether the run's job has something elsewhere that ends only if it is told."""
    job = JOBS.get(run.job)
    return job is not None and job.holds_outside is not None and job.holds_outside(run.progress)


def _wake_to_be_told(run: TaskRun, now: datetime, actor: str) -> None:
    """Make the run due now; one that is due already stays so."""
    transitions.move(
        [Claim(run.pk)],
        RunState.PENDING,
        now=now,
        trigger=EventTrigger.MANUAL,
        actor=actor,
        reason=f"{actor} asked to cancel it: it is executed once more, to end what it holds elsewhere.",
        columns={"due_at": now},
    )


def give_up(run: TaskRun, *, now: datetime, actor: str, reason: str = "") -> None:
    """End a suspended run as failed, for good.

    Raises:
        NotPossible: it is not suspended any more.
    """
    moved = transitions.move(
        [Claim(run.pk)],
        RunState.FAILED,
        now=now,
        trigger=EventTrigger.MANUAL,
        actor=actor,
        reason=reason or f"Given up by {actor}.",
        sources=[RunState.SUSPENDED],
        columns={"finished_at": now},
    )
    if not moved:
        raise not_possible(run, [RunState.SUSPENDED])
