"""What came of asking for a change is written, by the sender that asked and only while it has the operation in hand.

Accepted is not done, and no answer is no refusal: in both cases the card's status is looked at, and a change is never
asked for again on a guess. What says something of the account, or only of the moment, is no failure of the card.
"""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet

from scheduler.polling import accounts, holding
from scheduler.polling.carriers.base import Busy, CarrierError
from scheduler.polling.models import CardOperation
from scheduler.polling.operations import alerting, looks
from scheduler.polling.operations.taken import Taken
from scheduler.polling.states import OF_THE_ACCOUNT, ErrorClass, OperationState

# After these it may have been carried out all the same.
_UNANSWERED = frozenset({ErrorClass.TIMEOUT, ErrorClass.NETWORK, ErrorClass.SERVER, ErrorClass.MALFORMED})
# So long waits what could not be sent at all: the carrier is away, or all of its turns are taken.
SHORTEST_WAIT = timedelta(seconds=1)
AWAY = timedelta(minutes=1)
LOST = CarrierError(ErrorClass.TIMEOUT, "The sender was lost before it could tell what the carrier said.")

Outcome = CarrierError | Busy | None


def settle(taken: Taken, outcome: Outcome, *, now: datetime) -> bool:
    """Write what came of asking for a change. False: the operation is another's by now, and nothing is written.

    Args:
        outcome: None: the carrier took it.
    """
    with transaction.atomic():
        operation = _in_hand().filter(pk=taken.operation_id, token=taken.token).first()
        if operation is not None:
            _settle(operation, outcome, now)
    return operation is not None


def settle_lost(*, now: datetime) -> int:
    """Write of those whose sender was lost while it asked that nobody knows what the carrier said; return how many."""
    with transaction.atomic():
        lost = list(_in_hand().filter(lease_until__lte=now, sent_at__isnull=False).order_by("pk"))
        for operation in lost:
            _settle(operation, LOST, now)
    return len(lost)


def _in_hand() -> QuerySet[CardOperation]:
    locked = CardOperation.objects.select_for_update(of=("self",), no_key=True)
    return locked.select_related("card", "account__params").filter(state=OperationState.SENDING)


def _settle(operation: CardOperation, outcome: Outcome, now: datetime) -> None:
    operation.lease_until = None
    operation.error_class, operation.error = "", ""
    if isinstance(outcome, CarrierError):
        operation.error_class, operation.error = outcome.error_class, str(outcome)
    if outcome is None or operation.error_class == ErrorClass.PENDING:
        _accepted(operation, now)
    elif isinstance(outcome, Busy):
        _again(operation, now + max(timedelta(seconds=outcome.seconds), SHORTEST_WAIT))
    elif outcome.error_class in OF_THE_ACCOUNT:
        _again(operation, holding.hold(operation.account_id, outcome, now=now))
    elif outcome.error_class is ErrorClass.COOLDOWN:
        _again(operation, now + _cooldown(operation, outcome))
    elif outcome.unsent:
        _again(operation, now + AWAY)
    elif outcome.error_class in _UNANSWERED:
        _looked_at(operation, now)
    else:
        _failed(operation, now)


def _accepted(operation: CardOperation, now: datetime) -> None:
    operation.error_class, operation.error, operation.accepted_at = "", "", now
    holding.answered([operation.account_id], now=now)
    _looked_at(operation, now)


def _looked_at(operation: CardOperation, now: datetime) -> None:
    """Let the card's status decide; without `accepted_at` nobody knows whether the carrier took it."""
    _write(operation, OperationState.ACCEPTED)
    looks.begin(operation, now=now)


def _again(operation: CardOperation, due_at: datetime) -> None:
    """Let it wait on: nothing of it was done."""
    operation.sent_at, operation.due_at = None, due_at
    _write(operation, OperationState.WAITING)


def _failed(operation: CardOperation, now: datetime) -> None:
    operation.ended_at = now
    _write(operation, OperationState.FAILED)
    alerting.tell([operation], now=now)


def _cooldown(operation: CardOperation, outcome: CarrierError) -> timedelta:
    seconds = outcome.retry_after or accounts.params_of(operation.account).stop_resume_min_interval
    return max(timedelta(seconds=seconds), SHORTEST_WAIT)


def _write(operation: CardOperation, state: OperationState) -> None:
    operation.state, operation.version = state, operation.version + 1
    operation.save(
        update_fields=[
            *("state", "due_at", "sent_at", "accepted_at", "ended_at", "lease_until"),
            *("error_class", "error", "version"),
        ]
    )
