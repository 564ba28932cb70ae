"""Why something ran or did not, and what happens next: the answers of `manage.py why --json`."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from project.kit.api.serializers import Instant
from scheduler.explaining import Explanation, Situation

NESTED = {"oneOf": [{"$ref": "#/components/schemas/Explanation"}, {"type": "null"}]}


class RowRefSerializer(serializers.Serializer[Any]):
    """A row that shows what is said."""

    kind = serializers.CharField(help_text="Its table: schedule, fire, run, attempt, event, approval, quota.")
    id = serializers.IntegerField()


class ExplanationSerializer(serializers.Serializer[Any]):
    """An answer to “why”."""

    situation = serializers.ChoiceField(
        choices=[str(each) for each in Situation], help_text="What it comes down to, for programs."
    )
    answer = serializers.CharField(help_text="One or two sentences. Times in it are local to the schedule's zone.")
    waits_for = serializers.CharField(help_text="What has to come before it goes on; empty: nothing.")
    held_by = serializers.CharField(help_text="Who has it now: a worker and its process; empty: nobody.")
    next_step = serializers.CharField(help_text="What happens next, at `next_at` where that is known.")
    next_at = Instant(allow_null=True)
    rows = RowRefSerializer(many=True, help_text="What shows it, the most telling first.")
    run = serializers.SerializerMethodField(help_text="The answer about the run that is meant.")

    @extend_schema_field(NESTED)
    def get_run(self, explanation: Explanation) -> Any:
        """Return the answer about the run; None: no run is meant."""
        return ExplanationSerializer(explanation.run).data if explanation.run else None
