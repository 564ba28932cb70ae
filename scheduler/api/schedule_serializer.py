"""How a schedule is shown and written."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from project.kit.api.serializers import RowSerializer
from quotas.models import Quota
from scheduler import schedules
from scheduler.admin.secret_params import masked
from scheduler.api.calendars import NO_CALENDAR
from scheduler.api.job_params import ParamsField, demand_for_commands, restored
from scheduler.models import Calendar, Schedule

NO_QUOTA: dict[str, Any] = {
    "does_not_exist": _("There is no quota “{value}”."),
    "invalid": _("Write the key of a quota."),
}
# What a change as a whole writes where it says nothing: as if nobody had ever set it.
NOTHING_SET: Mapping[str, Any] = {
    name: Schedule._meta.get_field(name).get_default()  # type: ignore[union-attr]
    for name in schedules.EDITABLE_FIELDS
    if name not in ("name", "job")
}


class ScheduleSerializer(RowSerializer):
    """A schedule."""

    params = ParamsField(required=False, help_text="What its job takes: see `jobs`. Secrets are shown as dots.")
    calendar = serializers.SlugRelatedField(
        slug_field="name",
        queryset=Calendar.objects.all(),
        required=False,
        allow_null=True,
        help_text="The name of a calendar of excluded dates.",
        error_messages=NO_CALENDAR,
    )
    quota = serializers.SlugRelatedField(
        slug_field="key",
        queryset=Quota.objects.all(),
        required=False,
        allow_null=True,
        help_text="The key of a quota. Its runs wait, without being launched, while that is used up.",
        error_messages=NO_QUOTA,
    )

    class Meta:
        model = Schedule
        fields = (
            "id",
            *schedules.EDITABLE_FIELDS,
            *("enabled", "pause_reason", "paused_by", "next_run_at", "broken_reason", "origin"),
            *("created_at", "updated_at", "version"),
        )
        read_only_fields = ("enabled", "pause_reason")  # which actions write

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Put stored secrets back where their dots were sent, and ask for what shell commands want.

        Raises:
            PermissionDenied: the user, or the token, may not edit what runs shell commands.
            ValidationError: dots stand where nothing is stored.
        """
        stored = self.instance
        before = stored.job if stored else ""
        job = attrs.get("job", before)
        demand_for_commands(self.context["request"], {before, job})
        if "params" in attrs:
            attrs["params"] = restored(job, attrs["params"], stored.params if stored and job == before else {})
        return attrs

    def to_representation(self, instance: Schedule) -> dict[str, Any]:
        """Show the schedule, and dots for the secrets of its parameters."""
        shown: dict[str, Any] = super().to_representation(instance)
        return shown | {"params": masked(instance.job, instance.params)}
