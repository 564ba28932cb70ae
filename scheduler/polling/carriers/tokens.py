"""An account's token: fetched by one call for all that wait for it, renewed when the carrier says that it expired."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context
from dataclasses import dataclass, field

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


class TokenKeeper:
    """Keeps the token of one account.

    Args:
        fetch: asks the carrier for a token, through the gate; it raises CarrierError or Busy.
    """

    def __init__(self, fetch: Callable[[], Awaitable[Token]]) -> None:
        self._fetch = fetch
        self._text = ""
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
            self._text = ""
        return await self.current()

    async def _renewed(self) -> str:
        if self._renewal is None:
            # It outlives the step of whoever comes first, so it takes nothing of its context along.
            self._renewal = asyncio.create_task(self._renew(), context=Context())
            self._renewal.add_done_callback(self._forget)
        return await asyncio.shield(self._renewal)  # whoever gives up waiting does not end it for the others

    async def _renew(self) -> str:
        token = await self._fetch()
        lifetime = float("inf") if token.seconds is None else token.seconds
        self._text, self._good_until = token.text, elapsed() + max(lifetime - MARGIN_SECONDS, lifetime / 2)
        return token.text

    def _forget(self, renewal: asyncio.Task[str]) -> None:
        self._renewal = None
        if not renewal.cancelled():
            renewal.exception()  # seen, also where nobody waits for it any more
