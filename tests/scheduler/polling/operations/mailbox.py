"""Cards of a simulated carrier, stopped and resumed by pollers of this process; in place of a broker, a list."""

from collections.abc import Sequence
from typing import Any

import pytest

from project.kit.clock import database_now
from scheduler.polling import operations
from scheduler.polling.carriers.simulator import RunningCarrier
from scheduler.polling.engine import Engine
from scheduler.polling.models import Card, CardOperation, CarrierAccount
from scheduler.polling.operations import dispatching
from scheduler.polling.operations.taken import Taken, from_message
from scheduler.polling.states import OperationKind

STOP, RESUME = OperationKind.STOP, OperationKind.RESUME
Message = tuple[int, Sequence[Taken]]


class Mailbox:
    """The messages that were sent out and not given to a poller yet."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.messages: list[Message] = []
        monkeypatch.setattr(dispatching, "publish", self._take)

    def _take(self, producer: Any, task: str, arguments: Sequence[Any], **options: Any) -> None:
        account_id, message = arguments
        self.messages.append((account_id, from_message(message)))

    def round(self) -> list[Message]:
        """Do a round as the scan does each second; return what was sent out."""
        self.messages.clear()
        dispatching.send_due(now=database_now())
        return list(self.messages)

    def deliver(self, engine: Engine) -> list[Message]:
        """Do a round and hand what was sent out to a poller."""
        sent = self.round()
        for account_id, taken in sent:
            engine.change(account_id, taken)
        return sent


def changes_of(carrier: RunningCarrier, account: str = "main") -> int:
    """Return how often the carrier was asked to stop or resume a card of the account."""
    calls = carrier.stats(account)["calls"]
    return int(sum(calls.get(endpoint, 0) for endpoint in ("stop", "resume")))


def ask(account: CarrierAccount, *numbers: int, kind: OperationKind = STOP) -> list[CardOperation]:
    """Ask for a change of some of the account's cards, by their places; of the second if none is named."""
    cards = list(Card.objects.filter(account=account).order_by("pk"))
    ids = [cards[number].pk for number in numbers or (1,)]
    return operations.ask(kind, ids, reason="unpaid", actor="ann", idempotency_key="", now=database_now())


def states() -> list[str]:
    """Return the states of all operations in the order in which they were asked for."""
    return list(CardOperation.objects.order_by("pk").values_list("state", flat=True))
