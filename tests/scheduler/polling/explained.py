"""Cards in the live order of which tests ask why they are not asked."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from redis import Redis

from project.kit.clock import database_now
from scheduler.explaining import Scan, Scans
from scheduler.polling import capacity
from scheduler.polling.carriers.simulator import settings_for
from scheduler.polling.explaining import Explanation, explain
from scheduler.polling.fleet.initializing import rebuild
from scheduler.polling.models import Card, CarrierAccount, PollingParams
from scheduler.polling.queue import Claim, Queue, calls
from scheduler.polling.states import CheckType
from tests.scheduler.polling.factories import MINUTE, SECOND, make_account, make_cards, make_checks


class Fleet:
    """An account at a carrier that can make every check, its cards, and the live order in which they stand."""

    def __init__(self, client: Redis) -> None:
        self.redis, self.queue = client, Queue(client)
        self.now = database_now()
        self.account = make_account(name="acme", gateway="http_json", settings=settings_for("https://carrier.example"))
        capacity.say(client, "polling.card", "poller", 1000)

    def cards(self, count: int = 1, *, due: datetime | None = None, **fields: Any) -> list[Card]:
        """Insert cards, due as said by rows, and put them in order."""
        cards = make_cards(self.account, count, **fields)
        for check in (CheckType.USAGE, CheckType.CARD_STATUS):
            make_checks(cards, check, due_at=due or self.now - SECOND)
        self.in_order()
        return cards

    def params(self, **said: Any) -> None:
        PollingParams.objects.create(account=self.account, changed_at=self.now, **said)

    def change(self, **fields: Any) -> None:
        CarrierAccount.objects.filter(pk=self.account.pk).update(**fields)

    def in_order(self) -> None:
        rebuild(self.redis, self.account.pk, by="ann", now=self.now)

    def claim(self, *, lease: timedelta = MINUTE, most: int = 1) -> tuple[Claim, ...]:
        options: dict[str, Any] = {"inflight_limit": 1000, "priority_share": Decimal("0.8")}
        return self.queue.ask(calls.claim(self.account.pk, most=most, lease=lease, **options)).claims


def why(card: Card, *, dispatch: Scan | None = None, **options: Any) -> Explanation:
    """Ask about the card as the database has it."""
    return explain(Card.objects.get(pk=card.pk), now=database_now(), scans=Scans(dispatch=dispatch), **options)
