"""Schedules come, change, pause and go on. Every way to write one leads through here: form, import, API, try-out."""

from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from project.kit.versions import StaleVersion, column_value
from scheduler import cron, wording
from scheduler.cron import Cron, Interval, Missed, Once, Trigger, TriggerError
from scheduler.fires import NewFire, insert_fires
from scheduler.jobs.registry import BadParams, UnknownJob, get_job
from scheduler.models import Schedule
from scheduler.states import FireKind, FireOutcome

# What the fires follow from. A change of these recomputes the next run.
TRIGGER_FIELDS = (
    "trigger",
    "cron",
    "timezone",
    "interval_seconds",
    "anchor_at",
    "once_at",
    "starts_at",
    "ends_at",
)
# What a person may change.
EDITABLE_FIELDS = (
    "name",
    "description",
    "job",
    "params",
    *TRIGGER_FIELDS,
    "calendar",
    "on_excluded",
    "jitter_seconds",
    "quiet_from",
    "quiet_until",
    "misfire_grace_seconds",
    "overlap",
    "stat_date_offset",
    "on_interrupt",
    "retry_delays",
    "timeout_seconds",
    "priority",
    "quota",
    "quota_need",
    "resume_limit",
    "resume_by_hand",
)


def create(
    *,
    name: str,
    job: str,
    trigger: Trigger,
    now: datetime,
    params: dict[str, Any] | None = None,
    timezone: str | None = None,
    origin: str | None = None,
    **options: Any,
) -> Schedule:
    """Create a schedule whose first fire is the next instant after now.

    Args:
        timezone: the zone of its data days; by default the cron trigger's zone, or UTC.
        origin: where it was imported from, unique.
        options: further fields of the model.

    Raises:
        ValidationError: a field is wrong; each message says which and what would be right.
    """
    zone = timezone or (trigger.zone if isinstance(trigger, Cron) else "UTC")
    schedule = Schedule(name=name, job=job, params=params or {}, timezone=zone, origin=origin, **options)
    _set_trigger(schedule, trigger)
    save_new(schedule, now=now)
    return schedule


def save_new(schedule: Schedule, *, now: datetime) -> None:
    """Insert a filled-in schedule.

    Raises:
        ValidationError: as `create`.
    """
    prepare(schedule, now=now)
    schedule.created_at = schedule.updated_at = now
    schedule.next_run_at = _first_run(schedule, now)
    schedule.full_clean(validate_constraints=False)  # prepare() has said all that they say
    schedule.save(force_insert=True)


def save_changes(schedule: Schedule, *, expected_version: int, now: datetime) -> list[str]:
    """Write what really changed and return the names of those fields; a whole form posted back changes nothing.

    A changed trigger recomputes the next run from the instant that was due: a fire that is due already, and that
    the new trigger also covers, is still made. What the new one does not cover is one recorded skip.

    Raises:
        StaleVersion: it was saved by somebody else since `expected_version`.
        ValidationError: as `create`.
    """
    with transaction.atomic():
        current = Schedule.objects.select_for_update().get(pk=schedule.pk)
        if current.version != expected_version:
            raise StaleVersion(current)
        prepare(schedule, now=now)
        changed = [name for name in EDITABLE_FIELDS if column_value(schedule, name) != column_value(current, name)]
        if not changed:
            return []
        schedule.next_run_at, schedule.broken_reason = current.next_run_at, current.broken_reason
        if current.broken_reason or set(changed) & set(TRIGGER_FIELDS):
            schedule.next_run_at = _next_run_after_edit(current, schedule, now)
            schedule.broken_reason = ""
            if schedule.next_run_at != current.next_run_at:
                _record_left_out(current, now)
        schedule.version, schedule.updated_at = current.version + 1, now
        schedule.full_clean(validate_constraints=False)
        schedule.save(update_fields=[*changed, "next_run_at", "broken_reason", "version", "updated_at"])
    return changed


def prepare(schedule: Schedule, *, now: datetime) -> None:
    """Complete what follows from other fields, and refuse what cannot work.

    Raises:
        ValidationError: naming the fields.
    """
    if schedule.trigger == Schedule.TriggerKind.INTERVAL and schedule.anchor_at is None:
        schedule.anchor_at = now
    faults = _faults_of_pairs(schedule)
    try:
        trigger = schedule.as_trigger()
        if not schedule.overlap:
            schedule.overlap = _usual_overlap(trigger)
    except TriggerError as error:
        faults[_form_field(error.field)] = str(error)
    try:
        job = get_job(schedule.job)
        if not isinstance(schedule.params, dict):
            raise BadParams(_("The parameters are a JSON object, for example {}."))
        job.read_params(schedule.params)
    except UnknownJob as error:
        faults["job"] = str(error)
    except BadParams as error:
        faults["params"] = str(error)
    if faults:
        raise ValidationError(faults)


def _faults_of_pairs(schedule: Schedule) -> dict[str, str]:
    faults = {}
    if schedule.starts_at and schedule.ends_at and schedule.ends_at < schedule.starts_at:
        faults["ends_at"] = _("The schedule ends before it starts. Choose a later end or an earlier start.")
    if (schedule.quiet_from is None) != (schedule.quiet_until is None):
        missing = "quiet_from" if schedule.quiet_from is None else "quiet_until"
        faults[missing] = _("Quiet hours need both ends: from when and until when.")
    elif schedule.quiet_from is not None and schedule.quiet_from == schedule.quiet_until:
        faults["quiet_until"] = _(
            "Quiet hours that begin and end at the same time would never end. Choose another end."
        )
    if schedule.quota_need is not None and schedule.quota_id is None:
        faults["quota"] = _("It says what it needs, but not of which quota. Choose one, or leave the need empty.")
    return faults


def remove(schedule: Schedule) -> bool:
    """Delete a schedule that never did anything; tell whether it is gone. One with a history is kept."""
    with transaction.atomic():
        current = Schedule.objects.select_for_update().get(pk=schedule.pk)  # nothing fires meanwhile
        if current.fires.exists() or current.runs.exists():
            return False
        current.delete()
    return True


def pause(schedule: Schedule, *, now: datetime, reason: str, actor: str = "") -> bool:
    """Stop firing; tell whether it was enabled. What falls due meanwhile is no backlog."""
    return bool(
        Schedule.objects.filter(pk=schedule.pk, enabled=True).update(
            enabled=False, pause_reason=reason, paused_by=actor, version=F("version") + 1, updated_at=now
        )
    )


def enable(schedule: Schedule, *, now: datetime) -> bool:
    """Fire again, from now on; tell whether it was paused. What fell due meanwhile is one recorded skip.

    Raises:
        ValidationError: its trigger cannot be read any more.
    """
    with transaction.atomic():
        current = Schedule.objects.select_for_update().get(pk=schedule.pk)
        if current.enabled:
            return False
        prepare(current, now=now)
        _record_left_out(current, now)
        Schedule.objects.filter(pk=current.pk).update(
            enabled=True,
            pause_reason="",
            paused_by="",
            broken_reason="",
            next_run_at=current.as_trigger().next_after(now),
            version=F("version") + 1,
            updated_at=now,
        )
    return True


def _set_trigger(schedule: Schedule, trigger: Trigger) -> None:
    match trigger:
        case Cron(expression=expression):
            schedule.trigger, schedule.cron = Schedule.TriggerKind.CRON, expression
        case Interval(seconds=seconds, anchor=anchor):
            schedule.trigger = Schedule.TriggerKind.INTERVAL
            schedule.interval_seconds, schedule.anchor_at = seconds, anchor
        case Once(at=at):
            schedule.trigger, schedule.once_at = Schedule.TriggerKind.ONCE, at


def _usual_overlap(trigger: Trigger) -> str:
    """What fires at most once a day queues, since each data day is wanted; what fires more often skips."""
    return Schedule.Overlap.QUEUE if cron.fires_at_most_daily(trigger) else Schedule.Overlap.SKIP


def _first_run(schedule: Schedule, now: datetime) -> datetime:
    upcoming = schedule.as_trigger().next_after(now)
    if upcoming is not None:
        return upcoming
    if cron.unbounded(schedule.as_trigger()).next_after(now) is not None:
        raise ValidationError(
            {"ends_at": _("It ends before its next due time, so it would never fire. Choose a later end.")}
        )
    sentence = _("This lies in the past, so it would never fire. Choose a later instant.")
    raise ValidationError({_form_field(schedule.trigger): sentence})


def _next_run_after_edit(current: Schedule, edited: Schedule, now: datetime) -> datetime:
    due = current.next_run_at
    if current.enabled and due is not None and due <= now and edited.as_trigger().latest_until(due) == due:
        return due
    return _first_run(edited, now)


def _record_left_out(schedule: Schedule, now: datetime) -> None:
    """Record as one skip what is due and will not fire: the schedule was paused, or has another trigger now."""
    left_out = _due_until(schedule, now)
    if left_out is None:
        return
    skip = NewFire(
        schedule=schedule,
        fire_at=left_out.first,
        kind=FireKind.MISFIRE,
        outcome=FireOutcome.SKIPPED_MISFIRE if schedule.enabled else FireOutcome.SKIPPED_PAUSED,
        reason=wording.changed(left_out, schedule) if schedule.enabled else wording.paused(left_out, schedule),
        missed=left_out,
        recorded_at=now,
    )
    insert_fires([skip])


def _due_until(schedule: Schedule, now: datetime) -> Missed | None:
    """Return what is due and not fired, the present instant included."""
    due = schedule.next_run_at
    if due is None or due > now:
        return None
    try:
        return cron.missed(schedule.as_trigger(), due, now + timedelta.resolution)
    except TriggerError:  # edited in the database, and not scanned since
        return Missed(due, due, 1, capped=False)


def _form_field(trigger_field: str) -> str:
    return {"interval": "interval_seconds", "once": "once_at"}.get(trigger_field, trigger_field)
