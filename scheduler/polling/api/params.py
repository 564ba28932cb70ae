"""Parameters of the carrier accounts: what somebody has set, what holds, and which of it is usual."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import django_filters
from django.contrib.admin.models import CHANGE
from django.db import transaction
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from project.kit.api.resources import Patching
from project.kit.api.serializers import Instant, RowSerializer
from scheduler.polling import accounts, defining
from scheduler.polling.models import CarrierAccount, PollingParams
from scheduler.polling.params import as_column

# What a change as a whole writes where it says nothing: the usual.
NOTHING_SET: Mapping[str, Any] = dict.fromkeys(defining.PARAMS_FIELDS) | {"queue": ""}


class InForceSerializer(RowSerializer):
    """What holds for an account."""

    rate_windows = serializers.SerializerMethodField()

    class Meta:
        model = PollingParams
        fields = read_only_fields = defining.PARAMS_FIELDS

    @extend_schema_field(serializers.ListField(child=serializers.DictField()))
    def get_rate_windows(self, params: Any) -> list[dict[str, Any]]:
        """Return the windows as they are written."""
        return as_column(params.rate_windows)


class ParamsSerializer(RowSerializer):
    """The parameters of an account. Empty ones are the usual; `in_force` tells what holds, `defaults` what is usual."""

    id = serializers.IntegerField(source="account_id", read_only=True, help_text="That of the account.")
    account = serializers.CharField(source="account.name", read_only=True)
    in_force = serializers.SerializerMethodField()
    defaults = serializers.SerializerMethodField(help_text="Those that nobody has set.")
    changed_at = Instant(read_only=True, allow_null=True)
    version = serializers.IntegerField(read_only=True, help_text="0 where nobody has set any.")

    class Meta:
        model = PollingParams
        fields = (
            *("id", "account", *defining.PARAMS_FIELDS, "in_force", "defaults"),
            *("changed_by", "changed_at", "version"),
        )
        read_only_fields = ("changed_by",)

    @extend_schema_field(InForceSerializer)
    def get_in_force(self, row: PollingParams) -> Any:
        """Return what holds."""
        return InForceSerializer(accounts.params_of(row.account)).data

    @extend_schema_field(serializers.ListField(child=serializers.ChoiceField(choices=defining.PARAMS_FIELDS)))
    def get_defaults(self, row: PollingParams) -> list[str]:
        """Return the names of those that nobody has set."""
        return sorted(accounts.params_of(row.account).defaults)

    def to_representation(self, instance: Any) -> Any:
        """Show the parameters of an account, also where nobody has set any."""
        return super().to_representation(_row_of(instance) if isinstance(instance, CarrierAccount) else instance)


class ParamsFilters(django_filters.FilterSet):
    """By the account."""

    account = django_filters.CharFilter(field_name="name")
    gateway = django_filters.CharFilter()
    active = django_filters.BooleanFilter()


class Params(Patching):
    """How much the carrier accounts bear."""

    queryset = CarrierAccount.objects.select_related("params").defer("settings", "credentials")
    serializer_class = ParamsSerializer
    filterset_class = ParamsFilters
    governed_by = PollingParams
    permissions = {"destroy": "polling.change_pollingparams"}  # as its button in the control panel
    ordering = "name"
    ordering_fields = ("name", "id")

    def get_object(self) -> Any:
        """Return the parameters of an account; those that nobody has set are of version 0."""
        return _row_of(super().get_object())

    def update(self, request: Request, pk: int) -> Response:
        """Set all parameters of an account: those that are left out or null are the usual ones again."""
        said = request.data
        return self.written(request, pk, {**NOTHING_SET, **said} if isinstance(said, Mapping) else said)

    @extend_schema(responses={200: ParamsSerializer})
    def destroy(self, request: Request, pk: int) -> Response:
        """Go back to the usual parameters, and answer with them."""
        row = self.get_object()
        with transaction.atomic():
            if defining.back_to_defaults(row.account_id):
                self.audit(row.account, CHANGE, _("Parameters put back to the usual ones through the API."))
        return Response(self.shown(pk))

    def change(self, row: PollingParams, *, expected_version: int, now: datetime) -> list[str]:
        """Write what changed of an account's parameters."""
        actor = self.request.user.get_username()
        return defining.save_params(row, expected_version=expected_version, now=now, actor=actor)


def _row_of(account: CarrierAccount) -> PollingParams:
    said: PollingParams | None = getattr(account, "params", None)
    return said or PollingParams(account=account, version=0)
