"""Ending tasks of an event loop for certain."""

import asyncio
from collections.abc import Iterable
from typing import Any

# What a task does at its end has so long before it is cancelled again.
AGAIN_SECONDS = 1.0


async def cancel_all(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks, and return when all of them have ended.

    They are cancelled again and again, for a task can miss it: in Python 3.11 `asyncio.wait_for` returns what it waited
    for where that comes in the same turn of the loop (https://github.com/python/cpython/issues/86296), and redis-py
    sends each command with it.
    """
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=AGAIN_SECONDS)
