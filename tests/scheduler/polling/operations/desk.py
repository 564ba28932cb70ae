"""Cards of an account that can be stopped, and operations at every stage."""

from datetime import datetime
from typing import Any

from scheduler.polling import accounts, operations
from scheduler.polling.models import Card, CardOperation, CarrierAccount, PollingParams
from scheduler.polling.operations import claiming, settling
from scheduler.polling.operations.settling import Outcome
from scheduler.polling.operations.taken import Taken
from scheduler.polling.states import OperationKind
from tests.scheduler.polling.factories import MINUTE, NOW, make_account, make_cards

STOP, RESUME = OperationKind.STOP, OperationKind.RESUME
LEASE = MINUTE


def make_changeable(cards: int = 1, **params: Any) -> list[Card]:
    """Insert cards of one account with these parameters."""
    account = make_account()
    PollingParams.objects.create(account=account, changed_at=NOW, **params)
    return make_cards(account, cards)


def ask(
    *cards: Card, kind: OperationKind = STOP, key: str = "", now: datetime = NOW, reason: str = "unpaid"
) -> list[CardOperation]:
    """Ask for a change of the cards."""
    ids = [card.pk for card in cards]
    return operations.ask(kind, ids, reason=reason, actor="ann", idempotency_key=key, now=now)


def claim(*, now: datetime = NOW) -> list[Taken]:
    """Claim what is due of all accounts."""
    claimed = claiming.claim(accounts.to_claim_for(now=now), now=now)
    return [taken for of_account in claimed.values() for taken in of_account]


def begin(taken: Taken, *, now: datetime = NOW) -> bool:
    """Begin to send an operation; tell whether that was ours to do."""
    return claiming.begin(taken, now=now, lease=LEASE) is not None


def sent(card: Card, outcome: Outcome = None, *, now: datetime = NOW) -> CardOperation:
    """Ask for a stop of the card and bring it to where the carrier has said so."""
    [operation] = ask(card, now=now)
    [taken] = claim(now=now)
    assert begin(taken, now=now)
    assert settling.settle(taken, outcome, now=now)
    return fresh(operation)


def fresh(operation: CardOperation) -> CardOperation:
    """Return an operation as its row is now."""
    return CardOperation.objects.get(pk=operation.pk)


def account_of(card: Card) -> CarrierAccount:
    """Return the account of a card as its row is now."""
    return CarrierAccount.objects.get(pk=card.account_id)
