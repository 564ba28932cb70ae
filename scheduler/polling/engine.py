"""What makes a worker process a poller: an event loop in a thread of its own, on which everything is asked."""

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Callable, Collection, Coroutine, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any
from uuid import uuid4

from django.conf import settings
from redis.asyncio import Redis
from redis.exceptions import RedisError

from project.kit.cancelling import cancel_all
from scheduler.polling import accounts, capacity, connecting
from scheduler.polling.carriers.sessions import open_session
from scheduler.polling.gateways import Gateways
from scheduler.polling.gathering import GatheringRedis
from scheduler.polling.leases import Leases
from scheduler.polling.operations.taken import Taken
from scheduler.polling.poller import Poller
from scheduler.polling.queue.entries import Claim
from scheduler.polling.queue.queue import AsyncQueue
from scheduler.polling.rows import Rows
from scheduler.polling.traffic import Meters

logger = logging.getLogger(__name__)

# What is in work has so long to end when the process is asked to stop; the rest is given back.
GRACE_SECONDS = 7.0
LOOK_SECONDS = 0.1
SAY_SECONDS = capacity.SAID_SECONDS / 3
TELL_SECONDS = 1.0


class Engine:
    """Polls in the background of this process, and says for its queues how many cards it can hold.

    Args:
        queues: from which this process is given its batches.
        failed: is called where it cannot go on: a process that takes batches and does nothing with them helps nobody.
    """

    def __init__(self, queues: Sequence[str], failed: Callable[[], None] = lambda: None) -> None:
        self._queues, self._failed, self._name = queues, failed, uuid4().hex
        self._poller: Future[Poller] = Future()
        self._stopping = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="poller", daemon=True)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def submit(self, account_id: int, claims: Sequence[Claim]) -> None:
        """Take a batch, and return at once."""
        self._begin(account_id, self._poller.result().poll(account_id, claims))

    def change(self, account_id: int, taken: Sequence[Taken]) -> None:
        """Take claimed stops and resumes, and return at once."""
        self._begin(account_id, self._poller.result().change(account_id, taken))

    def _begin(self, account_id: int, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).add_done_callback(partial(_log_failure, account_id))

    def stop(self) -> None:
        """Let what is in work end for a while, give the rest back, and return when that is done."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._work())
        except Exception:
            logger.exception("the poller cannot go on")
            self._poller.cancel()  # nobody waits for what will not come
            self._failed()

    async def _work(self) -> None:
        redis, rows = connecting.async_client(), Rows("rows of the poller")
        queue = AsyncQueue(redis)
        leases = Leases(
            queue,
            lease_seconds=settings.TIDELINE_POLLING_LEASE_SECONDS,
            renew_seconds=settings.TIDELINE_POLLING_RENEW_SECONDS,
        )
        async with redis, open_session() as http:
            gathering = GatheringRedis(redis.connection_pool)
            gateways = Gateways(gathering, http, lambda account_id: rows.call(accounts.to_ask, account_id))
            poller = Poller(queue=queue, gateways=gateways, leases=leases, rows=rows)
            duties = [*poller.duties(), self._say_for_ever(redis), _tell_for_ever(gateways.meters, queue)]
            running = [asyncio.create_task(duty) for duty in duties]
            self._poller.set_result(poller)
            await self._end_of_work(poller, running)
            await cancel_all(running)
            await self._say(redis, 0)
            await poller.stop()
        await rows.close()
        _raise_faults(running)

    async def _end_of_work(self, poller: Poller, running: Collection[asyncio.Task[None]]) -> None:
        """Wait until the process is asked to stop, and then a while for what is in work; or until one that runs fails,
        for then nothing will end.
        """
        until = float("inf")
        while not any(task.done() for task in running):
            now = asyncio.get_running_loop().time()
            if self._stopping.is_set():
                until = min(until, now + GRACE_SECONDS)
            if now >= until or (self._stopping.is_set() and not len(poller)):
                return
            await asyncio.sleep(LOOK_SECONDS)

    async def _say_for_ever(self, redis: Redis) -> None:
        while True:
            await self._say(redis, 0 if self._stopping.is_set() else settings.TIDELINE_POLLER_CARDS)
            await asyncio.sleep(SAY_SECONDS)

    async def _say(self, redis: Redis, cards: int) -> None:
        try:
            for queue in self._queues:
                await capacity.say(redis, queue, self._name, cards)
        except RedisError as error:
            logger.warning("nobody learns what this poller can hold: %s", type(error).__name__)


def _raise_faults(ended: Collection[asyncio.Task[None]]) -> None:
    for task in ended:
        if not task.cancelled():
            task.result()


async def _tell_for_ever(meters: Meters, queue: AsyncQueue) -> None:
    while True:
        await asyncio.sleep(TELL_SECONDS)
        try:
            await meters.tell(queue)
        except RedisError as error:
            logger.warning("nobody learns how many calls were made: %s", type(error).__name__)


_here: list[Engine] = []


def begin(queues: Sequence[str]) -> None:
    """Make this process a poller of the queues. Where it cannot go on, it is asked to stop, and its supervisor starts
    it anew.
    """
    _here.append(Engine(queues, failed=lambda: os.kill(os.getpid(), signal.SIGTERM)))
    _here[0].start()


def here() -> Engine:
    """Return the engine of this process.

    Raises:
        LookupError: it is no poller.
    """
    if not _here:
        raise LookupError("Only pollers take batches of cards: start the worker with --queues polling.card.")
    return _here[0]


def end() -> None:
    """Stop the engine of this process."""
    _here.pop().stop()


def _log_failure(account_id: int, polled: Future[None]) -> None:
    if not polled.cancelled() and (error := polled.exception()) is not None:
        # What was not done comes again when its leases end.
        logger.error("a batch of the account %s failed", account_id, exc_info=error)
