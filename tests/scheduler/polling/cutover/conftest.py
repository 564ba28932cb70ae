"""The Redis of the live order, as the tests of the fleet have it."""

from tests.scheduler.polling.fleet.conftest import queue, redis

__all__ = ["queue", "redis"]
