"""How a person starts a run of a schedule beside its plan: from nothing, or from the checkpoint of an earlier one."""

from datetime import datetime
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import Asked, Done, ObjectAction, ReasonForm, absolute
from scheduler import cron, operations
from scheduler.admin import cells
from scheduler.admin.wall_clock import day_input
from scheduler.cron import TriggerError
from scheduler.models import Schedule, TaskRun

# So many of its latest runs are looked through for checkpoints to begin from.
RUNS_LOOKED_THROUGH = 60


class CheckpointField(forms.ModelChoiceField):  # type: ignore[type-arg]
    """An ended run with a checkpoint."""

    def label_from_instance(self, obj: Any) -> str:
        """Say which run it is, for which day, how it ended and how far it came."""
        named = {"id": obj.pk, "day": obj.stat_date, "state": obj.get_state_display(), "far": cells.far(obj)}
        return (_("the checkpoint of #%(id)s for %(day)s, %(state)s %(far)s") % named).rstrip()


class RunNowForm(ReasonForm):
    """Where it begins, for which data day, and why."""

    begin_from = CheckpointField(
        label=gettext_lazy("Begin from"),
        queryset=TaskRun.objects.none(),
        required=False,
        empty_label=gettext_lazy("nothing"),
    )
    stat_date = forms.DateField(label=gettext_lazy("Data day"), required=False, widget=day_input())
    field_order = ("begin_from", "stat_date", "reason")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not isinstance(self.row, Schedule):
            return
        checkpoints = _checkpoints(self.row)
        if checkpoints.exists() or self.data.get("begin_from"):  # one that was chosen may be gone by now
            self.fields["begin_from"].queryset = checkpoints  # type: ignore[attr-defined]
        else:
            del self.fields["begin_from"]
        self.fields["stat_date"].help_text = _day_help(self.row, self.now, "begin_from" in self.fields)

    def clean(self) -> dict[str, Any]:
        """Refuse a checkpoint for another data day than its own."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        source, day = cleaned.get("begin_from"), cleaned.get("stat_date")
        if source and day and source.stat_date != day:
            text = _("The checkpoint of #%(id)s is one of %(day)s. Leave the data day empty, or begin from nothing.")
            self.add_error("stat_date", text % {"id": source.pk, "day": source.stat_date})
        return cleaned


def _checkpoints(schedule: Schedule) -> QuerySet[TaskRun]:
    latest = TaskRun.objects.filter(schedule=schedule).order_by("-id").values_list("pk", flat=True)
    runs = TaskRun.objects.filter(pk__in=list(latest[:RUNS_LOOKED_THROUGH]), finished_at__isnull=False)
    return runs.exclude(progress={}).order_by("-id")


def _day_help(schedule: Schedule, now: datetime, checkpoints: bool) -> str:
    day = _data_day(schedule, now)
    if day is None:
        return ""
    if checkpoints:
        return _("Empty: that of the checkpoint; from nothing %(day)s, as the schedule gives it to this moment.") % {
            "day": day
        }
    return _("Empty: %(day)s, as the schedule gives it to this moment.") % {"day": day}


def _data_day(schedule: Schedule, now: datetime) -> str | None:
    if not _zone_is_known(schedule):
        return None
    return cron.stat_date(now, schedule.timezone, schedule.stat_date_offset).isoformat()


def _zone_is_known(schedule: Schedule) -> bool:
    try:
        cron.zone(schedule.timezone)
    except TriggerError:
        return False
    return True


def _obstacle(schedule: Schedule) -> str:
    return "" if _zone_is_known(schedule) else _("Its time zone is not known, so it has no data day. Correct it first.")


def _consequences(schedule: Schedule, now: datetime) -> list[str]:
    sentences = [
        _("A run of “%(job)s” is opened, due at once, with the parameters that the schedule has now.")
        % {"job": schedule.job},
        _("The plan stays as it is: the next run is %(next)s.") % {"next": next_text(schedule)},
    ]
    if schedule.overlap != Schedule.Overlap.ALLOW:
        sentences.append(_("While another run of this schedule is in progress, it waits for it."))
    return sentences


def next_text(schedule: Schedule) -> str:
    """Return when the schedule fires next, or why it does not."""
    if not schedule.enabled:
        return _("none while it is paused")
    return absolute(schedule.next_run_at) if schedule.next_run_at else _("not planned")


def _run_now(schedule: Schedule, asked: Asked) -> Done:
    run = operations.run_now(
        schedule,
        now=asked.now,
        actor=asked.actor,
        stat_date=asked.values.get("stat_date"),
        progress_of=asked.values.get("begin_from"),
        reason=asked.reason,
    )
    return Done(_("Run #%(id)s was opened for %(day)s.") % {"id": run.pk, "day": run.stat_date}, show=run)


RUN_NOW = ObjectAction(
    name="run-now",
    label=gettext_lazy("Run now"),
    permission="scheduler.run_schedule",
    obstacle=_obstacle,
    consequences=_consequences,
    perform=_run_now,
    form=RunNowForm,
    tone="primary",
)
