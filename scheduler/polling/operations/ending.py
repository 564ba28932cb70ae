"""How operations end that were sent: the card was seen as it should be, or never was."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce

from scheduler.polling.models import CardOperation, Confirmation
from scheduler.polling.operations import alerting, looks
from scheduler.polling.states import ConfirmationState, OperationState

# All looks taken together and so much more: then nobody looks any more, because the card is not polled.
GRACE = timedelta(hours=1)
MOST_AT_ONCE = 1000


def confirmed(operation_ids: Iterable[int], now: datetime) -> None:
    """End operations whose cards were seen as they should be: they are done, and their alerts resolved.

    Call it in the transaction that ends the confirmations. Operations that ended meanwhile are left as they are.
    """
    with transaction.atomic():
        done = list(_sent().filter(pk__in=list(operation_ids)))
        for operation in done:
            operation.state = OperationState.DONE
        _end(done, now)
        alerting.all_clear([operation.card_id for operation in done], now=now)


def never_seen(operation_ids: Iterable[int], now: datetime) -> None:
    """End operations whose cards were looked at for the last time, and were not as they should be; tell of them.

    Call it in the transaction that ends the confirmations. Operations that ended meanwhile are left as they are.
    """
    with transaction.atomic():
        unseen = list(_sent().filter(pk__in=list(operation_ids)))
        for operation in unseen:
            operation.state = OperationState.UNCONFIRMED if operation.accepted_at else OperationState.UNKNOWN
        _end(unseen, now)
        alerting.tell(unseen, now=now)


def give_up_looking(*, now: datetime) -> int:
    """End operations of which nobody looks at the card any more, such as of cards that are not polled.

    Those of accounts that are left in peace are waited for: their looks are only late.

    Returns:
        how many.
    """
    sent = CardOperation.objects.filter(state=OperationState.ACCEPTED).alias(at=Coalesce("accepted_at", "sent_at"))
    old = sent.filter(Q(account__held_until__isnull=True) | Q(account__held_until__lte=now), at__lte=now - GRACE)
    found = old.select_related("account__params").order_by("pk")[:MOST_AT_ONCE]
    over = [each.pk for each in found if _at(each) + looks.longest(each.account) + GRACE <= now]
    with transaction.atomic():
        looked_for = Confirmation.objects.filter(operation__in=over, state=ConfirmationState.WAITING)
        looked_for.update(state=ConfirmationState.CANCELLED, ended_at=now)
        never_seen(over, now)
    return len(over)


def _sent() -> QuerySet[CardOperation]:
    locked = CardOperation.objects.select_for_update(of=("self",), no_key=True).order_by("pk")
    return locked.select_related("card", "account").filter(state=OperationState.ACCEPTED)


def _end(operations: Iterable[CardOperation], now: datetime) -> None:
    ended = list(operations)
    for operation in ended:
        operation.ended_at, operation.version = now, operation.version + 1
    CardOperation.objects.bulk_update(ended, ["state", "ended_at", "version"])


def _at(operation: CardOperation) -> datetime:
    at = operation.accepted_at or operation.sent_at
    if at is None:
        raise ValueError(f"The operation {operation.pk} was accepted and never sent.")
    return at
