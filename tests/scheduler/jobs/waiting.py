"""Waiting in tests: for a condition, for processes, for what happens meanwhile."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from django.db import connection

PATIENCE_SECONDS = 30


def wait_until(condition: Callable[[], object], what: str) -> None:
    """Ask again and again until the condition holds."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {PATIENCE_SECONDS} s"
        time.sleep(0.02)


@contextmanager
def meanwhile(act: Callable[[], None]) -> Iterator[None]:
    """Let `act` happen in a thread while the block works; what it asserts counts."""
    failures: list[BaseException] = []

    def perform() -> None:
        try:
            act()
        except BaseException as failure:
            failures.append(failure)
        finally:
            connection.close()

    thread = threading.Thread(target=perform)
    thread.start()
    yield
    thread.join()
    if failures:
        raise failures[0]


def is_alive(pid: int) -> bool:
    """Whether the process runs; one that only waits to be taken note of does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def pids_in(file: Path, count: int) -> list[int]:
    """Wait until so many processes have written their numbers there, a line each, and return them."""
    wait_until(lambda: file.exists() and len(file.read_text().splitlines()) == count, f"{count} processes")
    return [int(line) for line in file.read_text().splitlines()]
