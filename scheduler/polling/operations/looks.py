"""How it is seen that a change was carried out: the card's status is looked at again, after growing pauses."""

from datetime import datetime, timedelta

from scheduler.polling import accounts, expecting
from scheduler.polling.models import CardOperation, CarrierAccount
from scheduler.polling.states import CardState, CheckType, OperationKind

# Carriers that take a minute as a rule take a quarter of an hour on a bad day. Of the account's confirm delay:
_GROWTH = (1, 2, 4, 8)
WANTED = {OperationKind.STOP: CardState.STOPPED, OperationKind.RESUME: CardState.ACTIVE}


def delays(confirm_delay: int) -> tuple[int, ...]:
    """Return the seconds before each look.

    Args:
        confirm_delay: seconds until a change is carried out, as a rule.
    """
    return tuple(max(1, confirm_delay) * times for times in _GROWTH)


def longest(account: CarrierAccount) -> timedelta:
    """Return how long all looks take together."""
    return timedelta(seconds=sum(_delays_of(account)))


def begin(operation: CardOperation, *, now: datetime) -> None:
    """Have the card looked at until it is as the operation wants it, in the caller's transaction."""
    wanted = WANTED[OperationKind(operation.kind)]
    pauses = _delays_of(operation.account)
    expecting.expect([operation.card_id], CheckType.CARD_STATUS, wanted.value, pauses, operation=operation, now=now)


def _delays_of(account: CarrierAccount) -> tuple[int, ...]:
    return delays(accounts.params_of(account).stop_resume_confirm_delay)
