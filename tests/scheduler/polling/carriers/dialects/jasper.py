"""Cisco Control Center."""

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from scheduler.polling.carriers.simulator.cards import ACTIVE, STOCK, STOPPED, TESTING
from scheduler.polling.carriers.simulator.carrier import Asked
from tests.scheduler.polling.carriers.dialects.speech import CARD, Speech, Translation, simulated, used_bytes

STATUSES = {ACTIVE: "ACTIVATED", STOPPED: "DEACTIVATED", TESTING: "TEST_READY", STOCK: "INVENTORY"}
CHANGES = {"ACTIVATED": "resume", "DEACTIVATED": "stop"}


def refusal(code: str, message: str) -> dict[str, str]:
    return {"errorMessage": message, "errorCode": code}


class Jasper(Translation):
    refusals = {
        "auth": (401, refusal("10000001", "Invalid credentials")),
        "throttle": (400, refusal("40000029", "Rate Limit Exceeded")),
        "missing": (404, refusal("20000001", "Resource not found - Invalid ICCID.")),
    }

    async def asked(self, request: web.BaseRequest, account: str, parts: Sequence[str]) -> Asked | None:
        encoded = request.headers.get("Authorization", "").removeprefix("Basic ")
        user, _, key = base64.b64decode(encoded).decode().partition(":")
        shown = key if user == account else ""
        match request.method, parts:
            case "GET", ["devices", iccid]:
                return Asked("status", iccid, shown)
            case "GET", ["devices", iccid, "ctdUsages"]:
                return Asked("usage", iccid, shown)
            case "PUT", ["devices", iccid]:
                return Asked(CHANGES[json.loads(await request.read())["status"]], iccid, shown)
        return None

    def done(self, asked: Asked, data: Mapping[str, Any]) -> tuple[int, Any]:
        device = {"iccid": asked.iccid, "ratePlan": simulated(asked.iccid).package}
        match asked.endpoint:
            case "status":
                return 200, device | {"status": STATUSES[data["status"]]}
            case "usage":
                return 200, device | {"ctdDataUsage": used_bytes(asked.iccid)}
        return 200, {"iccid": asked.iccid}


JASPER = Speech(
    kind="jasper",
    dialect=Jasper(),
    credentials=lambda plan: {"user": plan.name, "key": plan.key},
    lines={
        "card_status": f"GET /devices/{CARD.iccid} ",
        "package": f"GET /devices/{CARD.iccid} ",
        "usage": f"GET /devices/{CARD.iccid}/ctdUsages ",
        "stop": f"PUT /devices/{CARD.iccid} ",
        "resume": f"PUT /devices/{CARD.iccid} ",
    },
)
