"""Backfills: ranges of data days that people had schedules run for. One is started at its schedule's address."""

from typing import Any

import django_filters
from django.db.models import Count
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from project.kit.api.filtering import RowFilter
from project.kit.api.offering import offered
from project.kit.api.resources import Resource
from project.kit.api.serializers import RowSerializer
from scheduler.admin.backfills import CANCEL_LEFT
from scheduler.models import Backfill


class BackfillSerializer(RowSerializer):
    """A range of data days that a schedule was run for."""

    schedule_name = serializers.CharField(source="schedule.name", read_only=True)

    class Meta:
        model = Backfill
        fields: tuple[str, ...] = (
            *("id", "schedule", "schedule_name", "first_day", "last_day", "parallel", "reason"),
            *("created_at", "created_by", "cancelled_at", "cancelled_by"),
        )


class BackfillWithCountsSerializer(BackfillSerializer):
    """A backfill, and how far it is."""

    runs = serializers.SerializerMethodField(help_text="How many of its runs stand in which state.")

    class Meta(BackfillSerializer.Meta):
        fields = (*BackfillSerializer.Meta.fields, "runs")

    @extend_schema_field(serializers.DictField(child=serializers.IntegerField()))
    def get_runs(self, backfill: Backfill) -> Any:
        """Return how many of its runs stand in which state."""
        by_state = backfill.runs.order_by("state").values_list("state").annotate(count=Count("id"))
        return dict(by_state)


class BackfillFilters(django_filters.FilterSet):
    """By the schedule."""

    schedule = RowFilter(field_name="schedule_id")


class Backfills(Resource):
    """Ranges of data days that people had schedules run for."""

    queryset = Backfill.objects.select_related("schedule").defer("schedule__params")
    serializer_class = BackfillSerializer
    detail_serializer_class = BackfillWithCountsSerializer
    filterset_class = BackfillFilters

    cancel = offered(CANCEL_LEFT)
