"""Accounts at a simulated carrier in a process of its own, their cards in rows and due, and the pollers."""

import json
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from tests.benchmarks import servers
from tests.processes import Processes, Started

if TYPE_CHECKING:
    from scheduler.polling.models import CarrierAccount
    from scheduler.polling.queue import Card as Entry

ROUND_SECONDS = 1.0
PART = 1000


# --- the fleet -------------------------------------------------------------------------------------------------


def empty() -> None:
    """Forget all accounts and cards, and whatever is in Redis."""
    from django.db import connection

    servers.empty_broker()
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE polling_carrieraccount, polling_pollingtier CASCADE")


def lay_down_tier(seconds: int) -> None:
    """Let usage and status of all cards be checked so often."""
    from scheduler.polling.models import PollingTier

    PollingTier.objects.create(position=1, name="all", usage_seconds=seconds, card_status_seconds=seconds)


def lay_down(url: str, name: str, cards: int, **params: Any) -> "CarrierAccount":
    """Insert an account of the carrier with its first cards; nothing of the live order.

    Args:
        url: where the carrier is.
        params: of its polling.
    """
    from project.kit.clock import database_now
    from scheduler.polling.carriers.simulator import AccountPlan, credentials_for, iccid_of, settings_for
    from scheduler.polling.models import Card, CarrierAccount, PollingParams

    now = database_now()
    account = CarrierAccount.objects.create(
        name=name,
        gateway="http_json",
        settings=settings_for(url, name),
        credentials=credentials_for(AccountPlan(name)),
        created_at=now,
        updated_at=now,
    )
    PollingParams.objects.create(account=account, changed_at=now, **params)
    iccids = (iccid_of(name, number) for number in range(cards))
    rows = (Card(iccid=iccid, account=account, created_at=now, updated_at=now) for iccid in iccids)
    Card.objects.bulk_create(rows, batch_size=PART)
    return account


def all_due(account: "CarrierAccount") -> Iterator[Sequence["Entry"]]:
    """Yield the account's cards, in parts, with status and usage due."""
    from project.kit.clock import database_now
    from scheduler.polling.queue import Card as Entry
    from scheduler.polling.states import CheckType

    due = dict.fromkeys((CheckType.CARD_STATUS, CheckType.USAGE), database_now() - timedelta(seconds=1))
    ids = list(account.cards.order_by("pk").values_list("pk", flat=True))
    for first in range(0, len(ids), PART):
        yield [Entry(card_id, due, {}) for card_id in ids[first : first + PART]]


def put_in_order(account: "CarrierAccount") -> None:
    """Put the account's cards into its live order, all of them due."""
    from scheduler.polling import connecting
    from scheduler.polling.queue import Queue, calls

    queue = Queue(connecting.client())
    for entries in all_due(account):
        queue.ask(calls.put(account.pk, entries))
    queue.ask(calls.complete_rebuild(account.pk, "benchmark", 0))


# --- the processes ---------------------------------------------------------------------------------------------


@contextmanager
def platform() -> Iterator[Processes]:
    """The processes that take part, all of which are killed at the end."""
    with TemporaryDirectory() as folder:
        processes = Processes(Path(folder))
        try:
            yield processes
        finally:
            processes.end()


def start_pollers(processes: Processes, url: str, count: int) -> list[Started]:
    """Start pollers that may call the carrier, and wait until they have said what they hold."""
    pollers = [processes.start("poller", **access(url)) for _ in range(count)]
    processes.wait_until(lambda: _capacity() >= count * _held_by_one(), 60, "the pollers")
    return pollers


def access(url: str) -> dict[str, str]:
    """Return the environment of a process that may call the carrier."""
    return {"TIDELINE_ALLOWED_HOSTS_INWARD": url.removeprefix("http://")}


def dispatch_until(over: Callable[[], bool]) -> None:
    """Dispatch each second, until it is over."""
    from project.kit.clock import database_now
    from scheduler.polling import connecting, dispatching

    each_second(lambda: dispatching.dispatch(connecting.client(), now=database_now()), over)


def each_second(act: Callable[[], object], over: Callable[[], bool]) -> None:
    """Do something each second, until it is over."""
    while not over():
        began = time.monotonic()
        act()
        time.sleep(max(ROUND_SECONDS - (time.monotonic() - began), 0))


def _capacity() -> int:
    from scheduler.polling import capacity, connecting
    from scheduler.polling.params import SHARED_QUEUE

    return capacity.of_queues(connecting.client(), [SHARED_QUEUE])[SHARED_QUEUE]


def _held_by_one() -> int:
    from django.conf import settings

    held: int = settings.TIDELINE_POLLER_CARDS
    return held


# --- what the carrier says of it -------------------------------------------------------------------------------


def stats(url: str) -> dict[str, dict[str, Any]]:
    """Return what the carrier has counted, by account."""
    with urllib.request.urlopen(f"{url}/_stats") as answer:
        counted: dict[str, dict[str, Any]] = json.load(answer)
    return counted


def count_anew(url: str) -> None:
    """Let the carrier forget what it has counted."""
    urllib.request.urlopen(urllib.request.Request(f"{url}/_stats", method="DELETE")).close()
