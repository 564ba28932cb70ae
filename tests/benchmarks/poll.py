"""Cards polled end to end by real processes, two checks each, beside one Celery message a card and check."""

import time
from contextlib import AbstractContextManager
from functools import partial
from statistics import median
from typing import TYPE_CHECKING

import psutil

from tests.benchmarks import polled, servers
from tests.benchmarks.measuring import OURS, Measurement, Options, rate, stated, take_turns
from tests.benchmarks.processor import family, used
from tests.processes import Processes, Started
from tests.scheduler.polling.carriers.processes import carrier_process

if TYPE_CHECKING:
    from scheduler.polling.models import CarrierAccount

LEGACY = "a message a card and check"
WANTED = {LEGACY: 5}
AT_LEAST = 700

CARDS, ACCOUNTS, LATENCY = 40_000, 20, 20
# Above what is reached, so that each call is booked and none waits for it.
WINDOWS = [{"limit": 1000, "seconds": 1}]
POLLERS = 2
# Of 8, 16 and 32 threads the best; one process does less than two.
LEGACY_PROCESSES, LEGACY_THREADS = 2, 8
LEGACY_COMMAND = (
    f"exec celery --quiet -A project worker --queues polling.legacy --pool threads --concurrency {LEGACY_THREADS}"
    " --without-gossip --without-mingle --loglevel warning"
)
# So many messages wait at most, so that sending them costs the threads nothing.
LEGACY_WAITING = 2000
WARM_CARDS, SECONDS = 200, 20

# Of the processor, for a card in each turn: what the pollers or workers take, and what all take, the servers and the
# carrier included.
_milliseconds: dict[str, list[tuple[float, float]]] = {OURS: [], LEGACY: []}


def measure(options: Options) -> list[Measurement]:
    """Compare; state what of the processor's time a card takes, which is the same however busy it is with others."""
    cards = options.size or CARDS
    medians = take_turns({OURS: partial(_ours, cards), LEGACY: partial(_legacy, cards)}, options.rounds)
    return [rate("poll", "cards/s", medians, WANTED, AT_LEAST), *_spent(OURS), *_spent(LEGACY)]


def _spent(name: str) -> list[Measurement]:
    by_askers, by_all = (median(turns) for turns in zip(*_milliseconds[name], strict=True))
    return [
        stated(f"poll, {name}: CPU a card of those who ask", "ms", by_askers),
        stated(f"poll, {name}: CPU a card of all processes", "ms", by_all),
    ]


def _ours(cards: int) -> float:
    with _carrier(cards) as url, polled.platform() as processes:
        for account in _lay_down(url, cards):
            polled.put_in_order(account)
        pollers = polled.start_pollers(processes, url, POLLERS)
        figure = _Watch(OURS, cards, pollers)
        polled.dispatch_until(figure.is_complete)
        assert not any(each["card_asked_twice_at_once"] for each in polled.stats(url).values())
    return figure.cards_a_second


def _legacy(cards: int) -> float:
    from scheduler.polling import connecting
    from scheduler.polling.cutover import sets

    with _carrier(cards) as url, polled.platform() as processes:
        for account in _lay_down(url, cards):
            for entries in polled.all_due(account):
                sets.put(connecting.client(), entries)
        connecting.client().set(sets.READY, "benchmark")  # all are there: what is due may be taken
        workers = [_legacy_worker(processes, url, number) for number in range(LEGACY_PROCESSES)]
        figure = _Watch(LEGACY, cards, workers)
        polled.each_second(_send_some, figure.is_complete)
    return figure.cards_a_second


# --- what both start with --------------------------------------------------------------------------------------


def _carrier(cards: int) -> AbstractContextManager[str]:
    accounts = (f"{name},cards={cards // ACCOUNTS},latency={LATENCY}" for name in _names())
    return carrier_process(*(word for account in accounts for word in ("--account", account)))


def _lay_down(url: str, cards: int) -> "list[CarrierAccount]":
    polled.empty()
    polled.lay_down_tier(seconds=3600)
    accounts = [polled.lay_down(url, name, cards // ACCOUNTS, rate_windows=WINDOWS) for name in _names()]
    servers.refresh_statistics()
    return accounts


def _names() -> list[str]:
    return [f"account-{number}" for number in range(ACCOUNTS)]


def _legacy_worker(processes: Processes, url: str, number: int) -> Started:
    command = f"{LEGACY_COMMAND} --hostname legacy{number}@%h"
    return processes.run("legacy", command, **polled.access(url))


def _send_some() -> None:
    from scheduler.polling import connecting
    from scheduler.polling.cutover import legacy, sets

    room = LEGACY_WAITING - int(servers.broker().llen(f"tideline:{legacy.QUEUE}"))
    if room > 0:
        legacy.send(sets.take_due(connecting.client(), room // (2 * sets.SHARDS)))


# --- how far it is ---------------------------------------------------------------------------------------------


class _Watch:
    """Counts the cards polled between two moments, once it has got going; asked each second.

    Args:
        processes: those that ask the carrier.
    """

    def __init__(self, name: str, cards: int, processes: list[Started]) -> None:
        self._name, self._cards, self._processes = name, cards, processes
        self._began: tuple[float, float, float, float] | None = None
        self.cards_a_second = 0.0

    def is_complete(self) -> bool:
        """Tell whether it was watched for long enough."""
        reached = (time.monotonic(), _cards_polled(), *self._processor_seconds())
        if self._began is None:
            self._began = reached if reached[1] >= WARM_CARDS else None
            return False
        seconds, cards, by_askers, by_all = (now - then for now, then in zip(reached, self._began, strict=True))
        if seconds < SECONDS:
            return False
        assert reached[1] < self._cards, "it was done before its time was over: take a larger --size"
        self.cards_a_second = cards / seconds
        _milliseconds[self._name].append((by_askers / cards * 1000, by_all / cards * 1000))
        return True

    def _processor_seconds(self) -> tuple[float, float]:
        askers = [psutil.Process(process.pid) for process in self._processes]
        return used(askers), used(family())


def _cards_polled() -> float:
    """Return how many cards have their two results, each counting for a half."""
    from scheduler.polling.models import CardCheck

    return CardCheck.objects.filter(succeeded_at__isnull=False, failures=0).count() / 2
