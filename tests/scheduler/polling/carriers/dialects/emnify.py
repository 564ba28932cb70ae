"""emnify."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from scheduler.polling.carriers.simulator.accounts import iccid_of
from scheduler.polling.carriers.simulator.cards import ACTIVE, STOPPED, TESTING
from scheduler.polling.carriers.simulator.carrier import TOKEN, Asked
from scheduler.polling.iccid import check_digit
from tests.scheduler.polling.carriers.dialects.speech import CARD, Speech, Translation, used_bytes

STATUSES = {ACTIVE: 1, STOPPED: 2, TESTING: 4}
CHANGES = {1: "resume", 2: "stop"}
FIRST_ID = 7000


def refusal(code: int, token: str) -> dict[str, Any]:
    return {"error_code": code, "error_token": token, "message": f"This is a {token}"}


class Emnify(Translation):
    refusals = {
        "auth": (401, None),
        "token_expired": (401, refusal(1100, "Unauthorized")),
        "throttle": (429, refusal(1200, "TooManyRequests")),
        "missing": (404, refusal(1000, "NotFound")),
        "state": (400, refusal(1300, "ValidationError")),
    }

    async def asked(self, request: web.BaseRequest, account: str, parts: Sequence[str]) -> Asked | None:
        shown = request.headers.get("Authorization", "").removeprefix("Bearer ")
        match request.method, parts:
            case "POST", ["authenticate"]:
                token = json.loads(await request.read())["application_token"]
                return Asked(TOKEN, body=json.dumps({"user": account, "password": token}).encode())
            case "GET", ["sim"]:
                body = request.query["q"].removeprefix("iccid:")
                return Asked("status", body + check_digit(body), shown)
            case "GET", ["sim", number, "stats"]:
                return Asked("usage", iccid_of(account, int(number) - FIRST_ID), shown)
            case "PATCH", ["sim", number]:
                change = CHANGES[json.loads(await request.read())["status"]["id"]]
                return Asked(change, iccid_of(account, int(number) - FIRST_ID), shown)
        return None

    def done(self, asked: Asked, data: Mapping[str, Any]) -> tuple[int, Any]:
        match asked.endpoint:
            case "token":
                return 200, {"auth_token": data["access_token"]}
            case "status":
                number = FIRST_ID + int(asked.iccid[9:19])
                return 200, [
                    {"id": number, "iccid": asked.iccid[:19], "status": {"id": STATUSES[data["status"]]}},
                    {"id": number + 1, "iccid": "8988303000000000000", "status": {"id": 0}},
                ]
            case "usage":
                return 200, stats(used_bytes(asked.iccid), data["as_of"])
        return 204, None

    def refused(self, name: str, asked: Asked) -> tuple[int, Any]:
        searched = name == "missing" and asked.endpoint == "status"
        return (200, []) if searched else super().refused(name, asked)


def stats(used: int, as_of: str) -> dict[str, Any]:
    data = {"volume": f"{used / 10**6:.6f}", "last_updated": as_of, "traffic_type": {"unit": "MB", "id": 5}}
    return {"last_hour": {"data": {}}, "current_month": {"data": data}}


EMNIFY = Speech(
    kind="emnify",
    dialect=Emnify(),
    credentials=lambda plan: {"key": plan.password},
    lines={
        "token": "POST /authenticate ",
        "lookup": f"GET /sim?q=iccid%3A{CARD.iccid19} ",
        "card_status": f"GET /sim?q=iccid%3A{CARD.iccid19} ",
        "usage": "GET /sim/7001/stats ",
        "stop": "PATCH /sim/7001 ",
        "resume": "PATCH /sim/7001 ",
    },
    answers={
        "token": {"auth_token": "t0ken.of~emnify"},
        "lookup": [{"id": 7001, "iccid": CARD.iccid19, "status": {"id": 1}}],
    },
)
