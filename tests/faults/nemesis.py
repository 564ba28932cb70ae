"""Does random harm to an installation, from a seed, and says what it did."""

import os
import random
import signal
import time
from collections.abc import Callable

import psycopg
import redis

from project.services import PostgreSQL, Redis
from tests.faults.house import House
from tests.processes import Started

LONGEST_FREEZE_SECONDS = 8.0  # some are shorter than a lease, some longer
LONGEST_OUTAGE_SECONDS = 6.0


class Nemesis:
    """Harms the house, its broker and its database, one blow after the other."""

    def __init__(self, house: House, postgresql: PostgreSQL, seed: int) -> None:
        """Choose the blows by the seed."""
        self._house, self._broker, self._postgresql = house, house.broker, postgresql
        self._random = random.Random(seed)
        self.story: list[str] = []
        self._blows: dict[Callable[[], None], int] = {
            self.kill_a_child: 4,
            self.kill_a_main_process: 3,
            self.kill_a_whole_process: 3,
            self.ask_one_to_stop: 3,
            self.freeze_one: 2,
            self.freeze_a_main_process: 2,
            self.cut_all_sessions: 3,
            self.empty_the_broker: 3,
            self.hang_the_broker: 1,
            self.restart_the_broker_empty: 1,
            self.hang_the_database: 1,
            self.restart_the_database: 1,
        }

    def rage(self, seconds: float) -> None:
        """Strike again and again for so many seconds, while the house is looked after."""
        began = time.monotonic()
        while (now := time.monotonic() - began) < seconds:
            (blow,) = self._random.choices(list(self._blows), list(self._blows.values()))
            self.story.append(f"{now:5.1f} s {blow.__name__}")
            blow()
            self._let_it_work(self._random.uniform(0.2, 2.5))

    def kill_a_child(self) -> None:
        """Kill a child of a runner."""
        children = self._one("runner").children()
        if children:
            signal_if_there(self._random.choice(children), signal.SIGKILL)

    def kill_a_main_process(self) -> None:
        """Kill the main process of any."""
        self._one().kill_main()

    def kill_a_whole_process(self) -> None:
        """Kill a process and its children."""
        self._one().kill9()

    def ask_one_to_stop(self) -> None:
        """Ask a runner or worker to stop, warmly or coldly."""
        how = self._random.choice([signal.SIGTERM, signal.SIGQUIT])
        signal_if_there(self._one("runner", "worker").pid, how)

    def freeze_one(self) -> None:
        """Stop a runner or worker in its tracks for a while."""
        frozen = self._one("runner", "worker")
        if frozen.runs():
            frozen.freeze()
            self._let_it_work(self._random.uniform(1.0, LONGEST_FREEZE_SECONDS))
            frozen.thaw()

    def freeze_a_main_process(self) -> None:
        """Stop the main process of a runner in its tracks for a while; its children go on, and nobody cares."""
        frozen = self._one("runner")
        signal_if_there(frozen.pid, signal.SIGSTOP)
        self._let_it_work(self._random.uniform(1.0, LONGEST_FREEZE_SECONDS))
        signal_if_there(frozen.pid, signal.SIGCONT)

    def cut_all_sessions(self) -> None:
        """End all sessions of the database."""
        with psycopg.connect(self._postgresql.url) as session:
            session.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")

    def empty_the_broker(self) -> None:
        """Flush Redis."""
        redis.Redis.from_url(self._broker.url).flushall()

    def hang_the_broker(self) -> None:
        """Stop Redis in its tracks for a while."""
        process = server_process(self._broker)
        os.kill(process, signal.SIGSTOP)
        self._let_it_work(self._random.uniform(1.0, LONGEST_OUTAGE_SECONDS))
        os.kill(process, signal.SIGCONT)

    def hang_the_database(self) -> None:
        """Stop PostgreSQL in its tracks for a while, with all its sessions."""
        group = server_process(self._postgresql)
        os.killpg(group, signal.SIGSTOP)
        self._let_it_work(self._random.uniform(1.0, LONGEST_FREEZE_SECONDS))
        os.killpg(group, signal.SIGCONT)

    def restart_the_broker_empty(self) -> None:
        """Kill Redis, and start it again after a while."""
        self._restart(self._broker, signal.SIGKILL)

    def restart_the_database(self) -> None:
        """End PostgreSQL, gently or as a crash does, and start it again after a while."""
        self._restart(self._postgresql, self._random.choice([signal.SIGINT, signal.SIGQUIT]))

    def _restart(self, server: Redis | PostgreSQL, how: signal.Signals) -> None:
        os.kill(server_process(server), how)
        assert server.process is not None
        server.process.wait()
        self._let_it_work(self._random.uniform(0.0, LONGEST_OUTAGE_SECONDS / 2))
        server.launch()

    def _one(self, *names: str) -> Started:
        named = [process for process in self._house.supervised if not names or process.name in names]
        return self._random.choice(named)

    def _let_it_work(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        self._house.wait_until(lambda: time.monotonic() >= end, seconds + 30)


def server_process(server: Redis | PostgreSQL) -> int:
    """Return the server's process number."""
    assert server.process is not None
    return server.process.pid


def signal_if_there(pid: int, number: signal.Signals) -> None:
    """Send the signal to a process that may have ended."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
