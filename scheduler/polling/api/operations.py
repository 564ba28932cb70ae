"""Stops and resumes of cards: how far each got, and the wish to stop or resume one."""

import hashlib
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

from project.kit.api.filtering import RowFilter
from project.kit.api.idempotency import HEADER, answered_once
from project.kit.api.offering import offered
from project.kit.api.problems import Conflict
from project.kit.api.resources import Resource
from project.kit.api.serializers import RowSerializer
from project.kit.clock import database_now
from scheduler.polling import operations
from scheduler.polling.admin.operations import CANCEL
from scheduler.polling.api.confirmations import ConfirmationSerializer
from scheduler.polling.models import Card, CardOperation
from scheduler.polling.states import OperationKind, OperationState

LONGEST_REASON = 500


class OperationSerializer(RowSerializer):
    """A stop or resume of a card."""

    card = serializers.IntegerField(source="card_id")
    iccid = serializers.CharField(source="card.iccid")
    account = serializers.IntegerField(source="account_id")

    class Meta:
        model = CardOperation
        fields: tuple[str, ...] = (
            *("id", "card", "iccid", "account", "kind", "reason", "actor", "state"),
            *("created_at", "due_at", "sent_at", "accepted_at", "ended_at", "tries", "error_class", "error", "version"),
        )
        read_only_fields = fields


class OperationWithLooksSerializer(OperationSerializer):
    """A stop or resume, with the looks at whether it was done."""

    confirmations = ConfirmationSerializer(many=True, read_only=True)

    class Meta(OperationSerializer.Meta):
        fields = (*OperationSerializer.Meta.fields, "confirmations")


class WishSerializer(serializers.Serializer[Any]):
    """Why a card is to be stopped or resumed."""

    reason = serializers.CharField(max_length=LONGEST_REASON)


class OperationFilters(django_filters.FilterSet):
    """By the card, and how far it got."""

    card = RowFilter(field_name="card_id")
    iccid = django_filters.CharFilter(field_name="card__iccid")
    account = RowFilter(field_name="account_id")
    kind = django_filters.ChoiceFilter(choices=OperationKind.choices)
    state = django_filters.ChoiceFilter(choices=OperationState.choices)


class CardOperations(Resource):
    """Stops and resumes of cards."""

    queryset = CardOperation.objects.select_related("card")
    serializer_class = OperationSerializer
    detail_serializer_class = OperationWithLooksSerializer
    filterset_class = OperationFilters

    cancel = offered(CANCEL)

    def get_queryset(self) -> QuerySet[Any]:
        """Return the operations; one alone with its looks."""
        rows = super().get_queryset()
        return rows.prefetch_related("confirmations") if self.action == "retrieve" else rows


class Operating(Resource):
    """Cards that can be stopped and resumed."""

    @extend_schema(request=WishSerializer, responses={201: OperationSerializer})
    @action(detail=True, methods=["post"], permission="polling.operate_card")
    @answered_once()
    def stop(self, request: Request, pk: int) -> Response:
        """Ask that the card is stopped. The answer is the operation, which tells how far it got."""
        return self._ask(OperationKind.STOP)

    @extend_schema(request=WishSerializer, responses={201: OperationSerializer})
    @action(detail=True, methods=["post"], permission="polling.operate_card")
    @answered_once()
    def resume(self, request: Request, pk: int) -> Response:
        """Ask that the card is resumed. The answer is the operation, which tells how far it got."""
        return self._ask(OperationKind.RESUME)

    def _ask(self, kind: OperationKind) -> Response:
        wish = WishSerializer(data=self.request.data)
        wish.is_valid(raise_exception=True)
        card, reason = self.get_object(), wish.validated_data["reason"]
        with transaction.atomic():
            operation = _asked(self.request, kind, card, reason)
            words = _("%(kind)s asked for through the API (%(reason)s).")
            self.audit(card, CHANGE, words % {"kind": kind.label.capitalize(), "reason": reason})
        return Response(OperationSerializer(operation).data, status=201)


def _asked(request: Request, kind: OperationKind, card: Card, reason: str) -> CardOperation:
    """Ask for the operation.

    Raises:
        Conflict: it is not possible with what there is of the card.
    """
    actor, key = request.user.get_username(), _key_of(request)
    try:
        [operation] = operations.ask(
            kind, [card.pk], reason=reason, actor=actor, idempotency_key=key, now=database_now()
        )
    except ValidationError as refusal:
        raise Conflict(" ".join(refusal.messages)) from refusal
    return operation


def _key_of(request: Request) -> str:
    """Return the request's key as that of one wish of its user; empty: it has none."""
    key = request.headers.get(HEADER, "")
    return f"api:{request.user.pk}:{hashlib.sha256(key.encode()).hexdigest()}" if key else ""
