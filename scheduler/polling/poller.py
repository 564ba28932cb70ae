"""A poller: batches of claimed cards come in, are asked on one event loop, and are settled in bulk.

Each card is held by a lease that is renewed until its result is safe.
"""

import asyncio
import logging
from collections.abc import Coroutine, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import Error as DatabaseTrouble
from redis.exceptions import RedisError
from structlog.contextvars import bound_contextvars

from project.kit.clock import database_now
from scheduler.polling import cards, system_settings
from scheduler.polling.carriers.base import CarrierError
from scheduler.polling.gateways import Access, Gateways
from scheduler.polling.leases import Held, Leases
from scheduler.polling.operations.sending import Sender
from scheduler.polling.operations.taken import Taken
from scheduler.polling.outcomes import Polled, Subject
from scheduler.polling.queue import calls
from scheduler.polling.queue.entries import Claim
from scheduler.polling.queue.queue import AsyncQueue
from scheduler.polling.rows import LoopClock, Rows
from scheduler.polling.settler import Settler
from scheduler.polling.stepping import Given, Stepping, Work
from scheduler.polling.system_settings import Settings

logger = logging.getLogger(__name__)


class Poller:
    """Polls what it is given, while its `duties` are done.

    Args:
        queue: the live order.
        rows: the thread in which rows are read and written.
    """

    def __init__(self, *, queue: AsyncQueue, gateways: Gateways, leases: Leases, rows: Rows) -> None:
        self._queue, self._gateways, self._leases, self._rows = queue, gateways, leases, rows
        self._clock = LoopClock(rows)
        self._settler = Settler(queue, rows, database_now, self._settled)
        self._sender = Sender(queue=queue, gateways=gateways, rows=rows, clock=self._clock)

    def __len__(self) -> int:
        """Return how many cards are in work."""
        return len(self._leases) + len(self._sender)

    def duties(self) -> list[Coroutine[Any, Any, None]]:
        """Return what has to be done beside all the time, until it is cancelled: what was asked is settled, and the
        leases and the clock are kept. Where one of them ends, nothing will go on.
        """
        return [self._settler.settle_for_ever(), self._keep_for_ever(), self._clock.run()]

    async def poll(self, account_id: int, claims: Sequence[Claim]) -> None:
        """Ask about the claimed cards of one account, and hand on what came of it.

        Claims that are out of date, or that another has started, are left alone.
        """
        with bound_contextvars(account=account_id):
            await self._poll_safely(account_id, await self._leases.take(account_id, claims))

    async def change(self, account_id: int, taken: Sequence[Taken]) -> None:
        """Ask for the stops and resumes of one account that were claimed for us, and write what came of them."""
        await self._clock.is_set()
        with bound_contextvars(account=account_id):
            await self._sender.send(account_id, taken)

    async def stop(self) -> None:
        """Let go of what is still in work: others may have it at once, where it is not known to be asked."""
        await self._sender.stop()
        await self._leases.give_back_all()

    async def _poll_safely(self, account_id: int, held: Sequence[Held]) -> None:
        try:
            await self._poll(account_id, held)
        except (DatabaseTrouble, RedisError) as error:
            logger.warning("%d cards are given back: %s", len(held), type(error).__name__)
            await self._leases.give_back(held)
        except Exception:
            await self._leases.give_back(held)  # else they were kept for ever, and nobody would work on them
            raise

    async def _poll(self, account_id: int, held: Sequence[Held]) -> None:
        await self._clock.is_set()
        settings, subjects = await self._rows.call(_read, [one.claim.card_id for one in held])
        await self._ask(account_id, await self._works(held, subjects), settings)

    async def _works(self, held: Sequence[Held], subjects: Mapping[int, Subject]) -> list[Work]:
        """Return the work on each card; a card that is gone is taken out of the order."""
        gone = [one.claim for one in held if one.claim.card_id not in subjects]
        if gone:
            await self._queue.ask(calls.remove(gone[0].account_id, [claim.card_id for claim in gone]))
            self._leases.let_go(gone)
        there = (one for one in held if one.claim.card_id in subjects)
        return [Work(Polled(one.claim, subjects[one.claim.card_id]), one) for one in there]

    async def _ask(self, account_id: int, works: Sequence[Work], settings: Settings) -> None:
        try:
            access = await self._gateways.to(account_id, max_wait=settings.gateway_max_wait)
        except CarrierError as trouble:
            for work in works:
                work.polled.trouble = trouble
                self._settler.hand(work.polled)
            return
        if access is None:
            await self._leases.give_back([work.held for work in works])
            return
        stepping = Stepping(access, settings, self._clock)
        given = await stepping.ask_together(works)
        await asyncio.gather(*(self._ask_one(access, stepping, work, given) for work in works))

    async def _ask_one(self, access: Access, stepping: Stepping, work: Work, given: Given) -> None:
        with bound_contextvars(card=work.polled.claim.card_id):
            async with access.cards:
                await stepping.ask(work, given)
        self._settler.hand(work.polled)

    def _settled(self, polled: Sequence[Polled], held: Mapping[int, datetime]) -> None:
        self._leases.let_go(one.claim for one in polled)
        for account_id, until in held.items():
            self._gateways.leave_in_peace(account_id, (until - self._clock()).total_seconds())

    async def _keep_for_ever(self) -> None:
        while True:
            await self._leases.keep()
            await asyncio.sleep(self._leases.look_seconds)


def _read(card_ids: Sequence[int]) -> tuple[Settings, dict[int, Subject]]:
    return system_settings.current(), cards.read(card_ids)
