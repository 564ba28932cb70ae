"""Deliveries: what was told to which channel, and how that went."""

from typing import Any

import django_filters
from django.db.models import QuerySet
from rest_framework import serializers

from alerts.models import Delivery, DeliveryTry
from alerts.states import DeliveryState, Telling
from project.kit.api.filtering import RowFilter
from project.kit.api.resources import Resource
from project.kit.api.serializers import Instant, RowSerializer


class DeliverySerializer(RowSerializer):
    """A delivery, with what it tells."""

    alert = serializers.IntegerField(source="event.alert_id", allow_null=True, read_only=True)
    telling = serializers.ChoiceField(source="event.telling", choices=Telling.choices, read_only=True)
    title = serializers.CharField(source="event.title", read_only=True)
    happened_at = Instant(source="event.at", read_only=True)

    class Meta:
        model = Delivery
        fields: tuple[str, ...] = (
            "id",
            "channel",
            "alert",
            "telling",
            "title",
            "happened_at",
            "state",
            "due_at",
            "tries",
            "outcome",
            "code",
            "meaning",
            "ended_at",
        )


class TrySerializer(RowSerializer):
    """One try to send it."""

    class Meta:
        model = DeliveryTry
        fields = ("at", "outcome", "status", "code", "meaning", "milliseconds")


class DeliveryWithTriesSerializer(DeliverySerializer):
    """A delivery, with each try."""

    attempts = TrySerializer(many=True, read_only=True)

    class Meta(DeliverySerializer.Meta):
        fields = (*DeliverySerializer.Meta.fields, "attempts")


class DeliveryFilters(django_filters.FilterSet):
    """By channel, state, and the alert that it tells of."""

    channel = RowFilter(field_name="channel_id")
    state = django_filters.ChoiceFilter(choices=DeliveryState.choices)
    alert = RowFilter(field_name="event__alert_id")


class Deliveries(Resource):
    """What was told to which channel, and how that went."""

    queryset = Delivery.objects.select_related("event").defer("event__text", "event__facts")
    serializer_class = DeliverySerializer
    detail_serializer_class = DeliveryWithTriesSerializer
    filterset_class = DeliveryFilters

    def get_queryset(self) -> QuerySet[Any]:
        """Return the deliveries; one alone with its tries."""
        rows = super().get_queryset()
        return rows.prefetch_related("attempts") if self.action == "retrieve" else rows
