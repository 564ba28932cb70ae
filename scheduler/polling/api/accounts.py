"""Carrier accounts: whom we ask and as whom. Their credentials can be written, and are shown as dots."""

from datetime import datetime
from typing import Any

import django_filters
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from project.kit.api.filtering import ShowFilter
from project.kit.api.offering import offered
from project.kit.api.resources import Creating, Patching
from project.kit.api.serializers import RowSerializer
from scheduler.polling import defining
from scheduler.polling.admin.account_actions import DEFAULTS, DELETE, HOLD, REBUILD, RELEASE, SWITCH_OFF, SWITCH_ON
from scheduler.polling.admin.account_form import fault_of_kept_credentials
from scheduler.polling.admin.questions import ACCOUNT_QUESTIONS
from scheduler.polling.carriers.registry import KINDS
from scheduler.polling.models import CarrierAccount


class AccountSerializer(RowSerializer):
    """A carrier account."""

    kept = {"active": _("It is switched by switch-on and switch-off.")}
    gateway = serializers.CharField(help_text=f"How the carrier is spoken to: {', '.join(KINDS)}.")
    settings = serializers.DictField(required=False, help_text="Of the gateway. No secrets: they are credentials.")

    class Meta:
        model = CarrierAccount
        fields = (
            *("id", *defining.ACCOUNT_FIELDS),
            *("held_until", "held_class", "held_reason", "hold_count", "created_at", "updated_at", "version"),
        )
        extra_kwargs = {
            "held_until": {"help_text": "Until then it is left in peace."},
            "held_class": {"help_text": "Empty: a person wants it."},
            "hold_count": {"help_text": "How often in a row: the pause grows with it."},
        }

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return what was written.

        Raises:
            ValidationError: stored credentials would be sent to another host than those for which they were written.
        """
        account = self.instance or CarrierAccount()
        if "credentials" in attrs:
            return attrs
        if fault := fault_of_kept_credentials(account, attrs.get("settings", account.settings)):
            raise serializers.ValidationError({"credentials": fault})
        return attrs


class AccountFilters(django_filters.FilterSet):
    """By the name, the gateway, and what people ask about accounts."""

    name = django_filters.CharFilter()
    gateway = django_filters.CharFilter()
    active = django_filters.BooleanFilter()
    show = ShowFilter(ACCOUNT_QUESTIONS)


class Accounts(Creating, Patching):
    """Whom we ask, and as whom."""

    queryset = CarrierAccount.objects.select_related("params")
    serializer_class = AccountSerializer
    filterset_class = AccountFilters
    ordering = "name"
    ordering_fields = ("name", "id")

    hold = offered(HOLD)
    release = offered(RELEASE)
    switch_on = offered(SWITCH_ON)
    switch_off = offered(SWITCH_OFF)
    rebuild = offered(REBUILD)
    defaults = offered(DEFAULTS)
    delete_account = offered(DELETE, ends=True)

    def add(self, values: dict[str, Any], *, actor: str, now: datetime) -> CarrierAccount:
        """Insert an account."""
        account = CarrierAccount(**values)
        defining.save_new_account(account, now=now)
        return account

    def change(self, row: CarrierAccount, *, expected_version: int, now: datetime) -> list[str]:
        """Write what changed of an account."""
        return defining.save_account(row, expected_version=expected_version, now=now)
