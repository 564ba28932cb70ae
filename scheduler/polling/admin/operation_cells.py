"""How stops and resumes are shown, on their own pages and on those of their cards."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from project.kit.admin import badge, row_link, short, when
from scheduler.polling.models import Card, CardOperation
from scheduler.polling.states import OperationState

SHOWN_OF_A_CARD = 5
COLOURS = {
    OperationState.WAITING: "grey",
    OperationState.SENDING: "blue",
    OperationState.ACCEPTED: "blue",
    OperationState.DONE: "green",
    OperationState.FAILED: "red",
    OperationState.UNCONFIRMED: "amber",
    OperationState.UNKNOWN: "amber",
    OperationState.CANCELLED: "grey",
}


def state_badge(operation: CardOperation) -> SafeString:
    """Return where an operation stands."""
    state = OperationState(operation.state)
    if is_unanswered(operation):
        return badge(_("no answer"), "amber", _("It may have been carried out: the card's status is looked at."))
    return badge(state.label, COLOURS[state])


def is_unanswered(operation: CardOperation) -> bool:
    """Tell whether the carrier was asked and nobody knows what it said, so that the card decides."""
    return operation.state == OperationState.ACCEPTED and operation.accepted_at is None


def why(operation: CardOperation, now: datetime) -> str | SafeString:
    """Return what an operation waits for, or why it came to nothing; nothing where all goes well."""
    if operation.error:
        return short(operation.error)
    if operation.state == OperationState.WAITING and operation.due_at > now:
        return _("The carrier takes a card's next change only after a while.")
    return ""


def lines_of(card: Card, now: datetime) -> list[dict[str, Any]]:
    """Return the latest operations of a card, for its page."""
    return [_line(operation, now) for operation in _latest(card)]


def _latest(card: Card) -> Iterable[CardOperation]:
    return CardOperation.objects.filter(card=card).order_by("-id")[:SHOWN_OF_A_CARD]


def _line(operation: CardOperation, now: datetime) -> dict[str, Any]:
    return {
        "kind": row_link(operation, operation.get_kind_display()),
        "badge": state_badge(operation),
        "asked": when(operation.created_at, now),
        "actor": operation.actor,
        "reason": operation.reason,
        "why": why(operation, now),
    }
