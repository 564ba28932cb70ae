"""The form of a schedule. The domain decides what is right; the form puts each of its sentences on the right field."""

from copy import copy
from datetime import datetime
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from django import forms
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, PermissionsMixin
from django.core.exceptions import ValidationError
from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import VersionLockedForm, pretty_json
from project.kit.clock import database_now
from scheduler import cron, schedules
from scheduler.admin.secret_params import masked, unmasked
from scheduler.admin.wall_clock import ClockInput, WallClockField, from_wall, on_wall
from scheduler.cron import TriggerError
from scheduler.jobs.registry import JOBS
from scheduler.models import Schedule

COMMAND = "command"
WALL_CLOCK_FIELDS = ("anchor_at", "once_at", "starts_at", "ends_at")

FIELDSETS: tuple[tuple[Any, Any], ...] = (
    (gettext_lazy("What"), {"fields": ("name", "job", "params", "description")}),
    (
        gettext_lazy("When"),
        {
            "fields": (
                "trigger",
                "cron",
                "interval_seconds",
                "anchor_at",
                "once_at",
                "timezone",
                "stat_date_offset",
            ),
            "classes": ("when",),
        },
    ),
    (
        gettext_lazy("When not, and when later"),
        {
            "fields": (
                "starts_at",
                "ends_at",
                "calendar",
                "on_excluded",
                "jitter_seconds",
                ("quiet_from", "quiet_until"),
            )
        },
    ),
    (
        gettext_lazy("When it is late, overlaps or fails"),
        {
            "fields": (
                "misfire_grace_seconds",
                "overlap",
                "on_interrupt",
                "retry_delays",
                "timeout_seconds",
                "priority",
            )
        },
    ),
    (
        gettext_lazy("Quota"),
        {
            "fields": ("quota", "quota_need", "resume_limit", "resume_by_hand"),
            "description": gettext_lazy(
                "A run that its quotas refuse is paused with its checkpoint, and goes on by itself when they allow it. "
                "While the quota chosen here is used up, runs wait without being launched. What a job charges is up to "
                "the job."
            ),
        },
    ),
)


def may_use_command(user: AbstractBaseUser | AnonymousUser) -> bool:
    """Tell whether the user may create and edit schedules that run shell commands."""
    return isinstance(user, PermissionsMixin) and user.has_perm("scheduler.use_command_job")


class ParamsField(forms.JSONField):
    """A JSON object, shown with its lines indented."""

    def prepare_value(self, value: Any) -> Any:
        """Return the text of the object; what could not be read comes back as it was typed."""
        if isinstance(value, dict) or value is None:
            return pretty_json(value) if value else ""
        return super().prepare_value(value)

    def clean(self, value: Any) -> Any:
        """Return the object; nothing typed is an object without parameters."""
        read = super().clean(value)
        if read is None:
            return {}
        if not isinstance(read, dict):
            raise ValidationError(_('Write the parameters as a JSON object, as in {"name": "value"}.'))
        return read


class QuotaField(forms.ModelChoiceField):  # type: ignore[type-arg]
    """A quota, by its key: that is how jobs and people call it."""

    def label_from_instance(self, obj: Any) -> str:
        """Return the key, with the title where it has one."""
        return f"{obj.key} – {obj.title}" if obj.title else obj.key


class ScheduleForm(VersionLockedForm):
    """A schedule. Instants are on the clocks of its own zone.

    Attributes:
        draft: after cleaning, the schedule as typed, completed as far as the domain could.
    """

    user: ClassVar[AbstractBaseUser | AnonymousUser] = AnonymousUser()

    job = forms.ChoiceField(label=gettext_lazy("Job"))
    params = ParamsField(
        label=gettext_lazy("Parameters"),
        required=False,
        encoder=DjangoJSONEncoder,
        widget=forms.Textarea(attrs={"rows": 6, "class": "code", "spellcheck": "false"}),
        help_text=gettext_lazy("A JSON object. What the chosen job takes stands below."),
    )
    anchor_at = WallClockField(
        label=gettext_lazy("Counted from"),
        required=False,
        help_text=gettext_lazy("By the clocks of the time zone below. Empty: from the moment of saving."),
    )
    once_at = WallClockField(
        label=gettext_lazy("Once at"), required=False, help_text=gettext_lazy("By the clocks of the time zone below.")
    )
    starts_at = WallClockField(
        label=gettext_lazy("Starts"),
        required=False,
        help_text=gettext_lazy("By the clocks of its time zone. It fires from this time on. Empty: at once."),
    )
    ends_at = WallClockField(
        label=gettext_lazy("Ends"),
        required=False,
        help_text=gettext_lazy("By the clocks of its time zone. It fires until this time. Empty: for ever."),
    )

    class Meta:
        model = Schedule
        fields = schedules.EDITABLE_FIELDS
        widgets = {
            "cron": forms.TextInput(attrs={"class": "code", "size": 30, "spellcheck": "false"}),
            "timezone": forms.TextInput(attrs={"list": "zones", "size": 30, "autocomplete": "off"}),
            "description": forms.Textarea(attrs={"rows": 2}),
            "retry_delays": forms.TextInput(attrs={"size": 30}),
            "quiet_from": ClockInput(),
            "quiet_until": ClockInput(),
        }
        field_classes: ClassVar = {"quota": QuotaField}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        instance = kwargs.get("instance")
        initial = {**(self.initial_values(instance) if instance else {}), **(kwargs.pop("initial", None) or {})}
        super().__init__(*args, initial=initial, **kwargs)
        if "job" in self.fields:  # not so on the page of somebody who may only look
            self.fields["job"].choices = self._job_choices()  # type: ignore[attr-defined]

    def initial_values(self, instance: Schedule) -> dict[str, Any]:
        """Return the values with which the form shows the schedule: its instants by its own clocks."""
        values: dict[str, Any] = {name: getattr(instance, name) for name in schedules.EDITABLE_FIELDS}
        zone = _zone(instance.timezone) or ZoneInfo("UTC")
        values["params"] = masked(instance.job, instance.params)
        return values | {name: on_wall(values[name], zone) for name in WALL_CLOCK_FIELDS}

    def clean_params(self) -> dict[str, Any]:
        """Put the stored secrets back where their dots were left standing."""
        params: dict[str, Any] = self.cleaned_data["params"]
        if self.cleaned_data.get("job") != self.instance.job:
            return params
        restored: dict[str, Any] = unmasked(self.instance.job, params, self.instance.params)
        return restored

    def clean(self) -> dict[str, Any]:
        """Put the local times into the schedule's zone."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        zone = _zone(cleaned.get("timezone", ""))
        moved = "timezone" in self.changed_data
        for name in WALL_CLOCK_FIELDS:
            if name in self.changed_data or moved:
                cleaned[name] = from_wall(cleaned.get(name), zone) if zone else None
            else:
                cleaned[name] = getattr(self.instance, name)  # with the microseconds that no field shows
        return cleaned

    def store(self, schedule: Schedule, *, now: datetime) -> None:
        """Write a schedule that holds what was typed, as new or over the version that the form was opened with."""
        if schedule.pk is None:
            schedules.save_new(schedule, now=now)
        else:
            schedules.save_changes(schedule, expected_version=self.cleaned_data["expected_version"], now=now)

    def _get_validation_exclusions(self) -> set[str]:
        # The domain completes these and says what is wrong with them; the constraints could only name themselves.
        return {*super()._get_validation_exclusions(), *schedules.TRIGGER_FIELDS, "overlap"}  # type: ignore[misc]

    def _post_clean(self) -> None:
        super()._post_clean()
        now = database_now()
        self.draft = copy(self.instance)
        try:
            schedules.prepare(self.draft, now=now)
            if not self.errors:
                self._rehearse(now)
        except ValidationError as refusal:
            self.add_refusals(refusal)

    def _rehearse(self, now: datetime) -> None:
        """Store a copy and take that back: what the domain refuses only then is said by the form, too."""
        with transaction.atomic():
            self.store(copy(self.instance), now=now)
            transaction.set_rollback(True)

    def _job_choices(self) -> list[tuple[str, str]]:
        allowed = [key for key in sorted(JOBS) if key != COMMAND or may_use_command(self.user)]
        choices = [(key, _job_text(key)) for key in allowed]
        current = self.instance.job
        if current and current not in JOBS:
            choices.append((current, _("%(job)s (not registered here)") % {"job": current}))
        return [("", "–"), *choices]


def _job_text(key: str) -> str:
    title = JOBS[key].label
    return key if title == key else f"{title} ({key})"


def _zone(name: str) -> ZoneInfo | None:
    try:
        return cron.zone(name)
    except TriggerError:
        return None
