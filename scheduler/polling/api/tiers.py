"""Tiers: which cards are checked how often, and how many cards each is for."""

from datetime import datetime
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from project.kit.api.offering import offered
from project.kit.api.resources import Creating, Patching
from project.kit.api.serializers import RowSerializer
from scheduler.polling import defining
from scheduler.polling.admin import tier_preview
from scheduler.polling.admin.tier_actions import DELETE
from scheduler.polling.models import PollingTier


class TierSerializer(RowSerializer):
    """A tier. The first that matches a card counts; an empty condition holds for every card."""

    class Meta:
        model = PollingTier
        fields = ("id", *defining.TIER_FIELDS, "version")


class TierLoadSerializer(serializers.Serializer[Any]):
    """How many cards a tier is for."""

    id = serializers.IntegerField(help_text="That of the tier.")
    name = serializers.CharField()
    cards = serializers.IntegerField(help_text="Polled cards of which it is the first that matches.")
    calls_a_day = serializers.IntegerField()


class TierLoadsSerializer(serializers.Serializer[Any]):
    """How many cards each tier is for, and calls it makes."""

    tiers = TierLoadSerializer(many=True)
    cards_without_tier = serializers.IntegerField(help_text="They are not checked.")


class Tiers(Creating, Patching):
    """Which cards are checked how often."""

    queryset = PollingTier.objects.all()
    serializer_class = TierSerializer
    ordering = "position"
    ordering_fields = ("position", "id")

    delete_tier = offered(DELETE, ends=True)

    def add(self, values: dict[str, Any], *, actor: str, now: datetime) -> PollingTier:
        """Insert a tier."""
        tier = PollingTier(**values)
        defining.save_new_tier(tier)
        return tier

    def change(self, row: PollingTier, *, expected_version: int, now: datetime) -> list[str]:
        """Write what changed of a tier."""
        return defining.save_tier(row, expected_version=expected_version)

    @extend_schema(responses=TierLoadsSerializer, filters=False)
    @action(detail=False, pagination_class=None)
    def cards(self, request: Request) -> Response:
        """Count how many of the polled cards each tier is for. That reads all of them."""
        found, unmatched = tier_preview.cards_of_tiers()
        counted = [
            {"id": row.pk, "name": row.name, "cards": cards, "calls_a_day": tier_preview.calls_a_day(row, cards)}
            for row, cards in found
        ]
        return Response(TierLoadsSerializer({"tiers": counted, "cards_without_tier": unmatched}).data)
