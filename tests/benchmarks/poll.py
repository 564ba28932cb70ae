"""Cards polled end to end by real processes, two checks each, beside one Celery message a card and check."""

import time
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING

from tests.benchmarks import polled, servers
from tests.benchmarks.measuring import OURS, Measurement, Options, rate, stated, take_turns
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
# Of 8, 16, 32 and 64 threads, the best; in one process or in two.
LEGACY_PROCESSES, LEGACY_THREADS = 2, 16
LEGACY_COMMAND = (
    f"exec celery --quiet -A project worker --queues polling.legacy --pool threads --concurrency {LEGACY_THREADS}"
    " --without-gossip --without-mingle --loglevel warning"
)
# So many messages wait at most, so that sending them costs the threads nothing.
LEGACY_WAITING = 2000
WARM_CARDS, SECONDS = 200, 20

_milliseconds: dict[str, list[float]] = {OURS: [], LEGACY: []}


def measure(options: Options) -> list[Measurement]:
    """Compare; state the processor's time that a card takes of the processes that ask."""
    cards = options.size or CARDS
    medians = take_turns({OURS: partial(_ours, cards), LEGACY: partial(_legacy, cards)}, options.rounds)
    spent = [stated(f"poll, CPU a card, {name}", "ms", min(each)) for name, each in _milliseconds.items()]
    return [rate("poll", "cards/s", medians, WANTED, AT_LEAST), *spent]


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
    from scheduler.polling.cutover import legacy

    with _carrier(cards) as url, polled.platform() as processes:
        for account in _lay_down(url, cards):
            for entries in polled.all_due(account):
                legacy.put(connecting.client(), entries)
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
    from scheduler.polling.cutover import legacy

    room = LEGACY_WAITING - int(servers.broker().llen(f"tideline:{legacy.QUEUE}"))
    if room > 0:
        legacy.send(legacy.take_due(connecting.client(), room // (2 * legacy.SHARDS)))


# --- how far it is ---------------------------------------------------------------------------------------------


class _Watch:
    """Counts the cards polled between two moments, once it has got going; asked each second.

    Args:
        processes: those that ask the carrier.
    """

    def __init__(self, name: str, cards: int, processes: list[Started]) -> None:
        self._name, self._cards, self._processes = name, cards, processes
        self._began: tuple[float, float, float] | None = None
        self.cards_a_second = 0.0

    def is_complete(self) -> bool:
        """Tell whether it was watched for long enough."""
        now, done, spent = time.monotonic(), _cards_polled(), polled.processor_seconds(self._processes)
        if self._began is None:
            self._began = (now, done, spent) if done >= WARM_CARDS else None
            return False
        seconds, cards = now - self._began[0], done - self._began[1]
        if seconds < SECONDS:
            return False
        assert done < self._cards, "it was done before its time was over: take a larger --size"
        self.cards_a_second = cards / seconds
        _milliseconds[self._name].append((spent - self._began[2]) / cards * 1000)
        return True


def _cards_polled() -> float:
    """Return how many cards have their two results, each counting for a half."""
    from scheduler.polling.models import CardCheck

    return CardCheck.objects.filter(succeeded_at__isnull=False, failures=0).count() / 2
