"""The live order of 100,000 cards on 50 accounts, built from rows that know half of the due times; bytes a card."""

import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice

from tests.benchmarks import servers
from tests.benchmarks.measuring import Measurement, Options, at_most, stated

CARDS = 100_000
ACCOUNTS = 50
LIMIT_SECONDS = 15.0
LIMIT_BYTES = 350.0


def measure(options: Options) -> list[Measurement]:
    """Build it a few times, the first time in an empty Redis, and state the slowest; then look at what it takes."""
    from project.kit.clock import database_now

    count = options.size or CARDS
    servers.empty_broker()
    _empty_rows()
    _lay_down(count, database_now())
    took = [_build(count) for _ in range(options.rounds)]
    return [
        at_most(f"initialize {count:,} cards, the slowest", "s", max(took), LIMIT_SECONDS * count / CARDS),
        at_most("bytes a card in Redis", "B", bytes_held() / count, LIMIT_BYTES),
        stated("reconcile all, nothing to mend", "s", _reconcile()),
    ]


def _build(count: int) -> float:
    """Return the seconds that all accounts take, one after another."""
    from project.kit.clock import database_now
    from scheduler.polling import connecting
    from scheduler.polling.fleet.initializing import rebuild
    from scheduler.polling.models import CarrierAccount

    start = time.perf_counter()
    account_ids = CarrierAccount.objects.order_by("pk").values_list("pk", flat=True)
    built = [rebuild(connecting.client(), account_id, by="benchmark", now=database_now()) for account_id in account_ids]
    took = time.perf_counter() - start
    assert sum(each.cards for each in built) == count, "cards are missing in the order"
    return took


def _reconcile() -> float:
    from project.kit.clock import database_now
    from scheduler.polling import connecting
    from scheduler.polling.fleet.reconciling import reconcile_all

    start = time.perf_counter()
    assert reconcile_all(connecting.client(), now=database_now()) == [], "an order that was just built was mended"
    return time.perf_counter() - start


def bytes_held() -> int:
    """Return what the keys of all accounts take, their whole contents counted."""
    from scheduler.polling.queue.keys import PREFIX

    broker = servers.broker()
    keys = list(broker.scan_iter(f"{PREFIX}:*", count=1000))
    return sum(int(broker.memory_usage(key, samples=0) or 0) for key in keys)


# --- the rows --------------------------------------------------------------------------------------------------


def _empty_rows() -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE polling_carrieraccount, polling_pollingtier CASCADE")


def _lay_down(count: int, now: datetime) -> None:
    """Insert the accounts and their cards; every other card has been checked before, in two ways."""
    from scheduler.polling.models import Card, CardCheck, CarrierAccount, PollingTier
    from scheduler.polling.states import CheckType
    from tests.scheduler.polling.factories import iccid

    PollingTier.objects.create(position=1, name="all", usage_seconds=3600, card_status_seconds=86_400)
    accounts = CarrierAccount.objects.bulk_create(
        CarrierAccount(name=f"account {number}", gateway="http_json", created_at=now, updated_at=now)
        for number in range(ACCOUNTS)
    )
    numbers = range(count)
    for some in _parts(
        Card(iccid=iccid(n), account=accounts[n % ACCOUNTS], reset_day=n % 31 + 1, created_at=now, updated_at=now)
        for n in numbers
    ):
        checked = Card.objects.bulk_create(some)[::2]
        CardCheck.objects.bulk_create(
            CardCheck(card=card, type=check, due_at=now + timedelta(seconds=card.pk % 3600), checked_at=now, token=1)
            for card in checked
            for check in (CheckType.USAGE, CheckType.CARD_STATUS)
        )
    servers.refresh_statistics()


def _parts(cards: Iterator[object]) -> Iterator[list[object]]:
    while part := list(islice(cards, 5000)):
        yield part
