"""The live order of the tests' own Redis, empty at the start of each test."""

from collections.abc import Iterator

import pytest
from redis import Redis

from scheduler.polling import connecting
from scheduler.polling.queue import Queue
from scheduler.polling.queue.keys import PREFIX


@pytest.fixture
def redis() -> Iterator[Redis]:
    """The client that the product uses; what the polling keeps goes before and after the test."""
    client = connecting.client()
    _empty(client)
    yield client
    _empty(client)


@pytest.fixture
def queue(redis: Redis) -> Queue:
    """The live order."""
    return Queue(redis)


def _empty(client: Redis) -> None:
    if keys := list(client.scan_iter(f"{PREFIX}:*", count=1000)):
        client.delete(*keys)
