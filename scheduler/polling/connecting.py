"""The clients of the Redis that holds the live order. They give up soon, so that it delays nobody by much."""

import functools

from django.conf import settings
from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redis.backoff import NoBackoff
from redis.retry import Retry

from project.kit import redis_urls

# Above what a script of a thousand cards takes; a Redis that hangs delays its callers by no more.
TIMEOUT_SECONDS = 5.0
# A person may be waiting.
HASTY_SECONDS = 1.0
# Of one poller process: hundreds of its calls ask the limiter at once, each for less than a millisecond.
MOST_CONNECTIONS = 50


@functools.cache
def client() -> Redis:
    """Return this process's client. It tries once more, for a connection may have died since it was used last."""
    return redis_urls.client(
        settings.REDIS_URL,
        socket_timeout=TIMEOUT_SECONDS,
        socket_connect_timeout=TIMEOUT_SECONDS,
        retry=Retry(NoBackoff(), 1),
        health_check_interval=10,
        client_name="tideline-polling",
    )


@functools.cache
def hasty_client() -> Redis:
    """Return this process's client for what is done at once or, if Redis is away or slow, later: it tries once."""
    return redis_urls.client(
        settings.REDIS_URL,
        socket_timeout=HASTY_SECONDS,
        socket_connect_timeout=HASTY_SECONDS,
        retry=Retry(NoBackoff(), 0),
        client_name="tideline-polling",
    )


def async_client() -> AsyncRedis:
    """Return a client for one event loop; whoever asks for it closes it."""
    return redis_urls.async_client(
        settings.REDIS_URL,
        max_connections=MOST_CONNECTIONS,
        timeout=TIMEOUT_SECONDS,
        socket_timeout=TIMEOUT_SECONDS,
        socket_connect_timeout=TIMEOUT_SECONDS,
        client_name="tideline-poller",
    )
