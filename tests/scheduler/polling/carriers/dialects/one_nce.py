"""1NCE."""

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from scheduler.polling.carriers.simulator.cards import ACTIVE, STOPPED
from scheduler.polling.carriers.simulator.carrier import TOKEN, Asked
from scheduler.polling.iccid import check_digit
from tests.scheduler.polling.carriers.dialects.speech import CARD, Speech, Translation, used_bytes

STATUSES = {ACTIVE: "Enabled", STOPPED: "Disabled"}
CHANGES = {"Enabled": "resume", "Disabled": "stop"}
TOTAL_MB = 500


def refusal(code: int, token: str) -> dict[str, Any]:
    return {"error_code": code, "error_token": token, "message": f"This is a {token}"}


class OneNce(Translation):
    refusals = {
        "auth": (401, {"statusCode": 401, "errorCode": "AuthError", "message": "Not authorized"}),
        "token_expired": (401, {"message": "Unauthorized"}),
        "throttle": (429, {"message": "Too Many Requests"}),
        "missing": (404, refusal(1000, "NotFound")),
        "not_owned": (403, None),
        "state": (409, refusal(1001, "Conflict")),
    }

    async def asked(self, request: web.BaseRequest, account: str, parts: Sequence[str]) -> Asked | None:
        kind, _, shown = request.headers.get("Authorization", "").partition(" ")
        match request.method, parts:
            case "POST", ["oauth", "token"] if kind == "Basic":
                user, _, password = base64.b64decode(shown).decode().partition(":")
                return Asked(TOKEN, body=json.dumps({"user": user, "password": password}).encode())
            case "GET", ["v1", "sims", body]:
                return Asked("status", body + check_digit(body), shown)
            case "GET", ["v1", "sims", body, "quota", "data"]:
                return Asked("usage", body + check_digit(body), shown)
            case "PUT", ["v1", "sims", body]:
                change = CHANGES[json.loads(await request.read())["status"]]
                return Asked(change, body + check_digit(body), shown)
        return None

    def done(self, asked: Asked, data: Mapping[str, Any]) -> tuple[int, Any]:
        match asked.endpoint:
            case "token":
                return 200, {"status_code": 200, "token_type": "bearer", **data}
            case "status":
                return 200, {"iccid": asked.iccid[:19], "status": STATUSES[data["status"]], "current_quota": TOTAL_MB}
            case "usage":
                left = TOTAL_MB - used_bytes(asked.iccid) / 1024**2
                return 200, {"volume": left, "total_volume": TOTAL_MB, "expiry_date": "2029-01-01 00:00:00"}
        return 200, None


ONE_NCE = Speech(
    kind="1nce",
    dialect=OneNce(),
    credentials=lambda plan: {"user": plan.name, "password": plan.password},
    lines={
        "token": "POST /oauth/token ",
        "card_status": f"GET /v1/sims/{CARD.iccid19} ",
        "usage": f"GET /v1/sims/{CARD.iccid19}/quota/data ",
        "stop": f"PUT /v1/sims/{CARD.iccid19} ",
        "resume": f"PUT /v1/sims/{CARD.iccid19} ",
    },
    answers={"token": {"access_token": "t0ken.of~1nce", "expires_in": 3600}},
)
