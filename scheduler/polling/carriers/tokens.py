"""An account's token: fetched by one call for all that wait for it, renewed when the carrier says that it expired."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context
from dataclasses import dataclass, field, replace
from typing import Protocol

from project.kit.clock import elapsed

# So long before its end a token is not used any more: a call that begins with it must also arrive with it.
MARGIN_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Token:
    """A token.

    Attributes:
        text: what is sent.
        seconds: for how long it holds; None: until the carrier says otherwise.
    """

    text: str = field(repr=False)
    seconds: float | None = None


Fetch = Callable[[], Awaitable[Token]]


class TokenStore(Protocol):
    """Keeps one account's token for all processes that ask the account."""

    async def another(self, refused: str, fetch: Fetch) -> Token:
        """Return the token that is kept, with the seconds that are left of it, unless it is the one that the carrier
        refused; otherwise a fetched one, which is kept. Of all processes one fetches at a time.

        Raises:
            CarrierError, Busy: none could be fetched, or nobody can tell whether one is kept.
        """


class TokenKeeper:
    """Keeps the token of one account in this process.

    Args:
        fetch: asks the carrier for a token, through the gate; it raises CarrierError or Busy.
        shared: keeps it for all processes; needed where each new token ends the one before, for there two processes
            that fetch one each would refuse each other's for ever. None: each process has a token of its own.
    """

    def __init__(self, fetch: Fetch, shared: TokenStore | None = None) -> None:
        self._fetch, self._shared = fetch, shared
        self._text = self._refused = ""
        self._good_until = 0.0
        self._renewal: asyncio.Task[str] | None = None

    async def current(self) -> str:
        """Return a token that holds, as far as is known.

        Raises:
            CarrierError, Busy: none could be fetched; all who waited for it are told the same.
        """
        if self._text and elapsed() < self._good_until:
            return self._text
        return await self._renewed()

    async def instead_of(self, refused: str) -> str:
        """Return another token than that which the carrier refused; many may be refused the same one at once.

        Raises:
            CarrierError, Busy: as `current`.
        """
        if self._text == refused:
            self._text, self._refused = "", refused
        return await self.current()

    async def _renewed(self) -> str:
        if self._renewal is None:
            # It outlives the step of whoever comes first, so it takes nothing of its context along.
            self._renewal = asyncio.create_task(self._renew(), context=Context())
            self._renewal.add_done_callback(self._forget)
        return await asyncio.shield(self._renewal)  # whoever gives up waiting does not end it for the others

    async def _renew(self) -> str:
        if self._shared is None:
            token = await self._fetched()
        else:
            token = await self._shared.another(self._refused, self._fetched)
        self._text = token.text
        self._good_until = float("inf") if token.seconds is None else elapsed() + token.seconds
        return token.text

    async def _fetched(self) -> Token:
        """Return a token of the carrier's with the seconds for which it is used."""
        token = await self._fetch()
        if token.seconds is None:
            return token
        return replace(token, seconds=max(token.seconds - MARGIN_SECONDS, token.seconds / 2))

    def _forget(self, renewal: asyncio.Task[str]) -> None:
        self._renewal = None
        if not renewal.cancelled():
            renewal.exception()  # seen, also where nobody waits for it any more
