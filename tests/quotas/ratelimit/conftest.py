"""A limiter's name that no other test uses, and clients of the tests' Redis."""

from collections.abc import Iterator
from uuid import uuid4

import pytest
from django.conf import settings
from redis import Redis

from tests.quotas.ratelimit.states import keys_of


@pytest.fixture
def client() -> Iterator[Redis]:
    """A client of the tests' Redis."""
    with Redis.from_url(settings.REDIS_URL) as client:
        yield client


@pytest.fixture
def name(client: Redis) -> Iterator[str]:
    """A name for a limiter; what it leaves in Redis goes with the test."""
    name = f"test:{uuid4()}"
    yield name
    if keys := keys_of(client, name):
        client.delete(*keys)
