"""The HTTP of a simulated carrier. It has to bear thousands of calls a second beside what calls it, so no router, no
middleware and no log stands before the answer.

    POST /{account}/token                              {"user", "password"}
    GET  /{account}/cards/{iccid}/{what}               what: status, usage, real-name, package
    POST /{account}/cards/{iccid}/{change}             change: stop, resume
    POST /{account}/batch/{what or change}             {"iccids": [...]}, at most 100
    GET, DELETE        /_stats                         what was counted; begin anew
    GET, POST, DELETE  /_faults                        those that are ordered; order one; take all back
"""

import asyncio
import time
from collections.abc import Iterable
from typing import Any

from aiohttp import web
from pydantic import ValidationError

from scheduler.polling.carriers.simulator.accounts import AccountPlan
from scheduler.polling.carriers.simulator.carrier import Asked, SimulatedAccount
from scheduler.polling.carriers.simulator.dialects import Dialect
from scheduler.polling.carriers.simulator.faults import Fault, Faults
from scheduler.polling.carriers.simulator.measuring import Meter
from scheduler.polling.carriers.simulator.replies import REFUSALS, Conduct, Reply

# Longer than any caller waits.
HANGING_SECONDS = 3600


class CarrierServer:
    """Answers for all accounts of a simulated carrier.

    Args:
        dialect: how it is asked and answers; None: its own way.
    """

    def __init__(self, plans: Iterable[AccountPlan], dialect: Dialect | None = None) -> None:
        self._dialect = dialect or Dialect()
        self.faults = Faults()
        self.accounts = {
            plan.name: SimulatedAccount(plan, self.faults, Meter(plan, time.monotonic())) for plan in plans
        }

    def web_server(self) -> web.Server:
        """Return what aiohttp serves; a call whose caller has gone is given up."""
        return web.Server(self.handle, access_log=None, handler_cancellation=True)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one call."""
        parts = request.path.split("/")[1:]
        if parts[0].startswith("_"):
            return await self._control(parts[0], request)
        account = self.accounts.get(parts[0])
        asked = await self._dialect.asked(request, parts[0], parts[1:])
        if account is None or asked is None:
            return _written(REFUSALS["parameter"].reply())
        return await self._answer(account, asked, request)

    def stats(self) -> dict[str, Any]:
        """Return what was counted, by account."""
        return {name: account.meter.figures() for name, account in self.accounts.items()}

    def begin_anew(self) -> None:
        """Forget what was counted; calls that are under way are counted by nobody."""
        for account in self.accounts.values():
            account.meter = Meter(account.plan, time.monotonic())

    async def _answer(self, account: SimulatedAccount, asked: Asked, request: web.BaseRequest) -> web.StreamResponse:
        meter, name = account.meter, "given up"
        passes = meter.enter(asked.endpoint, asked.iccid, time.monotonic())
        try:
            reply = account.answer(asked, time.time(), passes=passes)
            await asyncio.sleep(HANGING_SECONDS if reply.conduct is Conduct.HANG else account.latency())
            name = reply.name
        finally:
            meter.leave(asked.iccid, name)
        if reply.conduct is Conduct.CLOSE and request.transport is not None:
            request.transport.abort()
        return _written(self._dialect.written(reply, asked))

    async def _control(self, what: str, request: web.BaseRequest) -> web.StreamResponse:
        match what, request.method:
            case "_stats", "GET":
                return web.json_response(self.stats())
            case "_stats", "DELETE":
                self.begin_anew()
            case "_faults", "GET":
                return web.json_response([fault.model_dump(mode="json") for fault in self.faults.held()])
            case "_faults", "DELETE":
                self.faults.clear()
            case "_faults", "POST":
                return self._order(await request.read())
            case _:
                return web.json_response({"error": "There is no such page."}, status=404)
        return web.Response(status=204)

    def _order(self, body: bytes) -> web.StreamResponse:
        try:
            fault = Fault.model_validate_json(body)
        except ValidationError as error:
            return web.json_response({"error": str(error)}, status=400)
        self.faults.order(fault, time.time())
        return web.Response(status=204)


def _written(reply: Reply) -> web.Response:
    return web.Response(
        status=reply.status, body=reply.body, headers={"Content-Type": reply.content_type, **reply.headers}
    )
