"""Charges on one hot quota by four processes, beside a bare guarded UPDATE of that row; and the books after a kill."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from tests.benchmarks import servers
from tests.benchmarks.measuring import OURS, Measurement, Options, rate, take_turns
from tests.processes import surroundings

PROCESSES = 4
SECONDS = 5
BARE = "bare UPDATE"
# The ledger entry is written as well.
WANTED = {BARE: 0.7}
KEY = "benchmark.hot"


def measure(options: Options) -> list[Measurement]:
    """Compare, and then kill a process amid its charges."""
    servers.empty_tables()
    _make_quota()
    seconds = options.size or SECONDS
    medians = take_turns(
        {OURS: partial(_rate, "charge", seconds), BARE: partial(_rate, "update", seconds)}, options.rounds
    )
    return [rate("charges on one quota", "charges/s", medians, WANTED), _differences_after_a_kill()]


def _make_quota() -> None:
    from project.kit.clock import database_now
    from quotas import defining
    from quotas.states import Kind

    for key in (KEY, f"{KEY}.bare"):  # the bare one has no ledger, and must not spoil the books of the other
        defining.create(key=key, kind=Kind.CAPACITY, limit=10**12, now=database_now())


def _rate(way: str, seconds: int) -> float:
    """Return how many a second all processes came to together."""
    servers.refresh_statistics()
    with _processes(way, seconds) as processes:
        return sum(int(process.communicate()[0].split()[-1]) for process in processes) / seconds


def _differences_after_a_kill() -> Measurement:
    """Kill one of the processes amid its charges, and count what the ledger and the balance differ in."""
    from quotas.checking import check_books
    from quotas.models import Quota

    with _processes("charge", 2) as processes:
        time.sleep(1)
        processes[0].kill()
        statuses = [process.wait() for process in processes]
    assert statuses == [-signal.SIGKILL, 0, 0, 0], f"it was killed too late to show anything: {statuses}"
    Quota.objects.filter(key=f"{KEY}.bare").update(used=0)
    differences = len(check_books())
    return Measurement("books after a kill amid charges", differences, "differences", target=0, met=differences == 0)


@contextmanager
def _processes(way: str, seconds: int) -> Iterator[list["subprocess.Popen[str]"]]:
    """Start the processes, and yield them when all are at it at once."""
    command = [sys.executable, "-m", "tests.benchmarks.charge", way, str(seconds)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(command, env=surroundings(), **pipes) for _ in range(PROCESSES)]  # type: ignore[call-overload]
    try:
        for process in processes:
            process.stdout.readline()  # it is ready
        for process in processes:
            process.stdin.write("go\n")
            process.stdin.flush()
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


# --- one process -----------------------------------------------------------------------------------------------


def _charging() -> Callable[[], object]:
    import django

    django.setup()
    from project.kit.clock import CarriedClock
    from quotas import charging

    clock = CarriedClock()
    return lambda: charging.charge(KEY, 1, now=clock(), owner="benchmark")


def _updating() -> Callable[[], object]:
    import psycopg

    connection = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)
    statement = 'UPDATE quotas_quota SET used = used + 1 WHERE key = %s AND used + 1 <= "limit"'
    return lambda: connection.execute(statement, [f"{KEY}.bare"], prepare=True)


def _spend(way: str, seconds: float) -> None:
    """Say when it is ready, wait for the word, spend for so long, and say how often."""
    once = {"charge": _charging, "update": _updating}[way]()
    once()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    count, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        once()
        count += 1
    sys.stdout.write(f"{count}\n")


if __name__ == "__main__":
    _spend(sys.argv[1], float(sys.argv[2]))
