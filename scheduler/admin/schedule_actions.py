"""What a person can do with a schedule beside editing it."""

from datetime import datetime
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import Asked, Done, ObjectAction, ReasonForm, RequiredReasonForm, absolute
from scheduler import cron, operations, schedules
from scheduler.cron import TriggerError
from scheduler.models import Schedule

# --- run now ---------------------------------------------------------------------------------------------------


class RunNowForm(ReasonForm):
    """For which data day, and why."""

    stat_date = forms.DateField(
        label=gettext_lazy("Data day"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    field_order = ("stat_date", "reason")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        day = _data_day(self.row, self.now) if isinstance(self.row, Schedule) else None
        if day:
            self.fields["stat_date"].help_text = _("Empty: %(day)s, as the schedule gives it to this moment.") % {
                "day": day
            }


def _run_now_obstacle(schedule: Schedule) -> str:
    return "" if _zone_is_known(schedule) else _("Its time zone is not known, so it has no data day. Correct it first.")


def _run_now_consequences(schedule: Schedule, now: datetime) -> list[str]:
    sentences = [
        _("A run of “%(job)s” is opened, due at once. It begins from nothing.") % {"job": schedule.job},
        _("The plan stays as it is: the next run is %(next)s.") % {"next": _next_text(schedule)},
    ]
    if schedule.overlap != Schedule.Overlap.ALLOW:
        sentences.append(_("While another run of this schedule is in progress, it waits for it."))
    return sentences


def _run_now(schedule: Schedule, asked: Asked) -> Done:
    run = operations.run_now(
        schedule, now=asked.now, actor=asked.actor, stat_date=asked.values.get("stat_date"), reason=asked.reason
    )
    return Done(_("Run #%(id)s was opened for %(day)s.") % {"id": run.pk, "day": run.stat_date}, show=run)


# --- pause, enable ---------------------------------------------------------------------------------------------


def _pause_obstacle(schedule: Schedule) -> str:
    return "" if schedule.enabled else _("“%(name)s” is paused already.") % {"name": schedule.name}


def _pause_consequences(schedule: Schedule, now: datetime) -> list[str]:
    return [
        _("Nothing fires until somebody enables it; the next run would have been %(next)s.")
        % {"next": _next_text(schedule)},
        _("What falls due meanwhile is not made up: it is recorded as one skip."),
        _("Runs that are open already go on."),
    ]


def _pause(schedule: Schedule, asked: Asked) -> Done:
    if not schedules.pause(schedule, now=asked.now, reason=asked.reason):
        raise operations.NotPossible(_pause_obstacle(schedule))
    return Done(_("“%(name)s” is paused.") % {"name": schedule.name})


def _enable_obstacle(schedule: Schedule) -> str:
    if schedule.enabled:
        return _("“%(name)s” is enabled already.") % {"name": schedule.name}
    try:
        schedule.as_trigger()
    except TriggerError as error:
        return _("“%(name)s” cannot be enabled: %(why)s") % {"name": schedule.name, "why": error}
    return ""


def _enable_consequences(schedule: Schedule, now: datetime) -> list[str]:
    upcoming = schedule.as_trigger().next_after(now)
    following = absolute(upcoming) if upcoming else _("never, as its only time has passed")
    return [
        _("It fires again from now on; the next run is %(next)s.") % {"next": following},
        _("What fell due while it was paused is not made up: it is recorded as one skip."),
    ]


def _enable(schedule: Schedule, asked: Asked) -> Done:
    if not schedules.enable(schedule, now=asked.now):
        raise operations.NotPossible(_enable_obstacle(schedule))
    return Done(_("“%(name)s” is enabled.") % {"name": schedule.name})


def _next_text(schedule: Schedule) -> str:
    if not schedule.enabled:
        return _("none while it is paused")
    return absolute(schedule.next_run_at) if schedule.next_run_at else _("not planned")


def _zone_is_known(schedule: Schedule) -> bool:
    try:
        cron.zone(schedule.timezone)
    except TriggerError:
        return False
    return True


def _data_day(schedule: Schedule, now: datetime) -> str | None:
    if not _zone_is_known(schedule):
        return None
    return cron.stat_date(now, schedule.timezone, schedule.stat_date_offset).isoformat()


RUN_NOW = ObjectAction(
    name="run-now",
    label=gettext_lazy("Run now"),
    permission="scheduler.run_schedule",
    obstacle=_run_now_obstacle,
    consequences=_run_now_consequences,
    perform=_run_now,
    form=RunNowForm,
    tone="primary",
)
PAUSE = ObjectAction(
    name="pause",
    label=gettext_lazy("Pause"),
    permission="scheduler.pause_schedule",
    obstacle=_pause_obstacle,
    consequences=_pause_consequences,
    perform=_pause,
    form=RequiredReasonForm,
    bulk=True,
)
ENABLE = ObjectAction(
    name="enable",
    label=gettext_lazy("Enable"),
    permission="scheduler.pause_schedule",
    obstacle=_enable_obstacle,
    consequences=_enable_consequences,
    perform=_enable,
    tone="primary",
    bulk=True,
)
SCHEDULE_ACTIONS = (RUN_NOW, ENABLE, PAUSE)
