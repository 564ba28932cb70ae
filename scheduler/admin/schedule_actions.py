"""What a person can do with a schedule beside editing it."""

from datetime import date, datetime
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from project.kit.admin import Asked, Done, ObjectAction, ReasonForm, RequiredReasonForm, absolute
from scheduler import backfilling, operations, schedules
from scheduler.admin.run_now import RUN_NOW, next_text
from scheduler.admin.wall_clock import day_input
from scheduler.cron import TriggerError
from scheduler.models import Schedule

# --- pause, enable ---------------------------------------------------------------------------------------------


def _pause_obstacle(schedule: Schedule) -> str:
    return "" if schedule.enabled else _("“%(name)s” is paused already.") % {"name": schedule.name}


def _pause_consequences(schedule: Schedule, now: datetime) -> list[str]:
    return [
        _("Nothing fires until somebody enables it; the next run would have been %(next)s.")
        % {"next": next_text(schedule)},
        _("What falls due meanwhile is not made up: it is recorded as one skip."),
        _("Runs that are open already go on."),
    ]


def _pause(schedule: Schedule, asked: Asked) -> Done:
    if not schedules.pause(schedule, now=asked.now, reason=asked.reason, actor=asked.actor):
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


# --- backfill --------------------------------------------------------------------------------------------------


class BackfillForm(ReasonForm):
    """Which days, how many at once, and why."""

    first_day = forms.DateField(label=gettext_lazy("First data day"), widget=day_input())
    last_day = forms.DateField(label=gettext_lazy("Last data day"), widget=day_input())
    parallel = forms.IntegerField(
        label=gettext_lazy("At once"),
        initial=1,
        required=False,
        min_value=1,
        max_value=1000,
        help_text=gettext_lazy("So many of its runs may be in progress at the same time."),
    )
    again = forms.BooleanField(
        label=gettext_lazy("Also days that are done"),
        required=False,
        help_text=gettext_lazy("Else days that are done, or that another backfill is to do, are left out."),
    )
    field_order = ("first_day", "last_day", "parallel", "again", "reason")

    def clean_parallel(self) -> int:
        """Return how many at once: one, where nothing is said."""
        return self.cleaned_data["parallel"] or 1

    def clean(self) -> dict[str, Any]:
        """Refuse a range of which nothing can be done."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        self.days: list[date] = []
        if not self.errors and isinstance(self.row, Schedule):
            wanted = {name: cleaned[name] for name in ("first_day", "last_day", "parallel", "again")}
            self.days = backfilling.days_to_do(self.row, **wanted, now=self.now)
        return cleaned


class CountedBackfillForm(BackfillForm):
    """On a page. Sent once it says how many runs that is; sent again it is confirmed."""

    confirmed = forms.CharField(required=False, widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        """Refuse a range whose runs were not counted before the person's eyes."""
        cleaned, days = super().clean(), self.days
        if not days:
            return cleaned
        counted = f"{days[0]} {days[-1]} {len(days)} {cleaned['parallel']}"
        if cleaned["confirmed"] != counted:
            self.data = {**self.data.dict(), "confirmed": counted}  # type: ignore[attr-defined]
            raise forms.ValidationError(_counted(days, cleaned["parallel"]))
        return cleaned


def _counted(days: list[date], parallel: int) -> str:
    text = ngettext(
        "This opens %(count)s run, for %(first)s. Send it once more to open it.",
        "This opens %(count)s runs, for %(first)s to %(last)s, at most %(parallel)s at once. "
        "Send it once more to open them.",
        len(days),
    )
    return text % {"count": len(days), "first": days[0], "last": days[-1], "parallel": parallel}


def _backfill_obstacle(schedule: Schedule) -> str:
    try:
        schedule.as_trigger()
    except TriggerError as error:
        return _("“%(name)s” cannot be backfilled: %(why)s") % {"name": schedule.name, "why": error}
    return ""


def _backfill_consequences(schedule: Schedule, now: datetime) -> list[str]:
    return [
        _("One run of “%(job)s” is opened for each data day, the oldest first. Before that you see how many these are.")
        % {"job": schedule.job},
        _("They are beside the plan: the schedule's own runs go on meanwhile, and excluded dates do not count."),
        _("What is left of it can be cancelled as a whole."),
    ]


def _backfill(schedule: Schedule, asked: Asked) -> Done:
    wanted = {name: asked.values[name] for name in ("first_day", "last_day", "parallel", "again")}
    backfill = backfilling.open_backfill(schedule, **wanted, now=asked.now, actor=asked.actor, reason=asked.reason)
    return Done(_("The backfill was opened with %(count)s runs.") % {"count": backfill.runs.count()}, show=backfill)


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
BACKFILL = ObjectAction(
    name="backfill",
    label=gettext_lazy("Backfill"),
    permission="scheduler.backfill_schedule",
    obstacle=_backfill_obstacle,
    consequences=_backfill_consequences,
    perform=_backfill,
    form=CountedBackfillForm,
)
SCHEDULE_ACTIONS = (RUN_NOW, BACKFILL, ENABLE, PAUSE)
