"""People and business events ask that cards are stopped or resumed; the rows say what became of that."""

from collections.abc import Iterable
from datetime import datetime

from scheduler.polling.models import CardOperation
from scheduler.polling.states import OperationKind


def ask(
    kind: OperationKind, card_ids: Iterable[int], *, reason: str, actor: str, idempotency_key: str, now: datetime
) -> list[CardOperation]:
    """Ask that cards are stopped or resumed, all or none of them.

    Args:
        reason: why; it is not empty.
        actor: who asks.
        idempotency_key: of the wish: with the same one, what it asked for before is returned. Empty: it is a new wish.

    Returns:
        one operation a card, in the order of `card_ids`; where one of this kind is open already, that one.

    Raises:
        ValidationError: no reason, a card that is not there, or one on which an operation of the other kind is open.
    """
    raise NotImplementedError


def cancel(operation_id: int, *, expected_version: int | None = None, actor: str, now: datetime) -> bool:
    """Cancel an operation that waits. False: it waits no more."""
    raise NotImplementedError
