"""What comes of a quota: how long it lasts, who waits for it and when they may go on."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from rest_framework import serializers

from project.kit.api.serializers import Instant
from quotas import availability, forecasting
from quotas.models import Quota
from quotas.outlook import next_reset, outlook
from quotas.prospects import Place


class OutlookSerializer(serializers.Serializer[Any]):
    """How long a quota lasts."""

    available = serializers.IntegerField(allow_null=True, help_text="Null: unlimited.")
    next_reset = Instant(allow_null=True, help_text="Null: it is topped up, or refills.")
    per_hour = serializers.IntegerField(allow_null=True, help_text="Spent in the last hours. Null: too few to tell.")
    runs_out_at = Instant(allow_null=True, help_text="Null: it lasts until the reset or for years, or too few to tell.")
    sentence = serializers.CharField(help_text="The forecast for people. Empty: too few to tell.")


class PlaceSerializer(serializers.Serializer[Any]):
    """The place of one piece of waiting work."""

    owner = serializers.CharField(help_text="What waits, as in run:12.")
    title = serializers.CharField()
    need = serializers.IntegerField(help_text="In the quota's units.")
    since = Instant()
    goes_on = serializers.BooleanField(help_text="It fits into what is available.")
    expected_at = Instant(allow_null=True, help_text="Null: when a person does something, or unknown.")
    held = serializers.CharField(help_text="Why it is not resumed by itself. Empty: it is.")
    why = serializers.CharField(help_text="Why it waits.")
    obstacle = serializers.CharField(help_text="Why it does not go on now. Empty: it does.")


class WaitingSerializer(serializers.Serializer[Any]):
    """What waits for a quota."""

    count = serializers.IntegerField()
    places = PlaceSerializer(many=True)


class SupposedSerializer(serializers.Serializer[Any]):
    """What is supposed: one of both."""

    top_up = serializers.IntegerField(required=False, help_text="If so much was added; of a capacity.")
    limit = serializers.IntegerField(required=False, help_text="If this was the limit.")


class SimulationSerializer(serializers.Serializer[Any]):
    """What would go on."""

    limit = serializers.IntegerField(help_text="That is supposed.")
    going = serializers.IntegerField(help_text="How many would go on.")
    places = PlaceSerializer(many=True)


def outlook_of(quota: Quota, now: datetime) -> dict[str, Any]:
    """Return how long a quota lasts."""
    known = outlook(quota, now=now)
    return {
        "available": availability.available(quota, now),
        "next_reset": next_reset(quota, now),
        "per_hour": known.per_hour if known else None,
        "runs_out_at": known.runs_out_at if known else None,
        "sentence": forecasting.sentence(known, now=now, timezone=quota.timezone) if known else "",
    }


def places_of(quota: Quota, queue: Iterable[Place]) -> list[dict[str, Any]]:
    """Return the places of a queue, in its order."""
    return [
        {
            "owner": place.work.waiting.key,
            "title": place.work.title,
            "need": place.need(quota),
            "since": place.work.waiting.since,
            "goes_on": place.goes_on,
            "expected_at": place.expected_at,
            "held": place.work.held,
            "why": place.work.why,
            "obstacle": place.obstacle,
        }
        for place in queue
    ]
