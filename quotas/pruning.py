"""What of the quotas' history goes, and when. The ledger stays: its sum is the balance, and its keys keep charges from
being made twice.
"""

from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from project.kit.pruning import Kind, unless
from quotas.models import Edge, ProviderReport, Reservation


def _replaced(before: datetime) -> Q:
    """The latest report of a quota stays: what the provider says next is compared with it."""
    later = ProviderReport.objects.filter(quota=OuterRef("quota"), at__gt=OuterRef("at"))
    return Q(at__lt=before) & Q(Exists(later))


def _handled(before: datetime) -> Q:
    return Q(at__lt=before, handled_at__lt=before)


def reservations(open_owner: QuerySet[Any]) -> Kind:
    """Return the kind of the reservations that have ended, whose keys keep them from being made twice meanwhile.

    Args:
        open_owner: the owner of a reservation, by `OuterRef("owner")`, while it may ask with such a key again; quotas
            cannot tell.
    """

    def ended(before: datetime) -> Q:
        return Q(ended_at__lt=before) & unless(open_owner)

    return Kind("reservations", Reservation, "created_at", ended)


KINDS = (
    Kind("provider_reports", ProviderReport, "at", _replaced),
    Kind("quota_edges", Edge, "at", _handled),
)
