"""Alerts: the list, each one, and what a person can do with it."""

import django_filters

from alerts.admin.alert_actions import ACKNOWLEDGE, RESOLVE, SILENCE
from alerts.models import Alert
from alerts.states import AlertState, Severity
from project.kit.api.filtering import LabelFilter
from project.kit.api.offering import offered
from project.kit.api.resources import Resource
from project.kit.api.serializers import RowSerializer


class AlertSerializer(RowSerializer):
    """An alert."""

    class Meta:
        model = Alert
        fields = (
            "id",
            "state",
            "severity",
            "kind",
            "subject",
            "title",
            "sentence",
            "labels",
            "url",
            "fingerprint",
            "parent",
            "first_at",
            "last_at",
            "count",
            "told_at",
            "untold",
            "handler",
            "note",
            "resolved_at",
            "resolved_by",
        )


class AlertFilters(django_filters.FilterSet):
    """By where it stands, what it is, and how much it matters."""

    state = django_filters.ChoiceFilter(choices=AlertState.choices)
    severity = django_filters.ChoiceFilter(choices=Severity.choices)
    kind = django_filters.CharFilter()
    subject = django_filters.CharFilter()
    label = LabelFilter(field_name="labels")


class Alerts(Resource):
    """What went wrong, and who sees to it."""

    queryset = Alert.objects.all()
    serializer_class = AlertSerializer
    filterset_class = AlertFilters
    ordering_fields = ("id", "last_at")

    acknowledge = offered(ACKNOWLEDGE)
    resolve = offered(RESOLVE)
    silence = offered(SILENCE)
