"""The live order of the tests' own Redis, empty at the start of each test."""

from tests.scheduler.polling.fleet.conftest import queue, redis

__all__ = ["queue", "redis"]
