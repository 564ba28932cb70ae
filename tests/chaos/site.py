"""The installation that is harmed: every process of the Procfile that works, behind proxies, beside a carrier and a
receiver of webhooks.
"""

import platform
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings

from project.services import PostgreSQL, Redis
from project.services.postgresql import DATABASE, SOCKET_NAME, USER, socket_folder
from scheduler.polling import connecting
from tests.benchmarks.polled import access
from tests.faults.clocks import SteppedClock
from tests.faults.house import House
from tests.faults.listeners import Listener, listening
from tests.faults.proxy import Proxy
from tests.processes import Processes
from tests.scheduler.polling.carriers.processes import carrier_process

JOBS = ("tests.flow.spending_jobs", "tests.chaos.jobs", "tests.faults.quick_senders")
LIMITED, FREE = "limited", "free"  # the accounts
CALLS_A_SECOND = 15  # of the limited one
# The carrier bears twice as many, for so many may come when its limiter was forgotten; what is refused is not for here.
ACCOUNTS = (f"{LIMITED},latency=100,rate={2 * CALLS_A_SECOND}/1", f"{FREE},latency=20,spread=15")
# Of these there are two, so that one can be away; the clock of the second can be stepped.
TWICE = ("beat", "worker", "runner", "poller")
ONCE = ("notifier", "legacy")


class Site(House):
    """One installation behind proxies.

    Attributes:
        carrier: where the carrier is.
        receiver: of the webhooks.
        to_redis, to_database: the proxies between the processes and their servers.
        clocks: each is seen by one process; none where libfaketime does not run.
    """

    def __init__(
        self, processes: Processes, broker: Redis, postgresql: PostgreSQL, folder: Path, *, carrier: str
    ) -> None:
        super().__init__(processes, broker, folder)
        self.postgresql, self.carrier, self.receiver = postgresql, carrier, Listener(1)
        self.to_redis = Proxy(broker.port)
        self.to_database = Proxy(socket_folder(postgresql.state) / SOCKET_NAME)
        self.clocks = [_clock_in(folder / name) for name in TWICE] if _clocks_can_be_stepped() else []

    def start_all(self, allowed: str) -> None:
        """Start all processes.

        Args:
            allowed: the places inward that they may call.
        """
        self.environ |= {
            "DATABASE_URL": f"postgresql://{USER}@127.0.0.1:{self.to_database.port}/{DATABASE}",
            "REDIS_URL": self.broker.url.replace(f":{urlsplit(self.broker.url).port}/", f":{self.to_redis.port}/"),
            "TIDELINE_ALLOWED_HOSTS_INWARD": allowed,
            "TIDELINE_JOBS": ",".join(JOBS),
            "TIDELINE_LEGACY_THREADS": "4",
            "TIDELINE_NOTIFIERS": "4",
            "TIDELINE_POLLING_LEASE_SECONDS": "3",
            "TIDELINE_POLLING_RENEW_SECONDS": "1",
            "TIDELINE_RESUME_DEADLINE_SECONDS": "20",
        }
        self.supervise(*ONCE, *TWICE)
        for place, name in enumerate(TWICE):
            self.supervise(name, **self.clocks[place].environ if self.clocks else {})

    def marks_by_run(self) -> dict[int, list[dict[str, Any]]]:
        """Return the marks that jobs left, by run, in their order."""
        by_run: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for mark in self.marks():
            by_run[mark["run"]].append(mark)
        return by_run

    def end(self) -> None:
        """Close the proxies; the processes are gone."""
        self.to_redis.end()
        self.to_database.end()


@contextmanager
def site_at_work(processes: Processes, broker: Redis, postgresql: PostgreSQL, folder: Path) -> Iterator[Site]:
    """Start an installation with its carrier and its receiver, for which this process is one of the people."""
    with (
        carrier_process(*(word for account in ACCOUNTS for word in ("--account", account))) as carrier,
        pytest.MonkeyPatch.context() as patch,
    ):
        site = Site(processes, broker, postgresql, folder, carrier=carrier)
        with listening(site.receiver) as receiver:
            allowed = f"{access(carrier)['TIDELINE_ALLOWED_HOSTS_INWARD']},{receiver}"
            patch.setattr(settings, "TIDELINE_ALLOWED_HOSTS_INWARD", allowed.split(","))
            patch.setattr(settings, "REDIS_URL", broker.url)
            connecting.client.cache_clear()
            site.start_all(allowed)
            try:
                yield site
            finally:
                processes.end()
                site.end()
                connecting.client.cache_clear()


def _clocks_can_be_stepped() -> bool:
    return (platform.system(), platform.machine()) == ("Linux", "x86_64")


def _clock_in(folder: Path) -> SteppedClock:
    folder.mkdir()
    return SteppedClock(folder)
