"""The queue as code uses it: `Queue` over a redis.Redis, `AsyncQueue` over a redis.asyncio.Redis.

Both send any number of calls in one round trip. A call whose script the server has forgotten, because it was restarted
or flushed in between, is sent again with the script's text: nothing of it was done.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha1
from pathlib import Path
from typing import Any

from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redis.exceptions import NoScriptError, ResponseError

from quotas.ratelimit import calls_left
from scheduler.polling.queue.calls import Answer, Call
from scheduler.polling.queue.keys import key_of
from scheduler.polling.queue.packing import TYPES, unpacked_asks
from scheduler.polling.states import CheckType

FOLDER = Path(__file__).with_name("scripts")
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("*.lua") if path.stem != "shared"))

Command = tuple[str | bytes | int, ...]
Sending = Generator[list[Command], list[Any], list[Any]]


class Queue:
    """The queues of all accounts, by a blocking client.

    Args:
        redis: the client to use, with or without `decode_responses`. Give it a `socket_timeout`, else a Redis that
            hangs delays its callers without limit.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def ask(self, call: Call[Answer]) -> Answer:
        """Send one call and return its answer.

        Raises:
            redis.RedisError: Redis is away or refuses it.
        """
        return _answer(self.perform([call]))

    def perform(self, calls: Sequence[Call[Answer]]) -> list[Answer | ResponseError]:
        """Send calls in one round trip and return their answers in order.

        One that the server refuses has its error there: what is wrong with one account stops none of the others.

        Raises:
            redis.RedisError: Redis is away. Any of the calls may have been done: claims without an answer end with
                their lease.
        """
        sending = _sending(calls)
        try:
            commands = next(sending)
            while True:
                commands = sending.send(self._send(commands))
        except StopIteration as end:
            return _answers(calls, end.value)

    def cards(self, account_id: int) -> Iterator[int]:
        """Yield the cards of an account; one that comes or goes meanwhile may be missing, and one may come twice."""
        for card, _ in self._redis.zscan_iter(key_of(account_id, "queue"), count=1000):
            yield int(card)

    def asked(self, account_id: int) -> Iterator[tuple[int, dict[CheckType, datetime]]]:
        """Yield the cards of an account that are asked for beside the schedule, and from when each type is."""
        for card, text in self._redis.hscan_iter(key_of(account_id, "asked"), count=1000):
            yield int(card), unpacked_asks(text)

    def _send(self, commands: list[Command]) -> list[Any]:
        with self._redis.pipeline(transaction=False) as pipeline:
            for command in commands:
                pipeline.execute_command(*command)  # type: ignore[no-untyped-call]
            return pipeline.execute(raise_on_error=False)


class AsyncQueue:
    """The same queues, by an asyncio client; methods as those of `Queue`."""

    def __init__(self, redis: AsyncRedis) -> None:
        self._redis = redis

    async def ask(self, call: Call[Answer]) -> Answer:
        """As `Queue.ask`."""
        return _answer(await self.perform([call]))

    async def perform(self, calls: Sequence[Call[Answer]]) -> list[Answer | ResponseError]:
        """As `Queue.perform`."""
        sending = _sending(calls)
        try:
            commands = next(sending)
            while True:
                commands = sending.send(await self._send(commands))
        except StopIteration as end:
            return _answers(calls, end.value)

    async def _send(self, commands: list[Command]) -> list[Any]:
        async with self._redis.pipeline(transaction=False) as pipeline:
            for command in commands:
                pipeline.execute_command(*command)
            return await pipeline.execute(raise_on_error=False)


def script(name: str) -> str:
    """Return the text of a script, with what it needs before it."""
    before = calls_left() if name == "claim" else ""
    return f"local TYPES = {len(TYPES)}\n{before}{_text('shared')}{_text(name)}"


def _text(name: str) -> str:
    return (FOLDER / f"{name}.lua").read_text()


def hashes(scripts: Mapping[str, str]) -> dict[str, str]:
    """Return under which hash a server keeps each script."""
    return {name: sha1(text.encode(), usedforsecurity=False).hexdigest() for name, text in scripts.items()}


SCRIPTS = {name: script(name) for name in NAMES}
HASHES = hashes(SCRIPTS)


def _sending(calls: Sequence[Call[Any]]) -> Sending:
    """Yield the commands to send, take their replies, and return the reply to each call.

    Each time that a script is unknown, the first call of it brings the text: so each time some call is done, however
    often the server forgets.
    """
    replies = yield [_by_hash(call) for call in calls]
    while unknown := [at for at, reply in enumerate(replies) if isinstance(reply, NoScriptError)]:
        again = yield list(_by_text(calls[at] for at in unknown))
        for at, reply in zip(unknown, again, strict=True):
            replies[at] = reply
    return replies


def _by_hash(call: Call[Any]) -> Command:
    return "EVALSHA", HASHES[call.script], len(call.keys), *call.keys, *call.arguments


def _by_text(calls: Iterator[Call[Any]]) -> Iterator[Command]:
    sent: set[str] = set()
    for call in calls:
        if call.script in sent:
            yield _by_hash(call)
        else:
            sent.add(call.script)
            yield "EVAL", SCRIPTS[call.script], *_by_hash(call)[2:]


def _answers(calls: Sequence[Call[Answer]], replies: list[Any]) -> list[Answer | ResponseError]:
    return [
        reply if isinstance(reply, ResponseError) else call.read(reply)
        for call, reply in zip(calls, replies, strict=True)
    ]


def _answer(answers: list[Answer | ResponseError]) -> Answer:
    (answer,) = answers
    if isinstance(answer, ResponseError):
        raise answer
    return answer
