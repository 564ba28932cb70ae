"""Fixtures of the scheduler's tests: a worker, and the queue of hints in the tests' Redis or in one of a test's own."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from celery import Celery, current_app
from django.conf import settings

from project.services import Redis
from scheduler import launching
from scheduler.identity import SharedSignals, ThisWorker
from tests.scheduler.keepers import LEASE, Child, Station
from tests.scheduler.queue import Queue


@pytest.fixture
def queue() -> Iterator[Queue]:
    """The tests' queue, in which nothing waits but the trace of earlier hints."""
    queue = Queue(settings.REDIS_URL)
    queue.empty()
    queue.redis.set(f"tideline:{launching.NOT_EMPTIED}", "before")
    yield queue
    queue.empty()


@pytest.fixture
def own_queue(redis_server: Redis) -> Iterator[Queue]:
    """The queue of a Redis that the test may stop and empty."""
    before = current_app._get_current_object()
    app = Celery("own", broker=redis_server.url)
    app.config_from_object("project.celery_settings")
    app.conf.broker_url = redis_server.url
    app.set_current()
    yield Queue(redis_server.url)
    app.close()
    before.set_current()


@pytest.fixture
def worker() -> ThisWorker:
    """A worker with signals of its own."""
    return ThisWorker("host:1:1:boot", SharedSignals())


@pytest.fixture
def station(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Station:
    """A worker process with a lease of 30 seconds."""
    settings.TIDELINE_LEASE_SECONDS = int(LEASE)
    return Station(monkeypatch)


@pytest.fixture
def children() -> Iterator[Callable[[], Child]]:
    """Makes processes that wait, and buries them."""
    born: list[Child] = []

    def bear() -> Child:
        born.append(subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE))
        return born[-1]

    yield bear
    for child in born:
        child.kill()
        child.communicate()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A monotonic clock, as a list of the one number that it shows."""
    shown = [time.monotonic()]
    monkeypatch.setattr(time, "monotonic", lambda: shown[0])
    return shown
