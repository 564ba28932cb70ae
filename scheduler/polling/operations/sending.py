"""A poller's part in stops and resumes: claimed operations come in, the carrier is asked, what it says is written.

A card has one worker at a time: it is claimed in the live order while it is changed, so that no check of it is made
meanwhile, and it is not changed while a check is made.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from django.db import InterfaceError, OperationalError
from redis.exceptions import RedisError
from structlog.contextvars import bound_contextvars

from project.kit.cancelling import cancel_all
from scheduler.polling import calling, holding, system_settings
from scheduler.polling.carriers.base import Busy, CarrierError
from scheduler.polling.gateways import Access, Gateways
from scheduler.polling.operations import claiming, settling
from scheduler.polling.operations.claiming import Change
from scheduler.polling.operations.settling import Outcome
from scheduler.polling.operations.taken import Taken
from scheduler.polling.queue import calls
from scheduler.polling.queue.queue import AsyncQueue
from scheduler.polling.rows import Rows
from scheduler.polling.states import OF_THE_ACCOUNT, ErrorClass, OperationKind
from scheduler.polling.stepping import PEACE_SECONDS
from scheduler.polling.system_settings import Settings

logger = logging.getLogger(__name__)

# After so long a card is tried again of which a check is being made.
CARD_IN_WORK = timedelta(seconds=2)
# ... and one whose account was switched off, or changed, after the operation was claimed.
ACCOUNT_GONE = timedelta(minutes=1)
# The leases last longer than the carrier is waited for, by so much.
MARGIN_SECONDS = 10.0
TRY_AGAIN_SECONDS = 1.0


class Sender:
    """Asks carriers to stop and resume cards, on the event loop of a poller.

    Args:
        queue: the live order, in which the cards are claimed.
        rows: the thread in which rows are read and written.
        clock: tells the database's present instant, without asking it.
    """

    def __init__(self, *, queue: AsyncQueue, gateways: Gateways, rows: Rows, clock: Callable[[], datetime]) -> None:
        self._queue, self._gateways, self._rows, self._clock = queue, gateways, rows, clock
        self._in_work: dict[asyncio.Task[None], Taken] = {}

    def __len__(self) -> int:
        return len(self._in_work)

    async def send(self, account_id: int, taken: Sequence[Taken]) -> None:
        """Ask for the changes of one account, each for itself, and write what came of it."""
        settings = await self._rows.call(system_settings.current)
        access = await self._access(account_id, settings)
        if access is None:
            await self._put_off(taken, ACCOUNT_GONE)
            return
        tasks = {asyncio.create_task(self._change(access, settings, one)): one for one in taken}
        self._in_work |= tasks
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                self._in_work.pop(task, None)

    async def stop(self) -> None:
        """End what is in work: what was not begun is given back, and what was is found by its lease."""
        tasks = dict(self._in_work)
        if tasks:
            await cancel_all(tasks)
            await self._put_off(list(tasks.values()), timedelta())

    # --- one operation -----------------------------------------------------------------------------------------

    async def _change(self, access: Access, settings: Settings, taken: Taken) -> None:
        """Change the card while nobody else works on it."""
        with bound_contextvars(card=taken.card_id):
            await self._change_alone(access, settings, taken)

    async def _change_alone(self, access: Access, settings: Settings, taken: Taken) -> None:
        async with access.changes:
            seconds = settings.steps_timeout + 2 * settings.gateway_max_wait
            until = time.monotonic() + seconds
            token = await self._card_token(access.account.id, taken.card_id, seconds)
            if not token:
                await self._put_off([taken], CARD_IN_WORK)
                return
            try:
                await self._ask(access, settings, taken, until)
            finally:
                await self._free(access.account.id, taken.card_id, token)

    async def _ask(self, access: Access, settings: Settings, taken: Taken, until: float) -> None:
        lease = timedelta(seconds=until - time.monotonic() + 2 * MARGIN_SECONDS)
        change = await self._rows.call(claiming.begin, taken, now=self._clock(), lease=lease)
        if change is None:
            await self._put_off([taken], ACCOUNT_GONE)  # if it is still ours: its card is another account's
            return
        outcome = await self._outcome(access, settings, change, until)
        if isinstance(outcome, CarrierError) and outcome.error_class in OF_THE_ACCOUNT:
            access.leave_in_peace(outcome.retry_after or PEACE_SECONDS)
        await self._settle(taken, outcome)

    async def _outcome(self, access: Access, settings: Settings, change: Change, until: float) -> Outcome:
        if access.in_peace or time.monotonic() >= until:
            return Busy(PEACE_SECONDS)
        verb = access.gateway.stop if change.kind is OperationKind.STOP else access.gateway.resume
        try:
            async with asyncio.timeout(until - time.monotonic()):
                async with calling.step(settings.steps_timeout, is_void=lambda: time.monotonic() >= until):
                    await verb(change.card)
        except (CarrierError, Busy) as outcome:
            return outcome
        except TimeoutError:
            return CarrierError(ErrorClass.TIMEOUT, f"No answer within {settings.steps_timeout} s.")
        except Exception as fault:
            # A gateway that raises anything else has a fault of its own, and may have asked before it did.
            logger.error("the gateway %s failed", access.account.gateway, exc_info=fault)
            return CarrierError(ErrorClass.MALFORMED, "The gateway could not read the answer; the log says more.")
        return None

    # --- what it is asked with ---------------------------------------------------------------------------------

    async def _access(self, account_id: int, settings: Settings) -> Access | None:
        """Return how the account is asked; None: it is gone or switched off, or cannot be used and is held for it."""
        try:
            return await self._gateways.to(account_id, max_wait=settings.gateway_max_wait)
        except CarrierError as trouble:
            await self._rows.call(holding.hold, account_id, trouble, now=self._clock())
            return None

    async def _card_token(self, account_id: int, card_id: int, seconds: float) -> int:
        """Claim the card; 0: a check of it is being made, or nobody can tell."""
        lease = timedelta(seconds=seconds + MARGIN_SECONDS)
        try:
            [token] = await self._queue.ask(calls.take(account_id, [card_id], lease))
        except RedisError as error:
            logger.warning("a change waits, for Redis is away: %s", type(error).__name__)
            return 0
        return token

    # --- what is written ---------------------------------------------------------------------------------------

    async def _settle(self, taken: Taken, outcome: Outcome) -> None:
        """Write what came of it, however long the database is away: what comes too late is refused by the row."""
        while True:
            try:
                await self._rows.call(settling.settle, taken, outcome, now=self._clock())
            except (OperationalError, InterfaceError) as error:
                logger.warning("a change waits for the database: %s", type(error).__name__)
                await asyncio.sleep(TRY_AGAIN_SECONDS)
            else:
                return

    async def _put_off(self, taken: Sequence[Taken], pause: timedelta) -> None:
        await self._rows.call(claiming.put_off, taken, until=self._clock() + pause)

    async def _free(self, account_id: int, card_id: int, token: int) -> None:
        try:
            await self._queue.ask(calls.release(account_id, [(card_id, token)]))
        except RedisError as error:
            logger.warning("a card is free again when its claim ends: %s", type(error).__name__)
