"""Silences: of what nobody is told for a while."""

from datetime import datetime
from typing import Any

import django_filters
from django.contrib.admin.models import CHANGE
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from alerts.admin.questions import is_in_force
from alerts.models import Silence
from project.kit.api.idempotency import answered_once
from project.kit.api.problems import Conflict
from project.kit.api.resources import Creating
from project.kit.api.serializers import Instant, RowSerializer
from project.kit.clock import database_now


class SilenceSerializer(RowSerializer):
    """A silence."""

    labels = serializers.DictField(
        child=serializers.CharField(), required=False, help_text="An alert has to have all of them. Empty: any."
    )
    starts_at = Instant(required=False, help_text="By default it begins at once.")

    class Meta:
        model = Silence
        fields = ("id", "kind", "labels", "starts_at", "ends_at", "reason", "created_by")
        read_only_fields = ("created_by",)


class SilenceFilters(django_filters.FilterSet):
    """By kind, and whether it holds now."""

    kind = django_filters.CharFilter()
    in_force = django_filters.BooleanFilter(method="by_force")

    def by_force(self, rows: QuerySet[Silence], name: str, value: bool) -> QuerySet[Silence]:
        """Return those that hold now, or the others."""
        holding = is_in_force(database_now())
        return rows.filter(holding if value else ~holding)


class Silences(Creating):
    """Of what nobody is told for a while, and why."""

    queryset = Silence.objects.all()
    serializer_class = SilenceSerializer
    filterset_class = SilenceFilters
    ordering_fields = ("id", "ends_at")

    def add(self, values: dict[str, Any], *, actor: str, now: datetime) -> Silence:
        """Insert a silence that begins now unless it says otherwise."""
        silence = Silence(**{"starts_at": now, **values}, created_by=actor)
        if silence.ends_at <= max(silence.starts_at, now):
            raise ValidationError({"ends_at": _("It would be over before it begins. Choose a later end.")})
        silence.save(force_insert=True)
        return silence

    @extend_schema(request=None)
    @action(detail=True, methods=["post"], permission="alerts.change_silence")
    @answered_once()
    def end(self, request: Request, pk: int) -> Response:
        """End a silence that holds now."""
        now, silence = database_now(), self.get_object()
        with transaction.atomic():
            if not Silence.objects.filter(is_in_force(now), pk=pk, starts_at__lt=now).update(ends_at=now):
                raise Conflict(_("It does not hold now, so there is nothing to end."), current=self.shown(pk))
            self.audit(silence, CHANGE, _("Ended through the API."))
        return Response(self.shown(pk))
