"""Edges: when quotas came back, and what was resumed by that."""

import django_filters
from rest_framework import serializers

from project.kit.api.filtering import RowFilter
from project.kit.api.resources import Resource
from project.kit.api.serializers import RowSerializer
from quotas.models import Edge
from quotas.states import Cause


class EdgeSerializer(RowSerializer):
    """An edge."""

    quota_key = serializers.CharField(source="quota.key")

    class Meta:
        model = Edge
        fields = read_only_fields = (
            *("id", "quota", "quota_key", "cause", "available", "at", "handled_at", "resumed_count"),
        )
        extra_kwargs = {
            "available": {"help_text": "What it had then. Null: unlimited."},
            "handled_at": {"help_text": "When the waiting work was looked at. Null: not yet."},
        }


class EdgeFilters(django_filters.FilterSet):
    """By the quota, and what brought it back."""

    quota = RowFilter(field_name="quota_id")
    cause = django_filters.ChoiceFilter(choices=Cause.choices)


class Edges(Resource):
    """The moments at which quotas came back."""

    queryset = Edge.objects.select_related("quota")
    serializer_class = EdgeSerializer
    filterset_class = EdgeFilters
