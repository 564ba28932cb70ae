"""The accounts as one poller process asks them: each with its gateway, its gate and its places, made once for a version
of its rows.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import aiohttp
from redis.asyncio import Redis

from project.kit.outbound import BadAddress
from project.kit.secrets import UnreadableSecret
from quotas.ratelimit import AsyncLimiter
from scheduler.polling.accounts import Account
from scheduler.polling.calling import AccountGate, Places
from scheduler.polling.carriers.base import CarrierError, Gateway
from scheduler.polling.carriers.registry import BadSettings, read_access
from scheduler.polling.queue.keys import key_of, limiter_name
from scheduler.polling.sharing import SharedToken
from scheduler.polling.states import ErrorClass
from scheduler.polling.traffic import Meters

# So long is an account taken to be as its rows were read.
FRESH_SECONDS = 2.0


@dataclass(slots=True)
class Access:
    """One account as this process asks it.

    Attributes:
        cards: so many cards of the account are asked at once here.
        changes: so many of them are stopped or resumed at once here.
        peace_until: on the monotonic clock; until then nothing is asked, whatever the rows say.
    """

    account: Account
    gateway: Gateway
    cards: asyncio.Semaphore
    changes: asyncio.Semaphore
    read_at: float
    peace_until: float = field(default=float("-inf"))

    @property
    def in_peace(self) -> bool:
        """Whether the account is left in peace just now."""
        return time.monotonic() < self.peace_until

    def leave_in_peace(self, seconds: float) -> None:
        """Ask nothing for so long. The rows hold the account as well, a moment later and for all pollers."""
        self.peace_until = max(self.peace_until, time.monotonic() + seconds)


class Gateways:
    """Makes and keeps what this process asks the accounts with.

    Args:
        read: returns the account as the rows have it, or None where it is gone or switched off.

    Attributes:
        meters: count the calls of each account.
    """

    def __init__(
        self, redis: Redis, http: aiohttp.ClientSession, read: Callable[[int], Awaitable[Account | None]]
    ) -> None:
        self._redis, self._http, self._read = redis, http, read
        self._known: dict[int, Access] = {}
        self.meters = Meters()

    async def to(self, account_id: int, *, max_wait: float) -> Access | None:
        """Return how the account is asked; None: it is gone or switched off.

        Args:
            max_wait: seconds that a call may wait for its turn.

        Raises:
            CarrierError: its settings or credentials cannot be used; of the class AUTH.
        """
        known = self._known.get(account_id)
        if known is not None and time.monotonic() - known.read_at < FRESH_SECONDS:
            return known
        account = await self._read(account_id)
        if account is None:
            self._known.pop(account_id, None)
            return None
        known = self._known.get(account_id)  # another may have made it meanwhile, and its places count for both
        if known is None or known.account != account:
            known = self._known[account_id] = self._made(account, max_wait)
        known.read_at = time.monotonic()
        return known

    def leave_in_peace(self, account_id: int, seconds: float) -> None:
        """Ask the account nothing for so long."""
        if account_id in self._known:
            self._known[account_id].leave_in_peace(seconds)

    def _made(self, account: Account, max_wait: float) -> Access:
        params = account.params
        windows, name = params.rate_windows, limiter_name(account.id)
        limiter = AsyncLimiter(self._redis, name, windows) if windows else None
        places = (
            Places(self._redis, key_of(account.id, "calling"), params.max_concurrency)
            if params.max_concurrency
            else None
        )
        gate = AccountGate(limiter, places, max_wait, self.meters.of(account.id))
        try:
            credentials = json.loads(account.credentials.reveal() or "{}")
            shared = SharedToken(self._redis, account.id, [account.settings, credentials])
            gateway = read_access(account.gateway, account.settings, credentials).open(self._http, gate, shared)
        except (UnreadableSecret, BadSettings, BadAddress) as error:
            raise CarrierError(ErrorClass.AUTH, f"The account cannot be used: {error}") from None
        cards, changes = (
            asyncio.Semaphore(most) for most in (params.card_max_in_flight, params.stop_resume_max_in_flight)
        )
        return Access(account, gateway, cards, changes, time.monotonic())
