"""What is known of cards beside their rows: each check of each card, what changed, and the looks that are taken."""

import django_filters
from django.db.models import QuerySet
from rest_framework import serializers

from project.kit.api.filtering import RowFilter
from project.kit.api.resources import Resource
from project.kit.api.serializers import RowSerializer
from scheduler.polling.admin.filters import CHANGED_FIELDS
from scheduler.polling.api.card_state import RESULT
from scheduler.polling.api.confirmations import ConfirmationSerializer
from scheduler.polling.models import CardChange, CardCheck, Confirmation
from scheduler.polling.states import CheckType, ConfirmationState, ErrorClass


class CardCheckSerializer(RowSerializer):
    """One check of one card."""

    iccid = serializers.CharField(source="card.iccid")
    account = serializers.IntegerField(source="card.account_id")

    class Meta:
        model = CardCheck
        fields = read_only_fields = ("id", "card", "iccid", "account", "type", "due_at", *RESULT)


class CheckFilters(django_filters.FilterSet):
    """By the card, and whether it fails."""

    card = RowFilter(field_name="card_id")
    account = RowFilter(field_name="card__account_id")
    type = django_filters.ChoiceFilter(choices=CheckType.choices)
    failing = django_filters.BooleanFilter(method="by_failures")
    error_class = django_filters.ChoiceFilter(choices=ErrorClass.choices)

    def by_failures(self, rows: QuerySet[CardCheck], name: str, value: bool) -> QuerySet[CardCheck]:
        """Return the checks that fail, or the others."""
        return rows.filter(failures__gt=0) if value else rows.filter(failures=0)


class Checks(Resource):
    """What each check of each card brought last, and how it fails."""

    queryset = CardCheck.objects.select_related("card")
    serializer_class = CardCheckSerializer
    filterset_class = CheckFilters


class CardChangeSerializer(RowSerializer):
    """A value of a card that changed."""

    iccid = serializers.CharField(source="card.iccid")

    class Meta:
        model = CardChange
        fields = read_only_fields = ("id", "card", "iccid", "field", "before", "after", "at")


class ChangeFilters(django_filters.FilterSet):
    """By the card, and what changed."""

    card = RowFilter(field_name="card_id")
    field = django_filters.ChoiceFilter(choices=[(name, name) for name in CHANGED_FIELDS])


class Changes(Resource):
    """What changed of cards."""

    queryset = CardChange.objects.select_related("card")
    serializer_class = CardChangeSerializer
    filterset_class = ChangeFilters


class LookSerializer(ConfirmationSerializer):
    """That a card's check is looked at again and again, and because of what."""

    class Meta(ConfirmationSerializer.Meta):
        fields: tuple[str, ...] = (*ConfirmationSerializer.Meta.fields, "request", "operation")
        read_only_fields = fields


class LookFilters(django_filters.FilterSet):
    """By the card, what they follow, and how far they got."""

    card = RowFilter(field_name="card_id")
    request = RowFilter(field_name="request_id")
    operation = RowFilter(field_name="operation_id")
    type = django_filters.ChoiceFilter(choices=CheckType.choices)
    state = django_filters.ChoiceFilter(choices=ConfirmationState.choices)


class Looks(Resource):
    """The looks that follow requests, stops and resumes."""

    queryset = Confirmation.objects.all()
    serializer_class = LookSerializer
    filterset_class = LookFilters
