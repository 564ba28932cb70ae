"""Lets runs go on that wait: for their time, for a quota, or for a person."""

from datetime import datetime
from enum import StrEnum

from django.db import transaction

from scheduler import resuming, transitions, wording
from scheduler.models import Approval, Pause, QuotaWait, TaskRun
from scheduler.operations.refusing import not_possible
from scheduler.resuming import Resumption
from scheduler.states import EventTrigger, RunState
from scheduler.transitions import Claim

# Where a run may be that somebody else resumed a moment ago.
WENT_ON = (RunState.RESUMING, RunState.PENDING, RunState.RUNNING, RunState.DONE)


def retry_now(run: TaskRun, *, now: datetime, actor: str, reason: str = "") -> None:
    """Make a failed or deferred run that waits for its time due at once.

    Raises:
        NotPossible: it does not wait for its time any more.
    """
    waiting = [RunState.FAILED, RunState.DEFERRED]
    _make_due_by_hand(run, waiting, now=now, actor=actor, reason=reason)


def let_go_on(run: TaskRun, *, now: datetime, actor: str, reason: str = "") -> None:
    """Make a suspended run due, with its progress.

    Raises:
        NotPossible: it is not suspended any more.
    """
    suspended = [RunState.SUSPENDED]
    _make_due_by_hand(run, suspended, now=now, actor=actor, reason=reason)


def _make_due_by_hand(
    run: TaskRun,
    sources: list[RunState],
    *,
    now: datetime,
    actor: str,
    reason: str,
) -> None:
    moved = transitions.move(
        [Claim(run.pk)],
        RunState.PENDING,
        now=now,
        trigger=EventTrigger.MANUAL,
        actor=actor,
        reason=reason,
        sources=sources,
        columns={"due_at": now},
    )
    if not moved:
        raise not_possible(run, sources)


class Resumed(StrEnum):
    """What came of resuming a paused run."""

    RESUMED = "resumed"
    ALREADY = "already"  # somebody else was first, and that is as good
    WAITS = "waits"  # nothing holds it any more; it goes on when its quotas allow it


def resume(
    run: TaskRun, *, now: datetime, actor: str, reason: str = "", trigger: EventTrigger | None = None
) -> Resumed:
    """Let a paused run go on as soon as its quotas allow it: whatever held or delayed it, and before its turn.

    By the same entry as a quota's edge, so that it starts once, whoever else resumes it at this moment.

    Args:
        trigger: EventTrigger.MANUAL, or API.

    Raises:
        NotPossible: it is neither paused nor went on from there.
    """
    Pause.objects.filter(run=run.pk, run__state=RunState.PAUSED).update(held="", not_before=None, setbacks=0)
    quota_id = QuotaWait.objects.filter(run=run.pk).values_list("quota", flat=True).first()
    if quota_id is not None:
        why = reason or f"Resumed by {actor}."
        resumption = Resumption(trigger or EventTrigger.MANUAL, why, actor=actor, run_id=run.pk)
        if resuming.resume(quota_id, resumption, now=now):
            return Resumed.RESUMED
    current = TaskRun.objects.only("state", "pause_count").get(pk=run.pk)
    if current.state == RunState.PAUSED:
        return Resumed.WAITS
    if current.state in WENT_ON and current.pause_count:
        return Resumed.ALREADY
    raise not_possible(run, [RunState.PAUSED])


def answer(run: TaskRun, *, approve: bool, now: datetime, actor: str, why: str = "") -> None:
    """Answer the question that a run asks. Approved: it is due now. Rejected: it is cancelled.

    Raises:
        NotPossible: it asks nothing any more, or somebody else has answered.
    """
    verdict = Approval.Answer.APPROVED if approve else Approval.Answer.REJECTED
    with transaction.atomic():
        answered = Approval.objects.filter(run=run, answer="").update(
            answer=verdict, answered_at=now, answered_by=actor, why=why
        )
        moved = transitions.move(
            [Claim(run.pk)],
            RunState.PENDING if approve else RunState.CANCELLED,
            now=now,
            trigger=EventTrigger.APPROVAL,
            actor=actor,
            reason=wording.answered(actor, approve=approve, why=why),
            sources=[RunState.AWAITING_APPROVAL],
            columns={"due_at": now} if approve else None,
        )
        if not (answered and moved):
            raise not_possible(run, [RunState.AWAITING_APPROVAL])
