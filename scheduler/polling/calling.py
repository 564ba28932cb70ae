"""How calls to one account are let through: so many at one time over all pollers, and each in its slot of the limiter.

What waits here has asked nothing yet, so the waiting counts for no step's timeout.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from uuid import uuid4

from redis.asyncio import Redis
from redis.exceptions import RedisError

from project.kit.clock import elapsed
from quotas.ratelimit import AsyncLimiter, Refused
from scheduler.polling.carriers.base import Busy
from scheduler.polling.traffic import Meter

logger = logging.getLogger(__name__)

# A place that nobody gives back, because its poller was killed, is free again after so long.
PLACE_LEASE_SECONDS = 60
# So long a place goes from call to call of one process before others may have it; far less than its lease.
HANDED_ON_SECONDS = 1.0
# So often is looked for a free place; of each process only as many callers look as there are places.
LOOK_SECONDS = 0.02
# So long a call waits for another try where Redis, which lets the calls through, is away.
AWAY_SECONDS = 5.0

_ENTER = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
"""


@dataclass(frozen=True, slots=True)
class _Step:
    timeout: asyncio.Timeout
    is_void: Callable[[], bool]


_step: ContextVar[_Step | None] = ContextVar("the step that is under way", default=None)


@asynccontextmanager
async def step(seconds: float, is_void: Callable[[], bool] = lambda: False) -> AsyncIterator[None]:
    """Give what is within so many seconds, not counting what it waits at a gate.

    Args:
        is_void: tells whether nobody may make its call any more; a gate asks it when the waiting is over.

    Raises:
        TimeoutError: they are over.
    """
    async with asyncio.timeout(seconds) as timeout:
        token = _step.set(_Step(timeout, is_void))
        try:
            yield
        finally:
            _step.reset(token)


@asynccontextmanager
async def _not_counted() -> AsyncIterator[None]:
    """Stop the clock of the step, if there is one, while it waits.

    Raises:
        Busy: the step became void meanwhile.
    """
    step, loop = _step.get(), asyncio.get_running_loop()
    until = step.timeout.when() if step is not None else None
    if step is None or until is None:
        yield
        return
    left = until - loop.time()
    step.timeout.reschedule(None)
    try:
        yield
    finally:
        step.timeout.reschedule(loop.time() + left)
    if step.is_void():
        raise Busy(0)


class AccountGate:
    """The gate of one account in one process; see carriers.base.Gate.

    Args:
        limiter: None: no rate windows limit the account.
        places: None: as many calls at one time as there are.
        max_wait: seconds that a call may wait for its place, and again for its slot.
        meter: counts what goes through; None: nobody wants to know.
    """

    def __init__(
        self, limiter: AsyncLimiter | None, places: "Places | None", max_wait: float, meter: Meter | None = None
    ) -> None:
        self._limiter, self._places, self._max_wait = limiter, places, max_wait
        self._meter = meter or Meter()

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[None]:
        """Let one call through.

        Raises:
            Busy: it would have to wait for too long, or nobody can tell because Redis is away, or it is void by now.
        """
        if self._limiter is None and self._places is None:
            self._meter.calls += 1
            yield
            return
        async with AsyncExitStack() as stack:
            async with _not_counted():
                try:
                    await self._wait(stack)
                except RedisError as error:
                    logger.warning("a call waits, for Redis is away: %s", type(error).__name__)
                    raise Busy(AWAY_SECONDS) from None
            self._meter.calls += 1
            yield

    async def _wait(self, stack: AsyncExitStack) -> None:
        try:
            if self._places is not None:
                await stack.enter_async_context(self._places.one(self._max_wait))
            await self._slot()
        except Busy:
            self._meter.timeouts += 1
            raise

    async def _slot(self) -> None:
        if self._limiter is None:
            return
        try:
            booked = await self._limiter.wait(max_wait=self._max_wait)
        except Refused as refused:
            raise Busy(refused.seconds) from None
        if booked.seconds:
            self._meter.waits += 1
            self._meter.waited += booked.seconds


@dataclass(frozen=True, slots=True)
class _Place:
    caller: str
    since: float


class Places:
    """So many calls at one time, over all processes that share the key.

    A place that a call leaves goes to the next one of this process for a while: a carrier that takes one call at a time
    would else wait for two answers of Redis between any two.

    Args:
        key: in Redis; who is calling, and until when at most.
    """

    def __init__(self, redis: Redis, key: str, count: int) -> None:
        self._redis, self._key, self._count = redis, key, count
        self._enter = redis.register_script(_ENTER)
        self._here = asyncio.Semaphore(count)
        self._waiting = 0
        self._handed_on: list[_Place] = []

    @asynccontextmanager
    async def one(self, max_wait: float) -> AsyncIterator[None]:
        """Hold one of the places.

        Raises:
            Busy: none became free within so many seconds.
        """
        place = await self._come(max_wait)
        try:
            yield
        finally:
            await self._go(place)

    async def _come(self, max_wait: float) -> _Place:
        self._waiting += 1
        try:
            async with asyncio.timeout(max_wait):
                await self._here.acquire()
                return await self._taken()
        except TimeoutError:
            raise Busy(max_wait) from None
        finally:
            self._waiting -= 1
            await self._give_back_what_nobody_takes()

    async def _taken(self) -> _Place:
        place = _Place(uuid4().hex, elapsed())
        try:
            while not self._handed_on:
                if await self._enter([self._key], [place.caller, self._count, PLACE_LEASE_SECONDS * 1000]):
                    return place
                await asyncio.sleep(LOOK_SECONDS)
            return self._handed_on.pop()
        except BaseException:
            self._here.release()
            await self._give_back(place)  # Redis may have let it in, and its answer was not waited for
            raise

    async def _go(self, place: _Place) -> None:
        if self._waiting and elapsed() - place.since < HANDED_ON_SECONDS:
            self._handed_on.append(place)
        else:
            await self._give_back(place)
        self._here.release()

    async def _give_back_what_nobody_takes(self) -> None:
        """Give back what was left for one that waits no more."""
        while self._handed_on and not self._waiting:
            await self._give_back(self._handed_on.pop())

    async def _give_back(self, place: _Place) -> None:
        """Give the place back. What the call has brought counts, wherever Redis is."""
        try:
            await self._redis.zrem(self._key, place.caller)
        except RedisError as error:
            logger.warning("a place is free again in %s s: %s", PLACE_LEASE_SECONDS, type(error).__name__)
