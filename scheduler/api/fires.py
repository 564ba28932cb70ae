"""Fires: what became of each due time, and why."""

from typing import Any

import django_filters
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from project.kit.api.filtering import InstantFilter, RowFilter
from project.kit.api.resources import Resource
from project.kit.api.serializers import RowSerializer
from project.kit.clock import database_now
from scheduler.api.explanations import ExplanationSerializer
from scheduler.explaining import explain_fire
from scheduler.models import Fire
from scheduler.states import FireKind, FireOutcome


class FireSerializer(RowSerializer):
    """A due time that was claimed."""

    schedule_name = serializers.CharField(source="schedule.name", read_only=True)
    run = serializers.IntegerField(
        source="run.pk", default=None, allow_null=True, read_only=True, help_text="That it started. Null: none."
    )

    class Meta:
        model = Fire
        fields: tuple[str, ...] = (
            *("id", "schedule", "schedule_name", "fire_at", "kind", "outcome", "reason", "run", "actor", "recorded_at"),
            *("missed_from", "missed_until", "missed_count"),
        )


class FireWithWhySerializer(FireSerializer):
    """A due time that was claimed, and why it went so."""

    why = serializers.SerializerMethodField()

    class Meta(FireSerializer.Meta):
        fields = (*FireSerializer.Meta.fields, "why")

    @extend_schema_field(ExplanationSerializer)
    def get_why(self, fire: Fire) -> Any:
        """Return what became of it, and where its run stands."""
        return ExplanationSerializer(explain_fire(fire, now=database_now())).data


class FireFilters(django_filters.FilterSet):
    """By the schedule, why it was claimed, what became of it, and when it was due."""

    schedule = RowFilter(field_name="schedule_id")
    kind = django_filters.ChoiceFilter(choices=FireKind.choices)
    outcome = django_filters.ChoiceFilter(choices=FireOutcome.choices)
    since = InstantFilter(field_name="fire_at", lookup_expr="gte")
    before = InstantFilter(field_name="fire_at", lookup_expr="lt")


class Fires(Resource):
    """What became of each due time."""

    queryset = Fire.objects.select_related("schedule", "run").defer("run__params", "run__progress", "run__result")
    serializer_class = FireSerializer
    detail_serializer_class = FireWithWhySerializer
    filterset_class = FireFilters
    ordering = "-fire_at"
    ordering_fields = ("fire_at", "id")
