"""What of the polling's history goes, and when. What cards and their checks are now stands in their own rows."""

from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet

from project.kit.pruning import Kind, unless
from scheduler.polling.models import CardChange, CardOperation, CheckRequest, Confirmation, Cutover
from scheduler.polling.states import ConfirmationState


def _request_may_go(before: datetime) -> Q:
    """With its looks, when the last of them was taken long ago. Until then its event asks for nothing again."""
    return Q(at__lt=before, asked_at__lt=before) & unless(_looked_since(before).filter(request=OuterRef("pk")))


def _operation_may_go(before: datetime) -> Q:
    """With its looks, as a request; until then its idempotency key returns it.

    The latest that was sent for a card stays: it tells from when on the carrier takes another.
    """
    looks = _looked_since(before).filter(operation=OuterRef("pk"))
    sent_later = CardOperation.objects.filter(card=OuterRef("card"), pk__gt=OuterRef("pk"), sent_at__isnull=False)
    return Q(ended_at__lt=before) & (Q(sent_at__isnull=True) | Q(Exists(sent_later))) & unless(looks)


def _looked_since(before: datetime) -> QuerySet[Confirmation]:
    return Confirmation.objects.filter(Q(state=ConfirmationState.WAITING) | Q(ended_at__gte=before))


def _cutover_may_go(before: datetime) -> Q:
    """The latest stays, whatever its age: it says since when and by whom polling decides as it does."""
    return Q(ended_at__lt=before) & Q(Exists(Cutover.objects.filter(pk__gt=OuterRef("pk"))))


KINDS = (
    Kind("card_changes", CardChange, "at", lambda before: Q(at__lt=before)),
    Kind("check_requests", CheckRequest, "at", _request_may_go),
    Kind("card_operations", CardOperation, "created_at", _operation_may_go),
    Kind("cutovers", Cutover, "started_at", _cutover_may_go),
)
