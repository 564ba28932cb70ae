"""Tasks that are cancelled end, also those that miss it the first time."""

import asyncio
from contextlib import suppress

import pytest
from redis.asyncio import Redis

from project.kit import cancelling
from project.kit.cancelling import cancel_all
from tests.scheduler.polling.loops import with_redis

# Of the event loop; a command is sent and answered in fewer.
TURNS = range(40)


async def work_for_ever() -> None:
    await asyncio.Event().wait()


async def miss_it_once() -> None:
    with suppress(asyncio.CancelledError):
        await asyncio.Event().wait()
    await work_for_ever()


async def begun(task: asyncio.Task[None], turns: int = 1) -> asyncio.Task[None]:
    for _ in range(turns):
        await asyncio.sleep(0)
    return task


def test_tasks_have_ended_when_they_were_cancelled_also_one_that_misses_it_and_one_that_had_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cancelling, "AGAIN_SECONDS", 0.01)

    async def run() -> list[bool]:
        tasks = [await begun(asyncio.create_task(work())) for work in (work_for_ever, miss_it_once)]
        tasks.append(await begun(asyncio.create_task(asyncio.sleep(0)), turns=3))
        await cancel_all(tasks)
        return [task.cancelled() for task in tasks]

    assert asyncio.run(asyncio.wait_for(run(), 30)) == [True, True, False]


def test_to_cancel_no_task_at_all_is_nothing() -> None:
    asyncio.run(cancel_all([]))


def test_a_task_ends_in_whatever_turn_of_a_command_to_redis_it_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cancelling, "AGAIN_SECONDS", 0.01)

    async def ask_for_ever(redis: Redis) -> None:
        await redis.ping()
        await work_for_ever()

    async def run(redis: Redis) -> None:
        for turns in TURNS:
            await redis.ping()
            task = await begun(asyncio.create_task(ask_for_ever(redis)), turns)
            await asyncio.wait_for(cancel_all([task]), 30)
            assert task.cancelled()

    with_redis(run)
