"""Real clients of a real Redis: blocking and asyncio, in one process and in several, and Redis away."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any

import pytest
from django.conf import settings
from redis import ConnectionError as RedisIsAway
from redis import Redis
from redis.asyncio import Redis as AsyncRedis

from project.services import Redis as Server
from quotas.ratelimit import AsyncLimiter, Booking, Limiter, NeverPossible, Refused, Window
from quotas.ratelimit import limiter as limiter_module
from tests.quotas.ratelimit.states import SECOND, keys_of, slot

MINUTE = 60
A_LONG_TIME = 3600


def in_asyncio(do: Callable[[AsyncRedis], Awaitable[Any]]) -> Any:
    """Run it with an asyncio client of the tests' Redis."""

    async def with_client() -> Any:
        async with AsyncRedis.from_url(settings.REDIS_URL) as client:
            return await do(client)

    return asyncio.run(with_client())


# --- blocking -----------------------------------------------------------------------------------------------------


def test_a_wait_returns_when_the_slot_has_come(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(20, 1)])
    bookings = [limiter.wait() for _ in range(3)]
    seconds, microseconds = client.time()
    assert seconds * SECOND + microseconds >= slot(bookings[-1])
    assert all(after - before == SECOND // 20 for before, after in pairwise(map(slot, bookings)))


def test_b36_a_longest_wait_of_zero_is_one_try(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(1, A_LONG_TIME)])
    assert limiter.wait(max_wait=0).microseconds == 0
    with pytest.raises(Refused):
        limiter.wait(max_wait=0)


def test_an_interrupted_wait_gives_its_slot_back(client: Redis, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = Limiter(client, name, [Window(1, A_LONG_TIME)])
    first = shared.book()

    def interrupt(seconds: float) -> None:
        assert 0 < seconds <= A_LONG_TIME
        raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", interrupt)
    with pytest.raises(KeyboardInterrupt):
        shared.wait()
    assert slot(shared.book()) == slot(first) + A_LONG_TIME * SECOND


def test_clients_that_decode_answers_share_a_limiter_with_those_that_do_not(client: Redis, name: str) -> None:
    with Redis.from_url(settings.REDIS_URL, decode_responses=True) as decoding:
        limiters = [Limiter(each, name, [Window(4, MINUTE)]) for each in (client, decoding)]
        bookings = [each.book() for each in limiters * 2]
        assert limiters[1].give_back(bookings[-1])
        assert [each.left() for each in limiters] == [1, 1]


def test_scripts_that_redis_forgot_are_sent_again(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(2, MINUTE)])
    booking = limiter.book()
    for act in (lambda: limiter.give_back(booking), limiter.left, limiter.book):
        client.script_flush()
        act()
    assert limiter.left() == 1


def test_b29_while_redis_is_away_nothing_passes(redis_server: Server) -> None:
    with Redis.from_url(redis_server.url, retry=None) as client:
        limiter = Limiter(client, "a", [Window(1000, 1)])
        booking = limiter.wait()
        redis_server.stop()
        for act in (limiter.wait, limiter.book, limiter.left, lambda: limiter.give_back(booking)):
            with pytest.raises(RedisIsAway):
                act()


# --- asyncio ------------------------------------------------------------------------------------------------------


def test_asyncio_and_blocking_clients_share_their_slots(client: Redis, name: str) -> None:
    windows = [Window(20, 1), Window(3, MINUTE)]

    async def book(redis: AsyncRedis) -> tuple[list[Booking], bool, int]:
        limiter = AsyncLimiter(redis, name, windows)
        bookings = [await limiter.wait(), await limiter.book(2)]
        with pytest.raises(NeverPossible):
            await limiter.book(4)
        with pytest.raises(Refused):
            await limiter.book(max_wait=1)
        return bookings, await limiter.give_back(bookings[1]), await limiter.left()

    (_, two), given_back, left = in_asyncio(book)
    assert (given_back, left) == (True, 2)
    shared = Limiter(client, name, windows)
    assert slot(shared.book(2)) == slot(two)
    assert shared.left() == 0


def test_b36_the_wait_of_one_key_holds_up_no_other(client: Redis, name: str) -> None:
    async def wait(redis: AsyncRedis) -> Booking:
        busy, free = (AsyncLimiter(redis, f"{name}{key}", [Window(1, A_LONG_TIME)]) for key in "ab")
        await busy.wait()
        waiters = [asyncio.create_task(busy.wait()) for _ in range(5)]
        await until(lambda: client.llen(keys_of(client, f"{name}a")[1]) == 6)
        booking = await free.wait()
        assert not any(waiter.done() for waiter in waiters)
        for waiter in waiters:
            waiter.cancel()
        await asyncio.gather(*waiters, return_exceptions=True)
        return booking

    assert in_asyncio(wait).microseconds == 0
    client.delete(*keys_of(client, f"{name}a"), *keys_of(client, f"{name}b"))


async def until(condition: Callable[[], bool]) -> None:
    """Let the other tasks go on until it holds."""
    while not condition():
        await asyncio.sleep(0)


@pytest.fixture
def asleep(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The sleeps that limiters have begun; they end only by being cancelled."""
    begun: list[float] = []

    async def sleep(seconds: float) -> None:
        begun.append(seconds)
        await asyncio.Event().wait()

    class Asyncio:
        pass

    Asyncio.sleep = staticmethod(sleep)  # type: ignore[attr-defined]
    monkeypatch.setattr(limiter_module, "asyncio", Asyncio)
    return begun


def test_a_cancelled_task_gives_its_slot_back(client: Redis, name: str, asleep: list[float]) -> None:
    shared = Limiter(client, name, [Window(1, A_LONG_TIME)])
    first = shared.book()

    async def cancel(redis: AsyncRedis) -> None:
        waiter = asyncio.create_task(AsyncLimiter(redis, name, [Window(1, A_LONG_TIME)]).wait())
        await until(lambda: len(asleep) == 1)
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter

    in_asyncio(cancel)
    assert slot(shared.book()) == slot(first) + A_LONG_TIME * SECOND


def test_a_timeout_gives_the_slot_back_and_leaves_the_client_usable(
    client: Redis, name: str, asleep: list[float]
) -> None:
    async def time_out(redis: AsyncRedis) -> int:
        limiter = AsyncLimiter(redis, name, [Window(1, A_LONG_TIME)])
        await limiter.wait()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await limiter.wait()
        return await redis.llen(keys_of(client, name)[1])

    assert in_asyncio(time_out) == 1


def test_b29_asyncio_hears_that_redis_is_away(redis_server: Server) -> None:
    async def ask() -> None:
        async with AsyncRedis.from_url(redis_server.url, retry=None) as client:
            limiter = AsyncLimiter(client, "a", [Window(1000, 1)])
            booking = await limiter.wait()
            redis_server.stop()
            for act in (limiter.wait, limiter.book, limiter.left, lambda: limiter.give_back(booking)):
                with pytest.raises(RedisIsAway):
                    await act()

    asyncio.run(ask())


# --- processes ----------------------------------------------------------------------------------------------------


def booked_by_processes(name: str, limit: int, seconds: float, tries: int) -> list[str]:
    """Let four processes book at the same time, and return what each of their tries gave."""
    arguments = [settings.REDIS_URL, name, limit, seconds, tries]
    command = [sys.executable, "-m", "tests.quotas.ratelimit.bookers", *map(str, arguments)]
    started = [subprocess.Popen(command, cwd=settings.BASE_DIR, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    outputs = [process.communicate(timeout=120)[0] for process in started]
    assert [process.returncode for process in started] == [0] * 4
    return [line for output in outputs for line in output.splitlines()]


def test_four_processes_get_no_more_than_the_limit(name: str) -> None:
    tried = booked_by_processes(name, limit=150, seconds=A_LONG_TIME, tries=100)
    assert len(tried) == 400
    assert tried.count("refused") == 250


def test_four_processes_never_get_the_same_slot(name: str) -> None:
    booked = sorted(map(int, booked_by_processes(name, limit=500, seconds=5, tries=60)))
    assert len(booked) == 240
    assert min(after - before for before, after in pairwise(booked)) >= 5 * SECOND // 500
