"""Requests of checks by business events and people: what was asked for, and what became of it."""

from collections.abc import Iterable
from typing import Any

import django_filters
from django.db.models import Model, QuerySet
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from project.kit.api.idempotency import answered_once
from project.kit.api.resources import Resource
from project.kit.api.serializers import RowSerializer
from project.kit.clock import database_now
from scheduler.polling import requesting
from scheduler.polling.api.confirmations import ConfirmationSerializer
from scheduler.polling.models import Card, CheckRequest, Device
from scheduler.polling.requesting import BadRequest
from scheduler.polling.states import CheckType

LONGEST_EVENT = 200
MOST_NAMES = 10_000


class CheckRequestSerializer(RowSerializer):
    """A request of checks."""

    cards = serializers.ListField(source="card_ids", child=serializers.IntegerField())
    outcome = serializers.JSONField(help_text="What became of its cards, once the live orders were told.")

    class Meta:
        model = CheckRequest
        fields: tuple[str, ...] = (
            *("id", "event_id", "scene", "actor", "cards", "expected", "at", "asked_at", "outcome"),
        )
        read_only_fields = fields


class CheckRequestWithLooksSerializer(CheckRequestSerializer):
    """A request, with the looks that follow it."""

    confirmations = ConfirmationSerializer(many=True, read_only=True)

    class Meta(CheckRequestSerializer.Meta):
        fields = (*CheckRequestSerializer.Meta.fields, "confirmations")


class WantedSerializer(serializers.Serializer[Any]):
    """What happened to a card."""

    scene = serializers.SlugField(max_length=40, help_text="Its code.")
    event_id = serializers.CharField(
        max_length=LONGEST_EVENT,
        default="",
        allow_blank=True,
        help_text="The same event asks once. Business events need one.",
    )
    expected = serializers.DictField(
        child=serializers.JSONField(), default=dict, help_text="By check, the result that ends the looks."
    )

    def validate_expected(self, said: dict[str, Any]) -> dict[CheckType, Any]:
        """Return what is expected.

        Raises:
            ValidationError: there is no such check.
        """
        if unknown := [name for name in said if name not in CheckType.values]:
            there_are = ", ".join(CheckType.values)
            words = _("There is no check “%(check)s”. There are: %(checks)s.")
            raise ValidationError(words % {"check": unknown[0], "checks": there_are})
        return {CheckType(name): value for name, value in said.items()}


class WantedOfManySerializer(WantedSerializer):
    """What happened to cards."""

    cards = serializers.ListField(
        child=serializers.CharField(), max_length=MOST_NAMES, default=list, help_text="By their ICCIDs."
    )
    devices = serializers.ListField(
        child=serializers.CharField(), max_length=MOST_NAMES, default=list, help_text="By their codes: all their cards."
    )


class CheckRequestFilters(django_filters.FilterSet):
    """By the event."""

    scene = django_filters.CharFilter(field_name="scene_id")
    event_id = django_filters.CharFilter()


class CheckRequests(Resource):
    """What was asked for beside the schedule."""

    queryset = CheckRequest.objects.all()
    serializer_class = CheckRequestSerializer
    detail_serializer_class = CheckRequestWithLooksSerializer
    filterset_class = CheckRequestFilters
    permissions = {"create": "polling.check_card"}

    def get_queryset(self) -> QuerySet[Any]:
        """Return the requests; one alone with its looks."""
        rows = super().get_queryset()
        return rows.prefetch_related("confirmations") if self.action == "retrieve" else rows

    @extend_schema(request=WantedOfManySerializer, responses={201: CheckRequestSerializer})
    @answered_once()
    def create(self, request: Request) -> Response:
        """Ask for checks of cards because of an event. An event that is known already asks for nothing more."""
        said = WantedOfManySerializer(data=request.data)
        said.is_valid(raise_exception=True)
        wanted = said.validated_data
        cards = _found(Card, "cards", "iccid", wanted.pop("cards"))
        devices = _found(Device, "devices", "code", wanted.pop("devices"))
        return _asked(request, wanted, cards, devices)


class Checking(Resource):
    """Cards of which checks can be asked for."""

    @extend_schema(request=WantedSerializer, responses={201: CheckRequestSerializer})
    @action(detail=True, methods=["post"], permission="polling.check_card")
    @answered_once()
    def check(self, request: Request, pk: int) -> Response:
        """Ask for checks of the card because of an event, or because somebody looks at it."""
        said = WantedSerializer(data=request.data)
        said.is_valid(raise_exception=True)
        return _asked(request, said.validated_data, [self.get_object().pk])


def _asked(request: Request, wanted: dict[str, Any], cards: Iterable[int], devices: Iterable[int] = ()) -> Response:
    """Ask for checks, and answer with the request.

    Raises:
        ValidationError: what is asked for cannot be.
    """
    actor = request.user.get_username()
    try:
        made = requesting.request_check(**wanted, cards=cards, devices=devices, actor=actor, now=database_now())
    except BadRequest as refusal:
        field, _colon, sentence = str(refusal).partition(": ")
        raise ValidationError({field: sentence}) from refusal
    made.refresh_from_db()  # where the commit is over, the row says what became of it
    return Response(CheckRequestSerializer(made).data, status=201)


def _found(model: type[Model], field: str, column: str, names: list[str]) -> list[int]:
    """Return the keys of the named rows.

    Raises:
        ValidationError: there is none of a name.
    """
    keys = dict(model._default_manager.filter(**{f"{column}__in": names}).values_list(column, "pk"))
    if missing := [name for name in names if name not in keys]:
        raise ValidationError({field: _("There is no “%(name)s”. Nothing was asked for.") % {"name": missing[0]}})
    return list(keys.values())
