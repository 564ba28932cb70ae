"""Cards: found, looked at, added, changed, polled or not, stopped, resumed, imported. One is addressed by its number or
its ICCID.
"""

from datetime import datetime
from typing import Any

import django_filters
from django.contrib.admin.models import ADDITION, CHANGE
from django.db import IntegrityError, transaction
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from project.kit.api.filtering import RowFilter
from project.kit.api.idempotency import answered_once
from project.kit.api.offering import offered
from project.kit.api.permissions import demand
from project.kit.api.problems import Conflict
from project.kit.api.resources import Creating, Patching
from project.kit.api.serializers import RowSerializer
from project.kit.clock import database_now
from project.kit.versions import column_value
from scheduler.polling import iccid
from scheduler.polling.admin.card_actions import CHECK_NOW, DELETE, MOVE, POLLING_OFF, POLLING_ON
from scheduler.polling.admin.card_form import EDITED_FIELDS, NEW_FIELDS, digits_of
from scheduler.polling.api import importing
from scheduler.polling.api.card_state import PollingStateSerializer, state_of
from scheduler.polling.api.operations import Operating
from scheduler.polling.api.requests import Checking
from scheduler.polling.fleet import lifecycle
from scheduler.polling.fleet.importing import Fate, Plan
from scheduler.polling.models import Card, CarrierAccount, Device
from scheduler.polling.states import CardState, RealName

# What its carrier says of it, and when it was written.
KNOWN_FIELDS = (
    *("state", "real_name_state", "package", "used_bytes", "allowance_bytes"),
    *("created_at", "updated_at", "version"),
)
# An ICCID with what people put between its digits.
LONGEST_TYPED = 40
# No number of a row is as long as the shortest ICCID.
LEAST_ICCID = 10 ** (iccid.SHORTEST - 1)


class CardSerializer(RowSerializer):
    """A card."""

    kept = {
        "iccid": _("The number of a card stays. Add another card instead."),
        "account": _("It is given to another account by move."),
        "polling_enabled": _("It is switched by polling-on and polling-off."),
    }
    iccid = serializers.CharField(max_length=LONGEST_TYPED)
    account = serializers.PrimaryKeyRelatedField(
        queryset=CarrierAccount.objects.only("id"),
        pk_field=serializers.IntegerField(),
        error_messages={
            "does_not_exist": _("There is no account with this number."),
            "incorrect_type": _("Write the number of an account."),
        },
    )
    account_name = serializers.CharField(source="account.name", read_only=True)
    device = serializers.SlugRelatedField(
        slug_field="code",
        queryset=Device.objects.all(),
        required=False,
        allow_null=True,
        help_text="Its code.",
        error_messages={
            "does_not_exist": _("There is no device with the code “{value}”. Add it first."),
            "invalid": _("Write the code of a device."),
        },
    )

    class Meta:
        model = Card
        fields = ("id", *NEW_FIELDS, "account_name", *KNOWN_FIELDS)
        read_only_fields = KNOWN_FIELDS

    def validate_iccid(self, said: str) -> str:
        """Return the number without the separators that people write.

        Raises:
            ValidationError: its last digit is wrong, or another card has it.
        """
        try:
            number = iccid.checked(said)
        except iccid.BadICCID as error:
            raise serializers.ValidationError(str(error)) from None
        if self.instance is None and Card.objects.filter(iccid=number).exists():
            raise serializers.ValidationError(_("There is a card with this number already."))
        return number

    def validate_msisdn(self, said: str) -> str:
        """Return its digits."""
        return digits_of(said)

    def validate_imsi(self, said: str) -> str:
        """Return its digits."""
        return digits_of(said)


class CardFilters(django_filters.FilterSet):
    """By its numbers, whose it is, and where it stands."""

    iccid = django_filters.CharFilter()
    msisdn = django_filters.CharFilter()
    imsi = django_filters.CharFilter()
    account = RowFilter(field_name="account_id")
    device = django_filters.CharFilter(field_name="device__code")
    polling_enabled = django_filters.BooleanFilter()
    state = django_filters.ChoiceFilter(choices=CardState.choices)
    real_name_state = django_filters.ChoiceFilter(choices=RealName.choices)


class Cards(Creating, Patching, Operating, Checking):
    """SIM cards."""

    queryset = Card.objects.select_related("account", "device").defer("account__settings", "account__credentials")
    serializer_class = CardSerializer
    filterset_class = CardFilters

    polling_on = offered(POLLING_ON)
    polling_off = offered(POLLING_OFF)
    check_now = offered(CHECK_NOW, calls_out=True)
    move = offered(MOVE)
    delete_card = offered(DELETE, ends=True)

    def add(self, values: dict[str, Any], *, actor: str, now: datetime) -> Card:
        """Insert a card, and poll it soon.

        Raises:
            Conflict: somebody else added it meanwhile.
        """
        try:
            [card] = lifecycle.add_cards([Card(**values)], now=now)
        except IntegrityError as error:
            raise Conflict(gettext("Somebody else added this card meanwhile.")) from error
        return card

    def change(self, row: Card, *, expected_version: int, now: datetime) -> list[str]:
        """Write what changed of a card."""
        before = Card.objects.get(pk=row.pk)
        lifecycle.save_changes(row, expected_version=expected_version, now=now, fields=EDITED_FIELDS)
        return [name for name in EDITED_FIELDS if column_value(before, name) != column_value(row, name)]

    def get_object(self) -> Card:
        """Return the card of the number, or of the ICCID."""
        number = self.kwargs["pk"]
        named = {"iccid": str(number)} if number >= LEAST_ICCID else {"pk": number}
        card: Card = get_object_or_404(self.get_queryset(), **named)
        return card

    @extend_schema(responses=PollingStateSerializer)
    @action(detail=True, url_path="polling-state")
    def polling_state(self, request: Request, pk: int) -> Response:
        """Tell what is due when, who works on the card, its place in the order, its failures and last results."""
        return Response(PollingStateSerializer(state_of(self.get_object(), database_now())).data)

    @extend_schema(request=importing.ImportSerializer, responses=importing.ReportSerializer, filters=False)
    @action(
        detail=False,
        methods=["post"],
        url_path="import",
        permission="polling.add_card",
        pagination_class=None,
    )
    @answered_once()
    def import_csv(self, request: Request) -> Response:
        """Look at every line of a CSV file, and write all cards or none. `update` needs `polling.change_card`, too."""
        said = importing.read(request.data)
        if said["update"]:
            demand(request, ("polling.change_card",))
        planned = importing.looked_at(said)
        written = importing.is_to_be_written(planned, said)
        if written:
            self._write(planned)
        return Response(planned.as_json(written=written))

    def _write(self, planned: Plan) -> None:
        with transaction.atomic():
            importing.write(planned, now=database_now())
            for fate, flag in ((Fate.NEW, ADDITION), (Fate.CHANGED, CHANGE)):
                cards = Card.objects.filter(iccid__in=[line.iccid for line in planned.of(fate)])
                self.audit_all(cards, flag, gettext("Imported through the API."))
