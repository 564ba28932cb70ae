"""Alerts of the polling: cards whose checks keep failing, and accounts over them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import django_filters
from django.db.models import Count, Min, QuerySet
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from alerts.admin.alert_actions import ACKNOWLEDGE, RESOLVE
from alerts.api.alerts import AlertSerializer
from alerts.models import Alert
from alerts.states import AlertState, Severity
from project.kit.admin import ObjectAction
from project.kit.api.filtering import RowFilter
from project.kit.api.offering import perform_action
from project.kit.api.resources import Resource
from project.kit.api.serializers import Instant
from scheduler.polling.states import CheckType
from scheduler.polling.stats import ALERT_KINDS

LONGEST_NOTE = 500
ACTIONS: Mapping[str, ObjectAction] = {AlertState.ACKNOWLEDGED: ACKNOWLEDGE, AlertState.RESOLVED: RESOLVE}


class StatusSerializer(serializers.Serializer[Any]):
    """Where an alert is to stand, and why."""

    status = serializers.ChoiceField(choices=list(ACTIONS))
    note = serializers.CharField(
        max_length=LONGEST_NOTE, allow_blank=True, default="", help_text="What was found or done. Resolving needs one."
    )


class CountedSerializer(serializers.Serializer[Any]):
    """How many alerts are not resolved."""

    name = serializers.CharField()
    open = serializers.IntegerField()
    acknowledged = serializers.IntegerField()


class SummarySerializer(serializers.Serializer[Any]):
    """How many alerts are not resolved, and of what."""

    open = serializers.IntegerField(help_text="To which nobody sees yet.")
    acknowledged = serializers.IntegerField(help_text="To which somebody sees.")
    oldest_at = Instant(allow_null=True)
    kinds = CountedSerializer(many=True)
    accounts = CountedSerializer(many=True)
    checks = CountedSerializer(many=True)


class CardFilter(RowFilter):
    """Alerts of one card, by its number."""

    def filter(self, qs: QuerySet[Any], value: int | None) -> QuerySet[Any]:
        """Return them."""
        return qs if value is None else qs.filter(**{self.field_name: f"card:{value}"})


class FailureAlertFilters(django_filters.FilterSet):
    """By where it stands, and what fails."""

    state = django_filters.ChoiceFilter(choices=AlertState.choices)
    severity = django_filters.ChoiceFilter(choices=Severity.choices)
    kind = django_filters.ChoiceFilter(choices=[(kind, kind) for kind in ALERT_KINDS])
    account = django_filters.CharFilter(field_name="labels__account")
    check = django_filters.ChoiceFilter(field_name="labels__check", choices=CheckType.choices)
    card = CardFilter(field_name="subject")


class FailureAlerts(Resource):
    """What fails in the polling, and who sees to it."""

    queryset = Alert.objects.filter(kind__in=ALERT_KINDS)
    serializer_class = AlertSerializer
    filterset_class = FailureAlertFilters
    ordering_fields = ("id", "last_at")

    @extend_schema(responses=SummarySerializer, filters=False)
    @action(detail=False, pagination_class=None)
    def summary(self, request: Request) -> Response:
        """Count what is not resolved: by kind, account and check."""
        return Response(SummarySerializer(_summary(self.get_queryset())).data)

    @extend_schema(request=StatusSerializer, responses=AlertSerializer)
    @action(detail=True, methods=["put"], permission="alerts.handle_alert")
    def status(self, request: Request, pk: int) -> Response:
        """Acknowledge or resolve an alert. One that stands there already is left as it is."""
        said = StatusSerializer(data=request.data)
        said.is_valid(raise_exception=True)
        status, note = said.validated_data["status"], said.validated_data["note"]
        alert = self.get_object()
        if alert.state != status:
            _demand_note(status, note)
            perform_action(request, ACTIONS[status], alert, {"reason": note})
        return Response(self.shown(pk))


def _demand_note(status: str, note: str) -> None:
    if status == AlertState.RESOLVED and not note.strip():
        raise ValidationError({"note": _("Say why it is resolved: what was found, what was done.")})


def _summary(alerts: QuerySet[Alert]) -> dict[str, Any]:
    groups: list[Any] = list(
        alerts.filter(resolved_at__isnull=True)
        .order_by()
        .values("kind", "state", "labels__account", "labels__check")
        .annotate(count=Count("id"), oldest=Min("first_at"))
    )
    return {
        **_by_state(groups),
        "oldest_at": min((group["oldest"] for group in groups), default=None),
        "kinds": _counted(groups, "kind"),
        "accounts": _counted(groups, "labels__account"),
        "checks": _counted(groups, "labels__check"),
    }


def _counted(groups: Sequence[Mapping[str, Any]], column: str) -> list[dict[str, Any]]:
    """Return the counts by a column, where it says something."""
    names = sorted({group[column] for group in groups} - {None})
    return [{"name": name} | _by_state([group for group in groups if group[column] == name]) for name in names]


def _by_state(groups: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    counted: Counter[str] = Counter()
    for group in groups:
        counted[group["state"]] += group["count"]
    return {"open": counted[AlertState.OPEN], "acknowledged": counted[AlertState.ACKNOWLEDGED]}
