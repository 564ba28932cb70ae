"""Quotas: what each has, how long that lasts, who waits, and what a person does with it."""

from datetime import datetime
from typing import Any

import django_filters
from django.core.exceptions import ValidationError
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from project.kit.api.filtering import RowFilter, ShowFilter
from project.kit.api.offering import offered
from project.kit.api.resources import Creating, Patching
from project.kit.clock import database_now
from quotas import defining, prospects
from quotas.admin.questions import QUOTA_QUESTIONS
from quotas.admin.quota_actions import CHECK_NOW, RESET_NOW, SET_LIMIT, TOP_UP
from quotas.admin.simulating import WhatIfForm
from quotas.api.prospects import (
    OutlookSerializer,
    SimulationSerializer,
    SupposedSerializer,
    WaitingSerializer,
    outlook_of,
    places_of,
)
from quotas.api.rows import RULE_FIELDS, QuotaSerializer
from quotas.models import Quota
from quotas.states import Kind, Verdict


class QuotaFilters(django_filters.FilterSet):
    """By the key, what it is, and what people ask about quotas."""

    key = django_filters.CharFilter()
    kind = django_filters.ChoiceFilter(choices=Kind.choices)
    verdict = django_filters.ChoiceFilter(choices=Verdict.choices)
    parent = RowFilter(field_name="parent_id")
    show = ShowFilter(QUOTA_QUESTIONS)


class Quotas(Creating, Patching):
    """How much may be spent."""

    queryset = Quota.objects.select_related("parent").annotate(seen_at=Now())
    serializer_class = QuotaSerializer
    filterset_class = QuotaFilters
    ordering = "key"
    ordering_fields = ("key", "id")

    top_up = offered(TOP_UP)
    set_limit = offered(SET_LIMIT)
    reset_now = offered(RESET_NOW)
    check_now = offered(CHECK_NOW)

    def add(self, values: dict[str, Any], *, actor: str, now: datetime) -> Quota:
        """Insert a quota of which nothing is used."""
        quota = Quota(**values)
        defining.save_new(quota, now=now, actor=actor)
        return quota

    def change(self, row: Quota, *, expected_version: int, now: datetime) -> list[str]:
        """Write what changed of a quota's rule."""
        actor = self.request.user.get_username()
        return defining.save_changes(row, expected_version=expected_version, now=now, actor=actor, fields=RULE_FIELDS)

    # --- what comes ------------------------------------------------------------------------------------------------

    @extend_schema(responses=OutlookSerializer)
    @action(detail=True)
    def outlook(self, request: Request, pk: int) -> Response:
        """Tell how long it lasts at the rate of the last hours, and when what was spent comes back."""
        return Response(OutlookSerializer(outlook_of(self.get_object(), database_now())).data)

    @extend_schema(responses=WaitingSerializer)
    @action(detail=True)
    def waiting(self, request: Request, pk: int) -> Response:
        """Tell what waits for it or for what is part of it, in the order in which it goes on, and when it may."""
        quota = self.get_object()
        places = places_of(quota, prospects.queue(quota, now=database_now()))
        return Response(WaitingSerializer({"count": len(places), "places": places}).data)

    @extend_schema(parameters=[SupposedSerializer], responses=SimulationSerializer)
    @action(detail=True)
    def simulate(self, request: Request, pk: int) -> Response:
        """Tell what would go on if so much was added now, or if the limit was another. Nothing is changed."""
        quota = self.get_object()
        limit = _supposed_limit(quota, request)
        places = places_of(quota, prospects.queue_if(quota, limit, now=database_now()))
        going = sum(place["goes_on"] for place in places)
        return Response(SimulationSerializer({"limit": limit, "going": going, "places": places}).data)


def _supposed_limit(quota: Quota, request: Request) -> int:
    """Return the limit as it would be.

    Raises:
        ValidationError: nothing is supposed, or something that cannot be.
    """
    form = WhatIfForm(request.query_params, quota=quota)
    for name in request.query_params:
        if name not in form.fields:
            there_are = ", ".join(form.fields)
            raise ValidationError({name: _("There is no such parameter. There are: %s.") % there_are})
    if not form.is_valid():
        raise ValidationError(form.errors.as_data())
    return form.supposed_limit()
