"""Commands of many tasks at once, on a real Redis: each has its own answer, whatever becomes of the others."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from redis import Redis
from redis.exceptions import RedisError, ResponseError

from scheduler.polling import connecting
from scheduler.polling.gathering import GatheringRedis
from scheduler.polling.queue.keys import PREFIX
from tests.scheduler.polling.fleet.conftest import redis  # noqa: F401 - a fixture

KEY = f"{PREFIX}:gathered"


def with_client(use: Callable[[GatheringRedis], Awaitable[Any]]) -> Any:
    """Return what comes of using a client."""

    async def used() -> Any:
        async with connecting.async_client() as owner:
            return await use(GatheringRedis(owner.connection_pool))

    return asyncio.run(used())


@pytest.fixture
def round_trips(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many commands each round trip took along."""
    taken: list[int] = []
    send = GatheringRedis._send

    async def counted(self: GatheringRedis, asked: list[Any]) -> list[Any]:
        taken.append(len(asked))
        return await send(self, asked)

    monkeypatch.setattr(GatheringRedis, "_send", counted)
    return taken


def test_what_is_asked_for_at_once_shares_a_round_trip_and_each_has_its_answer(
    redis: Redis,  # noqa: F811 - the fixture
    round_trips: list[int],
) -> None:
    async def use(client: GatheringRedis) -> list[int]:
        return await asyncio.gather(*(client.incrby(KEY, 1) for _ in range(100)))

    assert with_client(use) == list(range(1, 101))
    assert round_trips == [100]


def test_what_is_asked_for_while_others_are_under_way_goes_out_next(
    redis: Redis,  # noqa: F811 - the fixture
    round_trips: list[int],
) -> None:
    async def later(client: GatheringRedis) -> int:
        while not round_trips:
            await asyncio.sleep(0)
        return int(await client.incrby(KEY, 1))

    async def use(client: GatheringRedis) -> list[int]:
        return list(await asyncio.gather(client.incrby(KEY, 1), later(client), later(client)))

    assert sorted(with_client(use)) == [1, 2, 3]
    assert round_trips == [1, 2]


def test_an_error_is_for_whoever_asked_alone(redis: Redis) -> None:  # noqa: F811 - the fixture
    async def use(client: GatheringRedis) -> list[Any]:
        asked = client.set(KEY, "text"), client.incrby(KEY, 1), client.get(KEY)
        return list(await asyncio.gather(*asked, return_exceptions=True))

    done, refused, held = with_client(use)
    assert (done, held) == (True, b"text")
    assert isinstance(refused, ResponseError)


def test_scripts_are_sent_again_where_redis_has_forgotten_them(redis: Redis) -> None:  # noqa: F811 - the fixture
    async def use(client: GatheringRedis) -> list[Any]:
        script = client.register_script("return redis.call('INCRBY', KEYS[1], ARGV[1])")
        redis.script_flush()
        return await asyncio.gather(*(script([KEY], [2]) for _ in range(3)))

    assert sorted(with_client(use)) == [2, 4, 6]


def test_who_no_longer_waits_keeps_nobody_from_the_answer(redis: Redis) -> None:  # noqa: F811 - the fixture
    async def use(client: GatheringRedis) -> Any:
        tasks = [asyncio.ensure_future(client.incrby(KEY, 1)) for _ in range(2)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        return await tasks[1]

    assert with_client(use) == 2


def test_all_learn_that_redis_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(self: GatheringRedis, asked: list[Any]) -> list[Any]:
        raise RedisError("away")

    monkeypatch.setattr(GatheringRedis, "_send", away)

    async def use(client: GatheringRedis) -> list[Any]:
        return list(await asyncio.gather(client.get(KEY), client.get(KEY), return_exceptions=True))

    assert [str(error) for error in with_client(use)] == ["away", "away"]
