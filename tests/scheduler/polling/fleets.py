"""Accounts at a simulated carrier, with their cards in order and due, and a poller in this process."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from typing import Any

from project.kit.clock import database_now
from scheduler.polling import connecting
from scheduler.polling.carriers.simulator import RunningCarrier, credentials_for, iccid_of, settings_for
from scheduler.polling.engine import Engine
from scheduler.polling.models import Card, CarrierAccount, PollingParams
from scheduler.polling.params import SHARED_QUEUE
from scheduler.polling.queue import Queue, calls
from scheduler.polling.queue.entries import Card as Entry
from scheduler.polling.queue.entries import Claim, Counts
from scheduler.polling.states import CheckType

STATUS, USAGE = CheckType.CARD_STATUS, CheckType.USAGE
PATIENCE_SECONDS = 60


def make_fleet(carrier: RunningCarrier, name: str = "main", *, cards: int = 1, **params: Any) -> CarrierAccount:
    """Insert an account of the carrier with its first cards; status and usage of each are due."""
    account = make_cards_at(carrier, name, cards=cards, **params)
    put_in_order(account)
    return account


def make_cards_at(carrier: RunningCarrier, name: str = "main", *, cards: int, **params: Any) -> CarrierAccount:
    """Insert an account of the carrier with its first cards: rows only, nothing of the live order."""
    now = database_now()
    account = CarrierAccount.objects.create(
        name=name,
        gateway="http_json",
        settings=settings_for(carrier.url, name),
        credentials=credentials_for(carrier.plan(name)),
        created_at=now,
        updated_at=now,
    )
    PollingParams.objects.create(account=account, changed_at=now, **{"rate_windows": []} | params)
    iccids = (iccid_of(name, number) for number in range(cards))
    Card.objects.bulk_create([Card(iccid=iccid, account=account, created_at=now, updated_at=now) for iccid in iccids])
    return account


def put_in_order(account: CarrierAccount) -> None:
    """Put the cards of an account in order anew, with status and usage due."""
    queue, due = Queue(connecting.client()), dict.fromkeys((STATUS, USAGE), database_now() - timedelta(seconds=1))
    queue.ask(calls.begin_rebuild(account.pk))
    cards = account.cards.values_list("pk", flat=True)
    queue.ask(calls.put(account.pk, [Entry(card_id, due, {}) for card_id in cards]))
    queue.ask(calls.complete_rebuild(account.pk, "test", 0))


def claimed(account: CarrierAccount, *, lease: float = 60) -> tuple[Claim, ...]:
    """Claim all due cards of an account."""
    call = calls.claim(
        account.pk, most=1000, inflight_limit=1000, lease=timedelta(seconds=lease), priority_share=Decimal("0.8")
    )
    return Queue(connecting.client()).ask(call).claims


def counts(account: CarrierAccount) -> Counts:
    """Return what the account has in order."""
    return Queue(connecting.client()).ask(calls.count(account.pk))


@contextmanager
def poller() -> Iterator[Engine]:
    """A poller of the shared queue in this process."""
    engine = Engine([SHARED_QUEUE])
    engine.start()
    try:
        yield engine
    finally:
        engine.stop()


def wait_until(happened: Callable[[], object], what: str) -> None:
    """Wait until something has happened.

    Raises:
        AssertionError: it has not, after a minute.
    """
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not happened():
        assert time.monotonic() < give_up, f"waited {PATIENCE_SECONDS} s for {what}"
        time.sleep(0.02)
