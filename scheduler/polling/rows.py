"""How an event loop has to do with the database without ever waiting for it: a thread for its rows, and its clock."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import ParamSpec, TypeVar

from django.db import Error as DatabaseTrouble
from django.db import connection

from project.kit.clock import database_now, elapsed

logger = logging.getLogger(__name__)

# So often is the database asked for the time; in between its clock is carried on by this machine's.
ASK_SECONDS = 5.0

Given = ParamSpec("Given")
Returned = TypeVar("Returned")


class Rows:
    """Calls functions that use the database, one after another, in a thread with a connection of its own.

    Args:
        name: of the thread.
    """

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)

    async def call(
        self, function: Callable[Given, Returned], *arguments: Given.args, **options: Given.kwargs
    ) -> Returned:
        """Return what the function returns.

        Raises:
            django.db.Error: the connection is given up then, and the next call makes a new one.
        """

        def call() -> Returned:
            try:
                return function(*arguments, **options)
            except DatabaseTrouble:
                connection.close()
                raise

        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    async def close(self) -> None:
        """Close the connection and end the thread, once what was asked of it is done."""
        await self.call(_close)
        self._thread.shutdown()


def _close() -> None:
    connection.close()  # that of the thread which calls


class LoopClock:
    """The database's clock for an event loop: its last answer, carried on by this machine while it is away, too."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._answer: tuple[datetime, float] | None = None
        self._answered = asyncio.Event()

    async def run(self) -> None:
        """Ask for the time now and then, until this is cancelled."""
        while True:
            try:
                self._answer = await self._rows.call(_now)
                self._answered.set()
            except DatabaseTrouble as error:
                logger.warning("the database's clock is carried on without it: %s", type(error).__name__)
            await asyncio.sleep(ASK_SECONDS)

    async def is_set(self) -> None:
        """Wait for the first answer."""
        await self._answered.wait()

    def __call__(self) -> datetime:
        """Return the database's present instant in UTC.

        Raises:
            RuntimeError: it has never been asked.
        """
        if self._answer is None:
            raise RuntimeError("The clock was not set yet: wait for is_set().")
        instant, at = self._answer
        return instant + timedelta(seconds=elapsed() - at)


def _now() -> tuple[datetime, float]:
    return database_now(), elapsed()
