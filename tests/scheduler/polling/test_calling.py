"""The gate of an account: so many calls at one time, each in its slot, and waiting is no time of a step."""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisAway

from quotas.ratelimit import AsyncLimiter, Window
from scheduler.polling import calling, connecting
from scheduler.polling.calling import AccountGate, Places
from scheduler.polling.carriers.base import Busy
from tests.scheduler.polling.loops import with_redis

KEY = "tideline:test:calling"


@pytest.fixture(autouse=True)
def _nobody_calls() -> Iterator[None]:
    yield
    connecting.client().delete(KEY)


def test_no_more_calls_than_places_are_within_at_one_time_over_all_who_share_the_key() -> None:
    within, most = 0, 0

    async def call(gate: AccountGate) -> None:
        nonlocal within, most
        async with gate():
            within, most = within + 1, max(most, within + 1)
            await asyncio.sleep(0.005)
            within -= 1

    async def act(redis: Redis) -> None:
        gates = [AccountGate(None, Places(redis, KEY, 2), 30) for _ in range(3)]
        await asyncio.gather(*(call(gate) for gate in gates for _ in range(5)))

    with_redis(act)
    assert most == 2
    assert connecting.client().zcard(KEY) == 0


def test_a_place_is_given_back_by_a_call_that_fails() -> None:
    async def act(redis: Redis) -> None:
        gate = AccountGate(None, Places(redis, KEY, 1), 1)
        for _ in range(3):
            with pytest.raises(KeyError):
                async with gate():
                    raise KeyError

    with_redis(act)


def test_a_place_that_a_killed_poller_held_is_free_after_its_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    connecting.client().zadd(KEY, {"the dead": time.time() * 1000 + 300})

    async def act(redis: Redis) -> float:
        async with AccountGate(None, Places(redis, KEY, 1), 30)():
            return time.time()

    score = connecting.client().zscore(KEY, "the dead")
    assert with_redis(act) * 1000 >= float(str(score))


def test_the_list_of_callers_goes_by_itself_where_all_of_them_were_killed() -> None:
    async def act(redis: Redis) -> None:
        async with AccountGate(None, Places(redis, KEY, 1), 1)():
            assert 0 < await redis.pttl(KEY) <= calling.PLACE_LEASE_SECONDS * 1000

    with_redis(act)


def test_who_would_wait_too_long_for_a_place_is_told_and_takes_none() -> None:
    connecting.client().zadd(KEY, {"another": time.time() * 1000 + 60_000})

    async def act(redis: Redis) -> None:
        async with AccountGate(None, Places(redis, KEY, 1), 0.05)():
            raise AssertionError

    with pytest.raises(Busy):
        with_redis(act)
    assert connecting.client().zcard(KEY) == 1


def test_a_place_goes_from_call_to_call_of_a_process_and_then_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    callers: list[bytes] = []

    async def call(places: Places, redis: Redis) -> None:
        async with places.one(30):
            callers.extend(await redis.zrange(KEY, 0, -1))

    async def act(redis: Redis, seconds: float) -> int:
        monkeypatch.setattr(calling, "HANDED_ON_SECONDS", seconds)
        callers.clear()
        places = Places(redis, KEY, 1)
        await asyncio.gather(*(call(places, redis) for _ in range(5)))
        return len(set(callers))

    assert with_redis(lambda redis: act(redis, 60)) == 1
    assert with_redis(lambda redis: act(redis, 0)) == 5
    assert connecting.client().zcard(KEY) == 0


def test_a_place_left_to_one_who_waits_no_more_is_given_back() -> None:
    async def act(redis: Redis) -> None:
        places = Places(redis, KEY, 1)

        async def wait() -> None:
            async with places.one(30):
                raise AssertionError

        async with places.one(1):
            waiting = asyncio.create_task(wait())
            await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await redis.zcard(KEY) == 0
        async with places.one(1):
            assert await redis.zcard(KEY) == 1

    with_redis(act)
    assert connecting.client().zcard(KEY) == 0


def test_who_gives_up_while_redis_answers_leaves_no_place_behind() -> None:
    async def act(redis: Redis) -> None:
        for step in range(40):
            waiting = asyncio.create_task(_within(Places(redis, KEY, 1)))
            for _ in range(step):
                await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait([waiting])
            assert await redis.zcard(KEY) == 0

    with_redis(act)


async def _within(places: Places) -> None:
    async with places.one(1):
        await asyncio.sleep(0)


def test_who_would_wait_too_long_for_the_slot_is_told_for_how_long_and_gives_the_place_back() -> None:
    async def act(redis: Redis) -> None:
        limiter = AsyncLimiter(redis, "test-calling", [Window(1, 60)])
        gate = AccountGate(limiter, Places(redis, KEY, 1), 1)
        async with gate():
            pass
        async with gate():
            raise AssertionError

    with pytest.raises(Busy) as told:
        with_redis(act)
    assert 50 < told.value.seconds <= 60
    assert connecting.client().zcard(KEY) == 0


def test_what_waits_at_the_gate_is_no_time_of_the_step_and_what_is_asked_is() -> None:
    async def waits(redis: Redis) -> str:
        connecting.client().zadd(KEY, {"another": time.time() * 1000 + 300})
        async with calling.step(0.1), AccountGate(None, Places(redis, KEY, 1), 30)():
            return "asked"

    async def asks_for_long(redis: Redis) -> None:
        async with calling.step(0.1), AccountGate(None, Places(redis, KEY, 1), 30)():
            await asyncio.Event().wait()

    assert with_redis(waits) == "asked"
    with pytest.raises(TimeoutError):
        with_redis(asks_for_long)


def test_a_call_whose_step_became_void_while_it_waited_is_not_made_and_leaves_its_place() -> None:
    async def act(redis: Redis) -> None:
        async with calling.step(30, is_void=lambda: True), AccountGate(None, Places(redis, KEY, 1), 30)():
            raise AssertionError

    with pytest.raises(Busy):
        with_redis(act)
    assert connecting.client().zcard(KEY) == 0


def test_a_call_that_cannot_be_let_through_because_redis_is_away_waits_for_another_try() -> None:
    async def act() -> None:
        async with Redis(port=1, retry=Retry(NoBackoff(), 0)) as away:
            limiter = AsyncLimiter(away, "test-calling", [Window(1, 60)])
            for gate in (AccountGate(limiter, None, 1), AccountGate(None, Places(away, KEY, 1), 1)):
                with pytest.raises(Busy):
                    async with gate():
                        raise AssertionError

    asyncio.run(act())


def test_what_a_call_has_brought_counts_although_its_place_cannot_be_given_back(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def away(*arguments: Any) -> None:
        raise RedisAway("gone")

    async def act(redis: Redis) -> str:
        monkeypatch.setattr(redis, "zrem", away)
        async with AccountGate(None, Places(redis, KEY, 1), 1)():
            return "asked"

    assert with_redis(act) == "asked"
    assert "a place is free again in 60 s" in caplog.text


def test_without_limits_every_call_passes() -> None:
    async def act(redis: Redis) -> Any:
        async with AccountGate(None, None, 0)():
            return "asked"

    assert with_redis(act) == "asked"
