"""What a person does with schedules and runs: run now, run again, retry, cancel, let go on. Rows are written and the
next scan acts; nothing here talks to the broker.
"""

from dataclasses import replace
from datetime import date, datetime
from enum import StrEnum

from django.db import transaction
from django.utils.translation import gettext as _

from scheduler import accounts, cron, resuming, transitions, wording
from scheduler.fires import insert_fires
from scheduler.jobs.registry import JOBS
from scheduler.models import Approval, Fire, Pause, QuotaWait, Schedule, TaskRun
from scheduler.opening import Opening, for_schedule, open_runs
from scheduler.resuming import Resumption
from scheduler.states import EventTrigger, FireKind, FireOutcome, RunState
from scheduler.transitions import Claim

# Where a run may be that somebody else resumed a moment ago.
WENT_ON = (RunState.RESUMING, RunState.PENDING, RunState.RUNNING, RunState.DONE)


class NotPossible(Exception):
    """The row left the state in which this can be done; the message says where it is now."""


def run_now(
    schedule: Schedule,
    *,
    now: datetime,
    actor: str,
    stat_date: date | None = None,
    progress_of: TaskRun | None = None,
    reason: str = "",
) -> TaskRun:
    """Open a run of the schedule for now, beside its plan: the next run stays where it is.

    Args:
        stat_date: the data day; by default the one that the schedule gives to this instant.
        progress_of: an ended run of the schedule with whose checkpoint it begins, for that one's data day.

    Raises:
        NotPossible: it was started by hand at this very moment, or its zone is not known any more.
    """
    with transaction.atomic():
        fire = Fire(
            schedule=schedule,
            fire_at=now,
            kind=FireKind.MANUAL,
            outcome=FireOutcome.STARTED,
            reason=reason,
            actor=actor,
            recorded_at=now,
        )
        if not insert_fires([fire]):
            raise NotPossible(f"“{schedule.name}” was started by hand at this very moment.")
        opening = _opening_by_hand(schedule, fire, now, reason)
        if stat_date is not None:
            opening = replace(opening, stat_date=stat_date)
        if progress_of is not None:
            opening = _with_progress_of(progress_of, opening)
        (run,) = open_runs([opening], now=now, trigger=EventTrigger.MANUAL, actor=actor)
    return run


def _opening_by_hand(schedule: Schedule, fire: Fire, now: datetime, reason: str) -> Opening:
    try:
        return for_schedule(schedule, now, now=now, fire=fire, reason=reason)
    except cron.TriggerError as error:  # the zone was edited in the database, or is gone
        raise NotPossible(str(error)) from error


def _with_progress_of(run: TaskRun, opening: Opening) -> Opening:
    return replace(
        opening,
        stat_date=run.stat_date,
        progress=run.progress,
        progress_done=run.progress_done,
        progress_total=run.progress_total,
        rerun_of=run,
    )


def run_job(
    job: str,
    params: dict[str, object],
    *,
    now: datetime,
    actor: str,
    zone: str = "UTC",
    stat_date: date | None = None,
    trigger: EventTrigger = EventTrigger.MANUAL,
) -> TaskRun:
    """Open a run of a job without a schedule, side by side with whatever runs.

    Args:
        zone: whose date is the data day, where none is named.
        trigger: EventTrigger.MANUAL, or API.
    """
    opening = Opening(
        name=job,
        job=job,
        params=params,
        stat_date=stat_date or cron.stat_date(now, zone),
        planned_at=now,
        due_at=now,
    )
    (run,) = open_runs([opening], now=now, trigger=trigger, actor=actor)
    return run


def run_again(run: TaskRun, *, now: datetime, actor: str, from_progress: bool, reason: str = "") -> TaskRun:
    """Open a new run for the data day of a run that has ended, which itself never changes.

    Args:
        from_progress: with a copy of its checkpoint, else from nothing.

    Raises:
        NotPossible: the run has not ended.
    """
    if run.finished_at is None:
        raise NotPossible(
            _("Run #%(id)s has not ended (%(state)s); cancel it or let it end first.")
            % {"id": run.pk, "state": run.get_state_display()}
        )
    opening = Opening(
        name=run.name,
        job=run.job,
        params=run.params,
        stat_date=run.stat_date,
        planned_at=run.planned_at,
        due_at=now,
        reason=reason,
        progress=run.progress if from_progress else {},
        progress_done=run.progress_done if from_progress else None,
        progress_total=run.progress_total if from_progress else None,
        schedule=run.schedule,
        rerun_of=run,
        priority=run.priority,
        timeout_seconds=run.timeout_seconds,
        retry_delays=run.retry_delays,
        on_interrupt=run.on_interrupt,
        exclusive_key=run.exclusive_key,
        quota_id=run.quota_id,
        quota_need=run.quota_need,
        resume_limit=run.resume_limit,
        resume_by_hand=run.resume_by_hand,
    )
    (again,) = open_runs([opening], now=now, trigger=EventTrigger.MANUAL, actor=actor)
    return again


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
    raise _not_possible(run, [RunState.PAUSED])


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
        raise _not_possible(run, [RunState.SUSPENDED])


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
            raise _not_possible(run, [RunState.AWAITING_APPROVAL])


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
        raise _not_possible(run, sources)


def _not_possible(run: TaskRun, wanted: list[RunState]) -> NotPossible:
    current = TaskRun.objects.get(pk=run.pk)
    state = current.get_state_display()
    if current.finished_at is not None:
        return NotPossible(
            _("Run #%(id)s has ended (%(state)s); run it again instead.") % {"id": run.pk, "state": state}
        )
    states = " or ".join(str(state.label) for state in wanted)
    return NotPossible(f"Run #{run.pk} is {state} now, not {states}.")
