"""Fixtures of the scheduler's tests: the queue of hints, in the tests' Redis or in one of a test's own."""

from collections.abc import Iterator

import pytest
from celery import Celery, current_app
from django.conf import settings

from project.services import Redis
from scheduler import launching
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
