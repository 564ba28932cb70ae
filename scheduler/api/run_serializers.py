"""How runs are shown."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from project.kit.api.serializers import RowSerializer
from project.kit.clock import database_now
from scheduler.admin.secret_params import masked
from scheduler.api.standings import StandingSerializer, standing_of
from scheduler.models import TaskRun

HEAVY = ("params", "progress", "result")


class RunSerializer(RowSerializer):
    """A run."""

    progress_percent = serializers.IntegerField(allow_null=True, read_only=True)

    class Meta:
        model = TaskRun
        fields: tuple[str, ...] = (
            *("id", "name", "job", "schedule", "fire", "backfill", "rerun_of", "stat_date"),
            *("state", "reason", "planned_at", "due_at", "created_at", "started_at", "finished_at", "priority"),
            *("progress_done", "progress_total", "progress_percent", "checkpoint_at"),
            *("attempt_count", "failure_count", "pause_count", "interruption_count"),
            *("cancel_requested_at", "cancel_requested_by"),
        )


class RunWithStandingSerializer(RunSerializer):
    """A run, with all that is known of it."""

    params = serializers.SerializerMethodField(help_text="Secrets are shown as dots.")
    checkpoint = serializers.JSONField(source="progress", read_only=True)
    quota = serializers.CharField(
        source="quota.key", default=None, allow_null=True, read_only=True, help_text="What it needs before it begins."
    )
    standing = serializers.SerializerMethodField()

    class Meta(RunSerializer.Meta):
        fields = (
            *RunSerializer.Meta.fields,
            *("params", "checkpoint", "result", "lease_owner", "lease_pid", "lease_expires_at", "deadline_at"),
            *("cancel_reason", "timeout_seconds", "retry_delays", "on_interrupt"),
            *("quota", "quota_need", "resume_limit", "resume_by_hand", "seal", "standing"),
        )

    @extend_schema_field({"type": "object", "additionalProperties": True})
    def get_params(self, run: TaskRun) -> Any:
        """Return its parameters, with dots for the secrets."""
        return masked(run.job, run.params)

    @extend_schema_field(StandingSerializer)
    def get_standing(self, run: TaskRun) -> Any:
        """Return where it stands and why, what it waits for, and what happens next."""
        return StandingSerializer(standing_of(run, database_now())).data
