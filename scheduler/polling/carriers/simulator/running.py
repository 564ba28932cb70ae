"""Running a simulated carrier: until it is stopped, or beside what uses it."""

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from scheduler.polling.carriers.simulator.accounts import AccountPlan
from scheduler.polling.carriers.simulator.dialects import Dialect
from scheduler.polling.carriers.simulator.faults import Fault
from scheduler.polling.carriers.simulator.server import CarrierServer

HOST = "127.0.0.1"
# Calls that hang are not waited for at the end.
FAREWELL_SECONDS = 0.1
START_SECONDS = 30


async def serve(server: CarrierServer, host: str, port: int, ready: Callable[[int], None]) -> None:
    """Serve until cancelled.

    Args:
        port: 0: any that is free.
        ready: is told the port when calls are taken.

    Raises:
        OSError: the port cannot be had.
    """
    runner = web.ServerRunner(server.web_server(), shutdown_timeout=FAREWELL_SECONDS)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, backlog=2048).start()
        ready(runner.addresses[0][1])
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


@dataclass(frozen=True, slots=True)
class RunningCarrier:
    """A simulated carrier that runs in this process. Its functions may be called from any thread."""

    port: int
    _server: CarrierServer
    _loop: asyncio.AbstractEventLoop

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://{HOST}:{self.port}"

    @property
    def place(self) -> str:
        """Where it is, as TIDELINE_ALLOWED_HOSTS_INWARD opens it."""
        return f"{HOST}:{self.port}"

    def plan(self, account: str = "main") -> AccountPlan:
        """Return the plan of an account."""
        return self._server.accounts[account].plan

    def stats(self, account: str = "main") -> dict[str, Any]:
        """Return what was counted of an account."""
        figures: dict[str, Any] = self._do(lambda: self._server.stats()[account])
        return figures

    def order(self, fault: Fault) -> None:
        """Let a fault hold from now on."""
        self._do(lambda: self._server.faults.order(fault, time.time()))

    def clear_faults(self) -> None:
        """Take all faults back."""
        self._do(self._server.faults.clear)

    def _do(self, what: Callable[[], Any]) -> Any:
        """Do it where the calls are answered, between two of them."""

        async def do() -> Any:
            return what()

        return asyncio.run_coroutine_threadsafe(do(), self._loop).result(START_SECONDS)


@contextmanager
def simulated_carrier(*plans: AccountPlan, dialect: Dialect | None = None) -> Iterator[RunningCarrier]:
    """Run a carrier with these accounts in a thread, at a port of its own, until the end of the block."""
    server, loop, ports = CarrierServer(plans or [AccountPlan()], dialect), asyncio.new_event_loop(), queue.Queue[int]()
    serving = loop.create_task(serve(server, HOST, 0, ports.put))
    thread = threading.Thread(target=_run, args=(loop, serving), name="simulated carrier", daemon=True)
    thread.start()
    try:
        yield RunningCarrier(ports.get(timeout=START_SECONDS), server, loop)
    finally:
        loop.call_soon_threadsafe(serving.cancel)
        thread.join(START_SECONDS)
        loop.close()


def _run(loop: asyncio.AbstractEventLoop, serving: asyncio.Task[None]) -> None:
    asyncio.set_event_loop(loop)
    with suppress(asyncio.CancelledError):
        loop.run_until_complete(serving)
