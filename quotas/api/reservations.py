"""Reservations: what is held for whom, and what became of it."""

import django_filters
from rest_framework import serializers

from project.kit.api.filtering import RowFilter
from project.kit.api.resources import Resource
from project.kit.api.serializers import RowSerializer
from quotas.models import Reservation
from quotas.states import Purpose, ReservationState


class ReservationSerializer(RowSerializer):
    """A reservation."""

    quota_key = serializers.CharField(source="quota.key")

    class Meta:
        model = Reservation
        fields = read_only_fields = (
            *("id", "quota", "quota_key", "state", "purpose", "amount", "settled_amount", "owner", "attempt"),
            *("idempotency_key", "created_at", "expires_at", "ended_at"),
        )
        extra_kwargs = {
            "owner": {"help_text": "For whom, as in run:12."},
            "settled_amount": {"help_text": "What the work really took. Null: not known."},
        }


class ReservationFilters(django_filters.FilterSet):
    """By the quota, for whom, and what became of it."""

    quota = RowFilter(field_name="quota_id")
    owner = django_filters.CharFilter()
    state = django_filters.ChoiceFilter(choices=ReservationState.choices)
    purpose = django_filters.ChoiceFilter(choices=Purpose.choices)


class Reservations(Resource):
    """What is held, and for whom."""

    queryset = Reservation.objects.select_related("quota")
    serializer_class = ReservationSerializer
    filterset_class = ReservationFilters
