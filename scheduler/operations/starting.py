"""Opens runs by hand: of a schedule, of a job, and once more of what has ended."""

from dataclasses import replace
from datetime import date, datetime

from django.db import transaction
from django.utils.translation import gettext as _

from scheduler import cron
from scheduler.fires import NewFire, insert_fires
from scheduler.models import Schedule, TaskRun
from scheduler.opening import Opening, for_schedule, open_runs
from scheduler.operations.refusing import NotPossible
from scheduler.states import EventTrigger, FireKind, FireOutcome


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
        fire = _fire_by_hand(schedule, now, actor, reason)
        opening = _opening_by_hand(schedule, fire, now, reason)
        if stat_date is not None:
            opening = replace(opening, stat_date=stat_date)
        if progress_of is not None:
            opening = _with_progress_of(progress_of, opening)
        (run,) = open_runs([opening], now=now, trigger=EventTrigger.MANUAL, actor=actor)
    return run


def _fire_by_hand(schedule: Schedule, now: datetime, actor: str, reason: str) -> NewFire:
    fire = NewFire(
        schedule=schedule,
        fire_at=now,
        kind=FireKind.MANUAL,
        outcome=FireOutcome.STARTED,
        reason=reason,
        actor=actor,
        recorded_at=now,
    )
    if not insert_fires([fire]):
        raise NotPossible(_("“%(name)s” was started by hand at this very moment.") % {"name": schedule.name})
    return fire


def _opening_by_hand(schedule: Schedule, fire: NewFire, now: datetime, reason: str) -> Opening:
    try:
        return for_schedule(schedule, now, now=now, fire_id=fire.id, reason=reason)
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
    opening = _opening_like(run, now, reason)
    if from_progress:
        opening = _with_progress_of(run, opening)
    (again,) = open_runs([opening], now=now, trigger=EventTrigger.MANUAL, actor=actor)
    return again


def _opening_like(run: TaskRun, now: datetime, reason: str) -> Opening:
    """Return how the run was opened, due now and from nothing."""
    return Opening(
        name=run.name,
        job=run.job,
        params=run.params,
        stat_date=run.stat_date,
        planned_at=run.planned_at,
        due_at=now,
        reason=reason,
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
