"""The form of a schedule. The domain decides what is right; the form puts each of its sentences on the right field."""

from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from django import forms
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, PermissionsMixin
from django.core.exceptions import ValidationError
from django.core.serializers.json import DjangoJSONEncoder
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import VersionLockedForm
from project.kit.clock import database_now
from scheduler import cron, schedules
from scheduler.admin.cells import pretty_json
from scheduler.admin.wall_clock import WallClockField, from_wall, on_wall
from scheduler.cron import TriggerError
from scheduler.jobs.registry import JOBS
from scheduler.models import Schedule

COMMAND = "command"
WALL_CLOCK_FIELDS = ("anchor_at", "once_at")

FIELDSETS = (
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
)


def may_use_command(user: AbstractBaseUser | AnonymousUser) -> bool:
    """Tell whether the user may create and edit schedules that run shell commands."""
    return isinstance(user, PermissionsMixin) and user.has_perm("scheduler.use_command_job")


class ParamsField(forms.JSONField):
    """A JSON object, shown with its lines indented."""

    def prepare_value(self, value: Any) -> Any:
        """Return the text of the object; what could not be read comes back as it was typed."""
        if isinstance(value, dict):
            return pretty_json(value)
        return super().prepare_value(value)

    def clean(self, value: Any) -> Any:
        """Return the object; nothing typed is an object without parameters."""
        read = super().clean(value)
        if read in (None, ""):
            return {}
        if not isinstance(read, dict):
            raise ValidationError(_('Write the parameters as a JSON object, as in {"name": "value"}.'))
        return read


class ScheduleForm(VersionLockedForm):
    """A schedule. Instants are on the clocks of its own zone."""

    user: ClassVar[AbstractBaseUser | AnonymousUser] = AnonymousUser()

    job = forms.ChoiceField(label=gettext_lazy("Job"))
    params = ParamsField(
        label=gettext_lazy("Parameters"),
        required=False,
        encoder=DjangoJSONEncoder,
        widget=forms.Textarea(attrs={"rows": 6, "class": "code", "spellcheck": "false"}),
        help_text=gettext_lazy("A JSON object. What the chosen job takes stands beside it."),
    )
    anchor_at = WallClockField(
        label=gettext_lazy("Counted from"),
        required=False,
        help_text=gettext_lazy("By the clocks of the time zone below. Empty: from the moment of saving."),
    )
    once_at = WallClockField(
        label=gettext_lazy("Once at"), required=False, help_text=gettext_lazy("By the clocks of the time zone below.")
    )

    class Meta:
        model = Schedule
        fields = schedules.EDITABLE_FIELDS
        widgets = {
            "cron": forms.TextInput(attrs={"class": "code", "size": 30, "spellcheck": "false"}),
            "timezone": forms.TextInput(attrs={"list": "zones", "size": 30, "autocomplete": "off"}),
            "description": forms.Textarea(attrs={"rows": 2}),
            "retry_delays": forms.TextInput(attrs={"size": 30}),
        }

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
        return values | {name: on_wall(values[name], zone) for name in WALL_CLOCK_FIELDS}

    def clean(self) -> dict[str, Any]:
        """Put the local times into the schedule's zone."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        # `prepare` completes the row first; then the database's constraints are checked, in `_post_clean`.
        self._validate_constraints = False
        zone = _zone(cleaned.get("timezone", ""))
        moved = "timezone" in self.changed_data
        for name in WALL_CLOCK_FIELDS:
            if name in self.changed_data or moved:
                cleaned[name] = from_wall(cleaned.get(name), zone) if zone else None
            else:
                cleaned[name] = getattr(self.instance, name)  # with the microseconds that no field shows
        return cleaned

    def _post_clean(self) -> None:
        super()._post_clean()
        try:
            schedules.prepare(self.instance, now=database_now())
            self.instance.validate_constraints()
        except ValidationError as refusal:
            self._add_refusals(refusal)

    def _add_refusals(self, refusal: ValidationError) -> None:
        """Put each sentence on its field, unless that has one already or the form was refused anyway."""
        for name, sentences in refusal.message_dict.items():
            if name in self.fields and name not in self.errors:
                self.add_error(name, sentences)
            elif name not in self.fields and not self.errors:
                self.add_error(None, sentences)

    def _job_choices(self) -> list[tuple[str, str]]:
        allowed = [key for key in sorted(JOBS) if key != COMMAND or may_use_command(self.user)]
        choices = [(key, _job_text(key)) for key in allowed]
        current = self.instance.job
        if current and current not in JOBS:
            choices.append((current, _("%(job)s (not registered here)") % {"job": current}))
        return [("", "–"), *choices]


def _job_text(key: str) -> str:
    title = JOBS[key].title
    return key if title == key else f"{title} ({key})"


def _zone(name: str) -> ZoneInfo | None:
    try:
        return cron.zone(name)
    except TriggerError:
        return None
