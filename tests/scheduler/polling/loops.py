"""Runs something on an event loop, with a client of Redis."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from redis.asyncio import Redis

from scheduler.polling import connecting

Outcome = TypeVar("Outcome")


def with_redis(act: Callable[[Redis], Awaitable[Outcome]]) -> Outcome:
    """Run it on an event loop of its own."""

    async def run() -> Outcome:
        async with connecting.async_client() as redis:
            return await act(redis)

    return asyncio.run(run())
