"""How a thread asks carriers, one call at a time, through the gateways that are made for event loops."""

import asyncio
import threading
from datetime import datetime, timedelta
from functools import partial

import aiohttp

from project.kit.clock import elapsed
from scheduler.polling import accounts, connecting
from scheduler.polling.accounts import Account
from scheduler.polling.carriers.base import CarrierError
from scheduler.polling.carriers.sessions import open_session
from scheduler.polling.gateways import FRESH_SECONDS, Gateways
from scheduler.polling.leases import Held
from scheduler.polling.outcomes import Polled
from scheduler.polling.remembering import Remembered
from scheduler.polling.stepping import Stepping, Work
from scheduler.polling.system_settings import Settings


class Caller:
    """Asks from one thread, which keeps its event loop and its connections."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._redis = connecting.async_client()
        self._http = self._runner.run(_opened())
        self._accounts: dict[int, Remembered[Account | None]] = {}
        self._gateways = Gateways(self._redis, self._http, self._account)

    def ask(self, polled: Polled, settings: Settings, held: Held, *, now: datetime) -> bool:
        """Ask the card's due checks and note what came of them; False: its account is gone or switched off.

        Args:
            held: for how long nobody else works on the card.
        """
        self._remembered(polled.claim.account_id)()  # here, for no rows are read within the event loop
        return self._runner.run(self._ask(polled, settings, held, now))

    def close(self) -> None:
        """Close the connections, and the event loop."""
        self._runner.run(self._http.close())
        self._runner.run(self._redis.aclose())
        self._runner.close()

    async def _ask(self, polled: Polled, settings: Settings, held: Held, now: datetime) -> bool:
        try:
            access = await self._gateways.to(polled.claim.account_id, max_wait=settings.gateway_max_wait)
        except CarrierError as trouble:
            polled.trouble = trouble
            return True
        if access is None:
            return False
        began = elapsed()
        stepping = Stepping(access, settings, lambda: now + timedelta(seconds=elapsed() - began))
        await stepping.ask(Work(polled, held), {})
        return True

    async def _account(self, account_id: int) -> Account | None:
        return self._remembered(account_id)()

    def _remembered(self, account_id: int) -> Remembered[Account | None]:
        read = partial(accounts.to_ask, account_id)
        return self._accounts.setdefault(account_id, Remembered(read, seconds=FRESH_SECONDS))


_of_thread = threading.local()


def here() -> Caller:
    """Return the caller of this thread, which is kept as long as the thread."""
    if not hasattr(_of_thread, "caller"):
        _of_thread.caller = Caller()
    caller: Caller = _of_thread.caller
    return caller


async def _opened() -> aiohttp.ClientSession:
    return open_session()  # within the loop that it is for
