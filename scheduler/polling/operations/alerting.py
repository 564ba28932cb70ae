"""A stop or resume that came to nothing is told: one open alert a card, until one of its operations succeeds."""

from collections.abc import Iterable
from datetime import datetime

from django.urls import reverse

from alerts.recording import Problem, raise_alerts, resolve_alerts
from scheduler.polling.models import CardOperation
from scheduler.polling.states import OperationState

CARD_OPERATION_FAILED = "card_operation_failed"
_REMEDIES = {
    OperationState.FAILED: "The carrier refused it: {error} Mend what it names, and ask again.",
    OperationState.UNCONFIRMED: "The carrier accepted it, and the card was never seen so. Ask the carrier why.",
    OperationState.UNKNOWN: "The carrier gave no answer, and the card was never seen so: {error} Look at the card there"
    " before you ask again.",
}


def tell(ended: Iterable[CardOperation], *, now: datetime) -> None:
    """Raise the alerts of operations that ended without success, in the caller's transaction.

    Args:
        ended: with their cards and accounts.
    """
    raise_alerts([_problem(operation) for operation in ended], now=now)


def all_clear(card_ids: Iterable[int], *, now: datetime) -> None:
    """Resolve the alerts of cards of which an operation succeeded, in the caller's transaction."""
    resolve_alerts(map(fingerprint, card_ids), now=now, sentence="It was stopped or resumed as asked.")


def fingerprint(card_id: int) -> str:
    """Return by what the alert of a card's operations is known."""
    return f"{CARD_OPERATION_FAILED}:card:{card_id}"


def _problem(operation: CardOperation) -> Problem:
    sentence = _REMEDIES[OperationState(operation.state)].format(error=operation.error)
    return Problem(
        CARD_OPERATION_FAILED,
        fingerprint(operation.card_id),
        f"Card {operation.card.iccid}: {operation.get_kind_display()}",
        sentence,
        subject=f"card:{operation.card_id}",
        labels={"account": operation.account.name},
        url=reverse("admin:polling_cardoperation_change", args=[operation.pk]),
        facts=(("Asked by", operation.actor), ("Why", operation.reason)),
    )
