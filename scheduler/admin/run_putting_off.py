"""How a person hands a run that waits to another day."""

from datetime import datetime, timedelta
from typing import Any, cast
from zoneinfo import ZoneInfo

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import Asked, Done, ObjectAction, ReasonForm, absolute
from scheduler import cron
from scheduler.admin.wall_clock import WallClockField, from_wall, on_wall
from scheduler.cron import TriggerError
from scheduler.models import TaskRun
from scheduler.operations import putting_off


class PutOffForm(ReasonForm):
    """Until when, by the clocks of the run's schedule, and why."""

    until = WallClockField(label=gettext_lazy("Due at"))
    field_order = ("until", "reason")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        run = cast(TaskRun, self.row)
        self.zone = _zone(run)
        self.fields["until"].initial = on_wall(_same_time_tomorrow(run, self.zone, self.now), self.zone)
        self.fields["until"].help_text = _("By the clocks of %(zone)s.") % {"zone": self.zone.key}

    def clean_until(self) -> datetime:
        """Return the instant; refuse one that has passed or is too far away."""
        until = cast(datetime, from_wall(self.cleaned_data["until"], self.zone))  # the field is required
        if fault := putting_off.fault_of(until, self.now):
            raise forms.ValidationError(fault)
        return until


def _zone(run: TaskRun) -> ZoneInfo:
    try:
        return cron.zone(run.schedule.timezone if run.schedule else "UTC")
    except TriggerError:  # it was edited in the database, or is gone
        return ZoneInfo("UTC")


def _same_time_tomorrow(run: TaskRun, zone: ZoneInfo, now: datetime) -> datetime:
    planned, tomorrow = run.planned_at.astimezone(zone), now.astimezone(zone) + timedelta(days=1)
    return tomorrow.replace(hour=planned.hour, minute=planned.minute, second=0, microsecond=0)


def _obstacle(run: TaskRun) -> str:
    named = {"id": run.pk, "state": run.get_state_display()}
    if run.finished_at is not None or run.state not in putting_off.MAY_BE_PUT_OFF:
        return _("Run #%(id)s is %(state)s; only one that waits for its time, or is suspended, can be put off.") % named
    if run.cancel_requested_at is not None:
        return _("Somebody asked to cancel run #%(id)s, so it cannot be put off.") % named
    return ""


def _consequences(run: TaskRun, now: datetime) -> list[str]:
    sentences = [
        _("It waits until the time that you choose, and then goes on from its checkpoint.")
        if run.progress
        else _("It waits until the time that you choose, and then starts."),
        _("It stays the run for the data day %(day)s: only the time of its work changes.") % {"day": run.stat_date},
    ]
    if run.exclusive_key:
        sentences.append(_("Until it has ended, the later runs of its schedule wait for it, or are skipped."))
    return sentences


def _put_off(run: TaskRun, asked: Asked) -> Done:
    until: datetime = asked.values["until"]
    putting_off.put_off(run, until, now=asked.now, actor=asked.actor, reason=asked.reason)
    return Done(_("Run #%(id)s is put off until %(until)s.") % {"id": run.pk, "until": absolute(until)})


PUT_OFF = ObjectAction(
    name="put-off",
    label=gettext_lazy("Put off to another day"),
    permission="scheduler.resume_taskrun",
    obstacle=_obstacle,
    consequences=_consequences,
    perform=_put_off,
    form=PutOffForm,
)
