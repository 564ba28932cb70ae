"""How a simulated carrier is asked, and how its answers are written.

Its own way is this one; one that speaks as a real carrier overrides both, and keeps accounts, limits and faults.
"""

from collections.abc import Sequence

from aiohttp import web

from scheduler.polling.carriers.simulator.carrier import CHANGES, READS, TOKEN, Asked
from scheduler.polling.carriers.simulator.replies import Reply


class Dialect:
    """The simulated carrier's own way."""

    async def asked(self, request: web.BaseRequest, account: str, parts: Sequence[str]) -> Asked | None:
        """Return what is asked; None: nothing that this carrier knows.

        Args:
            parts: those of the path behind the account.
        """
        shown = request.headers.get("Authorization", "").removeprefix("Bearer ")
        match request.method, parts:
            case "POST", ["token"]:
                return Asked(TOKEN, body=await request.read())
            case "POST", ["batch", what] if what in READS or what in CHANGES:
                return Asked(what, shown=shown, body=await request.read())
            case "GET", ["cards", iccid, what] if what in READS:
                return Asked(what, iccid, shown)
            case "POST", ["cards", iccid, what] if what in CHANGES:
                return Asked(what, iccid, shown)
        return None

    def written(self, reply: Reply, asked: Asked) -> Reply:
        """Return the answer as it is sent."""
        return reply
