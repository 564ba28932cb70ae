"""Does harm to all of it: what the nemesis of the runs and that of the cards know, and more."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import redis
from django.db import connection

from scheduler.polling.cutover import switching
from tests.chaos.site import Site
from tests.faults.house import LEASE_SECONDS
from tests.faults.test_polling_campaign import PollingNemesis
from tests.processes import Started

# The queues, and who takes hints from them.
TAKERS = {
    "scans": "worker",
    "runs": "runner",
    "alerts": "notifier",
    "polling.card": "poller",
    "polling.legacy": "legacy",
}
MOST_HINTS = 50
FURTHEST_STEP_SECONDS = 2 * 3600
# While one thing is harmed for some seconds, another is struck as well, so often.
CHANCE_OF_A_SECOND = 0.4
Blow = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Struck:
    """A blow that was struck, by the monotonic clock."""

    name: str
    began: float
    ended: float


class Chaos(PollingNemesis):
    """Harms a site.

    Attributes:
        struck: all that was done, in order.
    """

    def __init__(self, site: Site, seed: int) -> None:
        super().__init__(site, site.postgresql, seed)
        self._site = site
        self.struck: list[Struck] = []
        self._kinds: list[str] = []
        self._brief: list[Blow] = [self.kill_one_of_each_kind, self.cut_the_connections]
        self._blows = {
            self.kill_one_of_each_kind: 6,
            self.kill_a_child: 1,
            self.kill_a_main_process: 1,
            self.ask_one_to_stop: 1,
            self.freeze_beyond_the_lease: 2,
            self.freeze_a_main_process: 1,
            self.empty_the_broker: 2,
            self.restart_the_broker_empty: 1,
            self.hang_the_broker: 1,
            self.silence_the_broker: 1,
            self.fill_the_broker: 1,
            self.forget_the_limits: 1,
            self.lose_hints: 2,
            self.double_hints: 2,
            self.restart_the_database: 1,
            self.hang_the_database: 1,
            self.cut_all_sessions: 1,
            self.cut_the_connections: 2,
            self.slow_the_network: 1,
            self.step_a_clock: 2,
            self.cut_over: 1,
        }

    @property
    def counted(self) -> dict[str, int]:
        """How often each kind of harm was done."""
        return dict(Counter(blow.name for blow in self.struck))

    def rage_beside(self, people: Callable[[], None], seconds: float) -> None:
        """Strike for so many seconds, while people do theirs between the blows."""
        blows, end = self._bags(), time.monotonic() + seconds
        while time.monotonic() < end:
            self._strike(next(blows))
            self._let_it_work(self._random.uniform(0.2, 2.5))
            connection.close()  # the blow may have cut it
            people()

    def calm(self) -> None:
        """Take back what lasts."""
        for clock in self._site.clocks:
            clock.step(0)
        connection.close()

    def _bags(self) -> Iterator[Blow]:
        """Yield blows at random, all kinds again before any comes more often than it should."""
        while True:
            bag = [blow for blow, count in self._blows.items() for _ in range(count)]
            self._random.shuffle(bag)
            yield from bag

    def _strike(self, blow: Blow) -> None:
        began = time.monotonic()
        self.story.append(f"{began:9.1f} s {blow.__name__}")
        blow()
        self.struck.append(Struck(blow.__name__, began, time.monotonic()))

    def _let_it_work(self, seconds: float) -> None:
        super()._let_it_work(seconds / 2)
        if self._random.random() < CHANCE_OF_A_SECOND:
            self._strike(self._random.choice(self._brief))
        super()._let_it_work(seconds / 2)

    # --- processes -----------------------------------------------------------------------------------------------

    def kill_one_of_each_kind(self) -> None:
        """Kill a process with its children, of one kind after another."""
        if not self._kinds:
            self._kinds = sorted({process.name for process in self._site.supervised})
            self._random.shuffle(self._kinds)
        self._one(self._kinds.pop()).kill9()

    def freeze_beyond_the_lease(self) -> None:
        """Stop any process in its tracks until others have what it had."""
        with self._frozen(self._one()):
            self._let_it_work(LEASE_SECONDS + self._random.uniform(1.0, 4.0))

    def step_a_clock(self) -> None:
        """Set the clock of one process ahead, back, or right."""
        if self._site.clocks:
            seconds = self._random.choice([0, self._random.randint(-FURTHEST_STEP_SECONDS, FURTHEST_STEP_SECONDS)])
            self._random.choice(self._site.clocks).step(seconds)

    # --- servers and the way to them -----------------------------------------------------------------------------

    def fill_the_broker(self) -> None:
        """Let Redis have no memory left, so that it refuses every write."""
        with self._redis() as client:
            client.config_set("maxmemory", 1)
            self._let_it_work(self._random.uniform(2.0, 5.0))
            client.config_set("maxmemory", 0)

    def silence_the_broker(self) -> None:
        """Let the connections to Redis swallow everything, for good, and new ones for a while."""
        self._site.to_redis.silence()
        self._let_it_work(self._random.uniform(1.0, 6.0))
        self._site.to_redis.speak()

    def cut_the_connections(self) -> None:
        """Cut all connections to one of the servers."""
        self._random.choice([self._site.to_redis, self._site.to_database]).cut()

    def slow_the_network(self) -> None:
        """Let everything arrive late for a while."""
        delay = self._random.uniform(0.02, 0.2)
        self._site.to_redis.delay = self._site.to_database.delay = delay
        self._let_it_work(self._random.uniform(2.0, 5.0))
        self._site.to_redis.delay = self._site.to_database.delay = 0.0

    # --- hints ---------------------------------------------------------------------------------------------------

    def lose_hints(self) -> None:
        """Forget the hints that wait."""
        with self._waiting_hints() as (client, queue):
            client.delete(queue)

    def double_hints(self) -> None:
        """Repeat the hints that wait."""
        with self._waiting_hints() as (client, queue):
            if hints := client.lrange(queue, 0, MOST_HINTS):
                client.lpush(queue, *hints)

    @contextmanager
    def _waiting_hints(self) -> Iterator[tuple[redis.Redis, str]]:
        """Let hints of one queue wait, by freezing all that would take them."""
        queue, taker = self._random.choice(list(TAKERS.items()))
        frozen = [process for process in self._site.supervised if process.name == taker and process.runs()]
        for process in frozen:
            process.freeze()
        super()._let_it_work(self._random.uniform(0.5, 2.0))
        with self._redis() as client:
            yield client, f"tideline:{queue}"
        for process in frozen:
            process.thaw()

    # --- cards ---------------------------------------------------------------------------------------------------

    def cut_over(self) -> None:
        """Let the other way decide, unless a cut-over is under way."""
        connection.close()
        if not switching.under_way():
            super().cut_over()

    # ---------------------------------------------------------------------------------------------------------------

    @contextmanager
    def _frozen(self, process: Started) -> Iterator[None]:
        if process.runs():
            process.freeze()
        yield
        if process.runs():
            process.thaw()

    @contextmanager
    def _redis(self) -> Iterator[redis.Redis]:
        with redis.Redis.from_url(self._broker.url) as client:
            yield client
