"""An account that no other test has, and a queue on the tests' Redis."""

from collections.abc import Iterator
from itertools import count

import pytest
from django.conf import settings
from redis import Redis

from scheduler.polling.queue import Queue
from tests.scheduler.polling.queue.states import forget

ACCOUNTS = count(1_000_000)


@pytest.fixture
def client() -> Iterator[Redis]:
    """A client of the tests' Redis."""
    with Redis.from_url(settings.REDIS_URL) as client:
        yield client


@pytest.fixture
def queue(client: Redis) -> Queue:
    """The queue."""
    return Queue(client)


@pytest.fixture
def account(client: Redis) -> Iterator[int]:
    """An account; what it leaves in Redis goes with the test."""
    account = next(ACCOUNTS)
    yield account
    forget(client, account)
