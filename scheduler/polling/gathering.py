"""A client of Redis for hundreds of tasks that each send one small command: what comes together shares a round trip."""

import asyncio
from typing import Any

from redis.asyncio import ConnectionPool, Redis

# A command, its options and whoever waits for the answer.
_Asked = tuple[tuple[Any, ...], dict[str, Any], asyncio.Future[Any]]


class GatheringRedis(Redis):
    """Sends at once what was asked for within one turn of the event loop, or while the answers before it were awaited.

    So a booking of the limiter costs half of the processor's time that it costs alone. It is for one event loop.

    Args:
        pool: whose connections it uses, one at a time; it belongs to another client, which closes it.
    """

    def __init__(self, pool: ConnectionPool) -> None:
        super().__init__(connection_pool=pool)
        self._asked: list[_Asked] = []
        self._sending: asyncio.Task[None] | None = None

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """Send a command with those of others, and return its answer.

        Raises:
            RedisError: it was refused, or Redis is away.
        """
        answer = asyncio.get_running_loop().create_future()
        self._asked.append((args, options, answer))
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send_all())
        return await answer

    async def _send_all(self) -> None:
        while self._asked:
            asked, self._asked = self._asked, []
            try:
                answers = await self._send(asked)
            except Exception as error:  # it is for those who wait
                answers = [error] * len(asked)
            for (*_, waiting), answer in zip(asked, answers, strict=True):
                _tell(waiting, answer)

    async def _send(self, asked: list[_Asked]) -> list[Any]:
        async with self.pipeline(transaction=False) as pipeline:
            for command, options, _ in asked:
                pipeline.execute_command(*command, **options)
            return await pipeline.execute(raise_on_error=False)


def _tell(waiting: asyncio.Future[Any], answer: Any) -> None:
    if waiting.done():  # who asked was cancelled
        return
    if isinstance(answer, Exception):
        waiting.set_exception(answer)
    else:
        waiting.set_result(answer)
