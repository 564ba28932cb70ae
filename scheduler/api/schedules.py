"""Schedules: the list, each one, its coming fires, and what a person can do with it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import django_filters
from django.contrib.admin.models import DELETION
from django.db import transaction
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from project.kit.api.filtering import ShowFilter
from project.kit.api.offering import offered
from project.kit.api.problems import Conflict
from project.kit.api.resources import Creating, Patching
from project.kit.api.serializers import Instant
from project.kit.clock import database_now
from project.kit.overtaking import looking_again
from scheduler import schedules
from scheduler.admin.questions import SCHEDULE_QUESTIONS
from scheduler.admin.run_now import RUN_NOW
from scheduler.admin.schedule_actions import BACKFILL, ENABLE, PAUSE, BackfillForm
from scheduler.api import parameters, previews
from scheduler.api.backfills import BackfillSerializer
from scheduler.api.explanations import ExplanationSerializer
from scheduler.api.run_serializers import RunSerializer
from scheduler.api.schedule_serializer import NOTHING_SET, ScheduleSerializer
from scheduler.explaining import explain
from scheduler.management.lookups import YEARS
from scheduler.models import Schedule


class AtSerializer(serializers.Serializer[Any]):
    """The due time that is asked about."""

    at = Instant(required=False, help_text="Left out: where the schedule stands, and what it did last.")

    def validate_at(self, at: datetime) -> datetime:
        """Return the instant.

        Raises:
            ValidationError: it is so far away that no schedule has anything to do with it.
        """
        if at.year not in YEARS:
            words = _("Choose an instant in the years %(first)s to %(last)s.")
            raise ValidationError(words % {"first": YEARS[0], "last": YEARS[-1]})
        return at


class ScheduleFilters(django_filters.FilterSet):
    """By its name, what it runs, and where it stands."""

    show = ShowFilter(SCHEDULE_QUESTIONS)
    name = django_filters.CharFilter()
    job = django_filters.CharFilter()
    trigger = django_filters.ChoiceFilter(choices=Schedule.TriggerKind.choices)
    enabled = django_filters.BooleanFilter()
    calendar = django_filters.CharFilter(field_name="calendar__name")
    quota = django_filters.CharFilter(field_name="quota__key")


class Schedules(Creating, Patching):
    """When jobs are to run."""

    queryset = Schedule.objects.select_related("calendar", "quota")
    serializer_class = ScheduleSerializer
    filterset_class = ScheduleFilters
    ordering = "name"
    ordering_fields = ("name", "id")

    run_now = offered(RUN_NOW, opens=RunSerializer)
    backfill = offered(replace(BACKFILL, form=BackfillForm), opens=BackfillSerializer)
    pause = offered(PAUSE)
    enable = offered(ENABLE)

    def add(self, values: dict[str, Any], *, actor: str, now: datetime) -> Schedule:
        """Insert a schedule whose first fire is the next instant of its trigger."""
        schedule = Schedule(**values)
        schedules.save_new(schedule, now=now)
        return schedule

    def change(self, row: Schedule, *, expected_version: int, now: datetime) -> list[str]:
        """Write what changed of a schedule."""
        return schedules.save_changes(row, expected_version=expected_version, now=now)

    def update(self, request: Request, pk: int) -> Response:
        """Set all of a schedule: what is left out is as if nobody had ever set it."""
        said = request.data
        if not isinstance(said, Mapping):
            return self.written(request, pk, said)
        if missing := [name for name in ("name", "job") if name not in said]:
            raise ValidationError({name: _("Write it: a change as a whole needs it.") for name in missing})
        return self.written(request, pk, {**NOTHING_SET, **said})

    @extend_schema(responses={204: None})
    @looking_again()
    def destroy(self, request: Request, pk: int) -> Response:
        """Delete a schedule that never did anything; one with a history is kept."""
        schedule = self.get_object()
        with transaction.atomic():
            self.audit(schedule, DELETION, _("Deleted through the API."))
            if not schedules.remove(schedule):
                sentence = _("“%(name)s” has a history, which is kept. Pause it instead.")
                raise Conflict(sentence % {"name": schedule.name}, current=self.shown(pk))
        return Response(status=204)

    @extend_schema(
        operation_id="schedules_preview",
        parameters=[previews.TriggerSerializer],
        responses=previews.PreviewSerializer,
        filters=False,
    )
    @action(detail=False, pagination_class=None, url_path="preview", url_name="trigger-preview")
    def trigger_preview(self, request: Request) -> Response:
        """Tell when a trigger would fire next."""
        said = parameters.read(request, previews.TriggerSerializer)
        return Response(previews.PreviewSerializer(previews.of_trigger(said, database_now())).data)

    @extend_schema(parameters=[previews.TriggerSerializer], responses=previews.ComparisonSerializer)
    @action(detail=True)
    def preview(self, request: Request, pk: int) -> Response:
        """Tell when the schedule fires next and, beside it, when it would after a change."""
        said = parameters.read(request, previews.TriggerSerializer)
        told = previews.of_schedule(self.get_object(), said, database_now())
        return Response(previews.ComparisonSerializer(told).data)

    @extend_schema(parameters=[AtSerializer], responses=ExplanationSerializer)
    @action(detail=True)
    def why(self, request: Request, pk: int) -> Response:
        """Say why the schedule did or did not run at an instant, or where it stands."""
        at = parameters.read(request, AtSerializer).get("at")
        explanation = explain(self.get_object(), at=at, now=database_now())
        return Response(ExplanationSerializer(explanation).data)
