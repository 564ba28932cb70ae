"""Gateways for tests: opened for one coroutine, with a gate that counts what passes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from scheduler.polling.carriers.base import CardRef, Gateway
from scheduler.polling.carriers.registry import read_access
from scheduler.polling.carriers.sessions import open_session
from scheduler.polling.carriers.simulator import RunningCarrier, credentials_for, iccid_of, settings_for

Outcome = TypeVar("Outcome")
# The number of an account's first card.
MSISDNS = 1_064_900_000_000


class CountingGate:
    """Lets every call through and counts them; it notices whoever enters it twice at once in one task."""

    def __init__(self) -> None:
        self.passed = 0
        self._inside: set[asyncio.Task[Any] | None] = set()

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[None]:
        task = asyncio.current_task()
        assert task not in self._inside, "a call within a call: with one place for calls both would wait for ever"
        self._inside.add(task)
        self.passed += 1
        try:
            yield
        finally:
            self._inside.discard(task)


def asked(
    settings: Mapping[str, Any],
    credentials: Mapping[str, str],
    ask: Callable[[Gateway], Awaitable[Outcome]],
    gate: Any = None,
    kind: str = "http_json",
) -> Outcome:
    """Open the gateway of these settings, and return what `ask` brings."""

    async def run() -> Outcome:
        async with open_session() as http:
            return await ask(read_access(kind, settings, credentials).open(http, gate or CountingGate()))

    return asyncio.run(run())


def asked_of(
    carrier: RunningCarrier,
    ask: Callable[[Gateway], Awaitable[Outcome]],
    account: str = "main",
    *,
    gate: Any = None,
    batch: int | None = 100,
    token: bool = False,
) -> Outcome:
    """Open the gateway to an account of a simulated carrier, and return what `ask` brings."""
    settings = settings_for(carrier.url, account, batch=batch, token=token)
    return asked(settings, credentials_for(carrier.plan(account), token=token), ask, gate)


def card(number: int = 0, account: str = "main") -> CardRef:
    """Return a card of a simulated account."""
    return CardRef(number + 1, iccid_of(account, number), str(MSISDNS + number))
