"""What came of asking about cards waits here until it is written, as much of it at once as has come together."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from django.db import InterfaceError, OperationalError
from redis.exceptions import RedisError

from scheduler.polling import settling
from scheduler.polling.carriers.base import CarrierError
from scheduler.polling.outcomes import Asked, Polled, Settled
from scheduler.polling.queue import calls
from scheduler.polling.queue.entries import Finish
from scheduler.polling.queue.queue import AsyncQueue
from scheduler.polling.rows import Rows
from scheduler.polling.states import ErrorClass

logger = logging.getLogger(__name__)

# So many cards at most are written in one transaction, and so long is waited for more to come.
MOST_CARDS = 500
GATHER_SECONDS = 0.02
# So often is tried to write what a database or a Redis that is away keeps from being written.
TRY_AGAIN_SECONDS = 1.0


class Settler:
    """Writes what is handed to it: rows first, then the live order. While one of them is away it tries again.

    Args:
        clock: tells the database's present instant; asked in the thread of the rows.
        settled: is told the cards whose claims are finished, and until when accounts are left in peace.
    """

    def __init__(
        self,
        queue: AsyncQueue,
        rows: Rows,
        clock: Callable[[], datetime],
        settled: Callable[[Sequence[Polled], Mapping[int, datetime]], None],
    ) -> None:
        self._queue, self._rows, self._clock, self._settled = queue, rows, clock, settled
        self._waiting: asyncio.Queue[Polled] = asyncio.Queue()

    def hand(self, polled: Polled) -> None:
        """Take what came of asking about a card."""
        self._waiting.put_nowait(polled)

    async def settle_for_ever(self) -> None:
        """Settle what is handed in, until this is cancelled."""
        while True:
            polled = [await self._waiting.get()]
            await asyncio.sleep(GATHER_SECONDS)
            while len(polled) < MOST_CARDS and not self._waiting.empty():
                polled.append(self._waiting.get_nowait())
            await self._settle(polled)

    async def _settle(self, polled: Sequence[Polled]) -> None:
        try:
            settled = await self._written(polled)
        except Exception:
            logger.exception("what came of asking about %d cards cannot be written", len(polled))
            await self._settle_apart(polled)
            return
        await self._finished(settled.finishes)
        self._settled(polled, settled.held)

    async def _written(self, polled: Sequence[Polled]) -> Settled:
        while True:
            try:
                return await self._rows.call(self._settle_now, polled)
            except (OperationalError, InterfaceError) as error:
                logger.warning("results wait for the database: %s", type(error).__name__)
                await asyncio.sleep(TRY_AGAIN_SECONDS)

    def _settle_now(self, polled: Sequence[Polled]) -> Settled:
        return settling.settle(polled, now=self._clock())

    async def _settle_apart(self, polled: Sequence[Polled]) -> None:
        """Settle each card for itself: what no column can hold is the failure of the card that brought it."""
        if len(polled) > 1:
            for one in polled:
                await self._settle([one])
        elif any(asked.reading is not None for asked in polled[0].asked):
            polled[0].asked = [Asked(asked.type, asked.at, error=_UNFIT) for asked in polled[0].asked]
            await self._settle(polled)
        else:
            self._settled(polled, {})  # its lease ends, and it is claimed again

    async def _finished(self, finishes: Mapping[int, Sequence[Finish]]) -> None:
        ends = [calls.finish(account_id, of_account) for account_id, of_account in finishes.items()]
        while True:
            try:
                answers = await self._queue.perform(ends)
            except RedisError as error:
                logger.warning("results wait for Redis: %s", type(error).__name__)
                await asyncio.sleep(TRY_AGAIN_SECONDS)
            else:
                break
        for account_id, answer in zip(finishes, answers, strict=True):
            if isinstance(answer, RedisError):  # nobody else waits for that: these leases end
                logger.warning("claims of the account %s are not finished: %s", account_id, answer)


_UNFIT = CarrierError(ErrorClass.MALFORMED, "The carrier's values could not be stored; the poller's log says why.")
