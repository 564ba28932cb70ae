"""Channels: where alerts are told. Their address and signing secrets can be written, and are shown as dots."""

import re
from datetime import datetime
from typing import Any

import django_filters
from django.contrib.admin.models import CHANGE
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from alerts import defining
from alerts.admin.channel_actions import ENABLE, PAUSE
from alerts.channels.registry import FORMATS
from alerts.models import Channel
from alerts.states import DeliveryOutcome
from alerts.testing import in_words, send_test
from project.kit.api.idempotency import answered_once
from project.kit.api.offering import offered
from project.kit.api.resources import Creating, Patching
from project.kit.api.serializers import RowSerializer
from project.kit.clock import database_now

KIND = re.compile(r"^[a-z][a-z0-9_]{0,49}\Z")


class ChannelSerializer(RowSerializer):
    """A channel."""

    format = serializers.ChoiceField(
        choices=list(FORMATS), required=False, allow_blank=True, help_text="Empty: by the address."
    )
    kinds = serializers.ListField(
        child=serializers.RegexField(
            KIND, error_messages={"invalid": gettext_lazy("A kind is small letters, digits and _, as in run_failed.")}
        ),
        required=False,
        help_text="Of which kinds it is told. Empty: of every problem. Notices are told only where they are named.",
    )
    labels = serializers.DictField(
        child=serializers.CharField(), required=False, help_text="Only of what has all of these. Empty: of all."
    )

    class Meta:
        model = Channel
        fields = (
            "id",
            *defining.EDITABLE_FIELDS,
            "address_shown",
            "not_before",
            "failures",
            "last_sent_at",
            "last_error",
            "created_at",
            "updated_at",
            "version",
        )


class TestResultSerializer(serializers.Serializer[Any]):
    """What came of a test message."""

    outcome = serializers.ChoiceField(choices=DeliveryOutcome.choices)
    code = serializers.CharField(help_text="The receiver's own, or the HTTP status.")
    sentence = serializers.CharField(help_text="What that means and what to do.")


class ChannelFilters(django_filters.FilterSet):
    """By whether it is on, and by its format."""

    enabled = django_filters.BooleanFilter()
    format = django_filters.ChoiceFilter(choices=[(each.name, each.label) for each in FORMATS.values()])


class Channels(Creating, Patching):
    """Where alerts are told."""

    queryset = Channel.objects.all()
    serializer_class = ChannelSerializer
    filterset_class = ChannelFilters
    ordering = "name"
    ordering_fields = ("name", "id")

    pause = offered(PAUSE)
    enable = offered(ENABLE)

    def add(self, values: dict[str, Any], *, actor: str, now: datetime) -> Channel:
        """Insert a channel."""
        channel = Channel(**values)
        defining.save_new(channel, now=now)
        return channel

    def change(self, row: Channel, *, expected_version: int, now: datetime) -> list[str]:
        """Write what changed of a channel."""
        return defining.save_changes(row, expected_version=expected_version, now=now)

    @extend_schema(request=None, responses=TestResultSerializer)
    @action(detail=True, methods=["post"], permission="alerts.test_channel")
    @answered_once(calls_out=True)
    def test(self, request: Request, pk: int) -> Response:
        """Send a test message at once, on or off, and say what came of it. It is not tried again."""
        channel: Channel = self.get_object()
        self.audit(channel, CHANGE, _("Test message sent through the API."))
        verdict = send_test(channel, now=database_now())
        return Response({"outcome": verdict.outcome, "code": verdict.code, "sentence": in_words(verdict)})
