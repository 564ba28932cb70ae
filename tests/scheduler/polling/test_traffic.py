"""What goes through the gates of a poller is counted, and told."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from itertools import count

import pytest
from redis.asyncio import Redis

from quotas.ratelimit import AsyncLimiter, Window
from scheduler.polling import connecting
from scheduler.polling.calling import AccountGate, Places
from scheduler.polling.carriers.base import Busy
from scheduler.polling.queue import AsyncQueue, Queue, Traffic, calls
from scheduler.polling.queue.keys import key_of
from scheduler.polling.traffic import Meter, Meters

ACCOUNTS = count(2_000_000)


@pytest.fixture
def account() -> Iterator[int]:
    account = next(ACCOUNTS)
    yield account
    connecting.client().delete(key_of(account, "traffic"))


def with_redis(act: Callable[[Redis], Awaitable[None]]) -> None:
    async def run() -> None:
        async with connecting.async_client() as redis:
            await act(redis)

    asyncio.run(run())


async def call(gate: AccountGate, times: int) -> None:
    for _ in range(times):
        with suppress(Busy):
            async with gate():
                pass


def test_a_gate_counts_what_it_lets_through_what_waits_and_what_would_wait_too_long(account: int) -> None:
    meter = Meter()

    async def act(redis: Redis) -> None:
        limiter = AsyncLimiter(redis, f"test-traffic-{account}", [Window(20, 1)])
        await call(AccountGate(limiter, None, 10, meter), 3)
        await call(AccountGate(limiter, None, 0, meter), 1)

    with_redis(act)
    assert (meter.calls, meter.waits, meter.timeouts) == (3, 2, 1)
    assert 0.05 < meter.waited <= 0.1


def test_a_gate_without_a_limit_counts_its_calls_as_well(account: int) -> None:
    meter = Meter()
    with_redis(lambda redis: call(AccountGate(None, None, 0, meter), 4))
    assert (meter.calls, meter.waits, meter.timeouts) == (4, 0, 0)


def test_a_call_that_finds_no_place_in_time_is_counted_as_not_made(account: int) -> None:
    meter = Meter()

    async def act(redis: Redis) -> None:
        places = Places(redis, key_of(account, "calling"), 1)
        async with AccountGate(None, places, 30, meter)():
            await call(AccountGate(None, places, 0.01, meter), 1)

    with_redis(act)
    assert (meter.calls, meter.timeouts) == (1, 1)


def test_a_poller_tells_what_it_counted_once(account: int) -> None:
    meters = Meters()
    meter = meters.of(account)
    meter.calls, meter.waits, meter.waited, meter.timeouts = 7, 2, 0.25, 1

    async def act(redis: Redis) -> None:
        await meters.tell(AsyncQueue(redis))
        await meters.tell(AsyncQueue(redis))

    with_redis(act)
    told = Queue(connecting.client()).ask(calls.traffic(account))
    assert (told.calls, told.waits, told.waited, told.timeouts) == (7, 2, timedelta(milliseconds=250), 1)
    assert isinstance(told, Traffic)


def test_where_nothing_was_counted_nobody_is_asked() -> None:
    meters = Meters()
    meters.of(1)

    async def tell() -> None:
        await meters.tell(None)  # type: ignore[arg-type] - it would fail if it were asked

    asyncio.run(tell())
