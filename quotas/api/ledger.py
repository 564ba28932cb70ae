"""The ledger: every change of every quota's balance. A charge can be given back."""

import django_filters
from rest_framework import serializers

from project.kit.api.filtering import RowFilter
from project.kit.api.offering import offered
from project.kit.api.resources import Resource
from project.kit.api.serializers import RowSerializer
from quotas.admin.ledger_actions import REFUND, refund_of
from quotas.models import LedgerEntry
from quotas.states import EntryKind


class EntrySerializer(RowSerializer):
    """A ledger entry."""

    quota_key = serializers.CharField(source="quota.key")
    charged_key = serializers.CharField(source="charged.key")
    units = serializers.SerializerMethodField(help_text="What was asked for. Null: no limit.")

    class Meta:
        model = LedgerEntry
        fields: tuple[str, ...] = (
            *("id", "at", "quota", "quota_key", "charged", "charged_key", "kind", "units", "amount", "over_limit"),
            *("owner", "attempt", "refund_on_failure", "actor", "reason", "idempotency_key"),
        )
        read_only_fields = fields
        extra_kwargs = {
            "charged": {"help_text": "The quota that was asked: this one, or one that is part of it."},
            "amount": {"help_text": "How it changes the balance."},
            "owner": {"help_text": "For whom, as in run:12."},
        }

    def get_units(self, entry: LedgerEntry) -> int | None:
        """Return what was asked for."""
        return None if entry.units < 0 else entry.units  # of limits only: charging.UNLIMITED


class EntryWithRefundSerializer(EntrySerializer):
    """A ledger entry, with what became of a charge."""

    refunded_by = serializers.SerializerMethodField(help_text="The entry that gave it back. Null: none.")

    class Meta(EntrySerializer.Meta):
        fields = (*EntrySerializer.Meta.fields, "refunded_by")

    def get_refunded_by(self, entry: LedgerEntry) -> int | None:
        """Return the number of the refund."""
        refund = refund_of(entry)
        return refund.pk if refund else None


class EntryFilters(django_filters.FilterSet):
    """By the quota, for whom it was, and what it records."""

    quota = RowFilter(field_name="quota_id")
    charged = RowFilter(field_name="charged_id")
    owner = django_filters.CharFilter()
    kind = django_filters.ChoiceFilter(choices=EntryKind.choices)
    idempotency_key = django_filters.CharFilter()


class Ledger(Resource):
    """Every change of every quota's balance."""

    queryset = LedgerEntry.objects.select_related("quota", "charged")
    serializer_class = EntrySerializer
    detail_serializer_class = EntryWithRefundSerializer
    filterset_class = EntryFilters

    refund = offered(REFUND)
