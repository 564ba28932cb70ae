"""The limiter as code uses it: `Limiter` over a redis.Redis, `AsyncLimiter` over a redis.asyncio.Redis."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from redis import Redis
from redis.asyncio import Redis as AsyncRedis

from project.kit.clock import elapsed
from quotas.ratelimit import waiting
from quotas.ratelimit.calls import Booking, Calls, script
from quotas.ratelimit.waiting import Alignment, Call, Outcome, Sleep, Steps
from quotas.ratelimit.windows import MOST_PER_SECOND, Window

SCRIPTS = {name: script(name) for name in ("book", "give_back", "left")}


class Limiter:
    """Lets no more calls pass than its windows allow, however many processes share its name.

    Every method passes the client's errors on: while Redis is away nothing passes. Give the client a
    `socket_timeout`, else a Redis that hangs delays its callers without limit.

    Args:
        redis: the client to use; with or without `decode_responses`.
        name: what is limited, such as "carrier-account:12"; all limiters of this name share its slots.
        windows: how many calls in how long; each of them holds.

    Raises:
        LimiterError: the name or the windows cannot be used.
    """

    def __init__(self, redis: Redis, name: str, windows: Sequence[Window]) -> None:
        self._calls, self._alignment = Calls(name, windows), Alignment()
        self._scripts = {name: redis.register_script(text) for name, text in SCRIPTS.items()}

    def wait(self, cost: int = 1, max_wait: float | None = None) -> Booking:
        """Book the next slot and sleep until it comes; then make the call.

        Whatever interrupts the sleep gives the slot back if nobody has booked since; else it is lost. Who wakes so
        late that calls would bunch books once more.

        Args:
            cost: for how many calls it counts.
            max_wait: seconds that the caller would wait; 0: one try. None: for ever.

        Raises:
            Refused: the slot is further away. Nothing is booked.
            NeverPossible: the cost is above the limit of a window.
            LimiterError: the cost or the wait makes no sense.
            redis.RedisError: Redis is away.
        """
        return self._perform(waiting.wait(self._calls, self._alignment, cost, max_wait, elapsed))

    def book(self, cost: int = 1, max_wait: float | None = None) -> Booking:
        """Book the next slot and return at once: the caller sleeps for `seconds` by itself. Arguments as `wait`."""
        return self._perform(waiting.book(self._calls, cost, max_wait))

    def give_back(self, booking: Booking) -> bool:
        """Give back a slot that will not be used; False: others have booked since, and it is lost."""
        return self._perform(waiting.give_back(self._calls, booking))

    def left(self, enough: int = MOST_PER_SECOND) -> int:
        """Return how many calls could be booked now with a slot before one second is over, and book none.

        Args:
            enough: count no further than this.
        """
        return self._perform(waiting.left(self._calls, enough))

    def _perform(self, steps: Steps[Outcome]) -> Outcome:
        try:
            step = next(steps)
            while True:
                try:
                    outcome = self._do(step)
                except BaseException as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(outcome)
        except StopIteration as end:
            result: Outcome = end.value
            return result

    def _do(self, step: Call | Sleep) -> Any:
        if isinstance(step, Sleep):
            return time.sleep(step.seconds)
        return self._scripts[step.script](self._calls.keys, step.arguments)


class AsyncLimiter:
    """The same limiter for asyncio; slots are shared with each `Limiter` of the same name.

    Args:
        redis: a client that many tasks can share: with a `BlockingConnectionPool`. The usual pool raises
            MaxConnectionsError when more than a hundred tasks ask at once.
        name, windows: as `Limiter`.
    """

    def __init__(self, redis: AsyncRedis, name: str, windows: Sequence[Window]) -> None:
        self._calls, self._alignment = Calls(name, windows), Alignment()
        self._scripts = {name: redis.register_script(text) for name, text in SCRIPTS.items()}

    async def wait(self, cost: int = 1, max_wait: float | None = None) -> Booking:
        """As `Limiter.wait`; a cancelled task gives its slot back in the same way."""
        return await self._perform(waiting.wait(self._calls, self._alignment, cost, max_wait, elapsed))

    async def book(self, cost: int = 1, max_wait: float | None = None) -> Booking:
        """As `Limiter.book`."""
        return await self._perform(waiting.book(self._calls, cost, max_wait))

    async def give_back(self, booking: Booking) -> bool:
        """As `Limiter.give_back`."""
        return await self._perform(waiting.give_back(self._calls, booking))

    async def left(self, enough: int = MOST_PER_SECOND) -> int:
        """As `Limiter.left`."""
        return await self._perform(waiting.left(self._calls, enough))

    async def _perform(self, steps: Steps[Outcome]) -> Outcome:
        try:
            step = next(steps)
            while True:
                try:
                    outcome = await self._do(step)
                except BaseException as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(outcome)
        except StopIteration as end:
            result: Outcome = end.value
            return result

    async def _do(self, step: Call | Sleep) -> Any:
        if isinstance(step, Sleep):
            return await asyncio.sleep(step.seconds)
        return await self._scripts[step.script](self._calls.keys, step.arguments)
