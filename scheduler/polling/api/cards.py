"""Cards: found, looked at, polled or not, stopped, resumed, imported. One is addressed by its number or its ICCID."""

import django_filters
from django.contrib.admin.models import ADDITION, CHANGE
from django.db import transaction
from django.utils.translation import gettext as _
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
from project.kit.api.serializers import RowSerializer
from project.kit.clock import database_now
from scheduler.polling import iccid
from scheduler.polling.admin.card_actions import POLLING_OFF, POLLING_ON
from scheduler.polling.api import importing
from scheduler.polling.api.card_state import PollingStateSerializer, state_of
from scheduler.polling.api.operations import Operating
from scheduler.polling.api.requests import Checking
from scheduler.polling.fleet.importing import Fate, Plan
from scheduler.polling.models import Card
from scheduler.polling.states import CardState, RealName

# No number of a row is as long as the shortest ICCID.
LEAST_ICCID = 10 ** (iccid.SHORTEST - 1)


class CardSerializer(RowSerializer):
    """A card."""

    account = serializers.IntegerField(source="account_id")
    account_name = serializers.CharField(source="account.name")
    device = serializers.CharField(source="device.code", default=None, allow_null=True, help_text="Its code.")

    class Meta:
        model = Card
        fields = read_only_fields = (
            *("id", "iccid", "msisdn", "imsi", "account", "account_name", "device", "polling_enabled", "reset_day"),
            *("state", "real_name_state", "package", "used_bytes", "allowance_bytes"),
            *("created_at", "updated_at", "version"),
        )


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


class Cards(Operating, Checking):
    """SIM cards."""

    queryset = Card.objects.select_related("account", "device").defer("account__settings", "account__credentials")
    serializer_class = CardSerializer
    filterset_class = CardFilters

    polling_on = offered(POLLING_ON)
    polling_off = offered(POLLING_OFF)

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
                self.audit_all(cards, flag, _("Imported through the API."))
