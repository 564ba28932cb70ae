"""Tuya's IoT SIM cards: every request is signed, that for the token as well."""

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from scheduler.polling.carriers.simulator import AccountPlan
from scheduler.polling.carriers.simulator.cards import ACTIVE, STOCK, STOPPED, TESTING, VERIFIED
from scheduler.polling.carriers.simulator.carrier import TOKEN, Asked
from tests.scheduler.polling.carriers.dialects.speech import CARD, Speech, Translation

STATUSES = {ACTIVE: 1, STOPPED: 2, TESTING: 0, STOCK: 0}
CHANGES = {"MANAGE_STOP": "stop", "MANAGE_RESUME": "resume"}
QUERIES = {"status": "status", "auth": "real-name", "resources/list": "usage", "package/list": "package"}


def signature(headers: Mapping[str, str], secret: str, method: str, address: str, body: bytes) -> str:
    """Return what the description says: of who asks, when and what, with an empty line for no signed headers."""
    text = headers["client_id"] + headers.get("access_token", "") + headers["t"] + headers["nonce"]
    text += f"{method}\n{hashlib.sha256(body).hexdigest()}\n\n{address}"
    return hmac.digest(secret.encode(), text.encode(), "sha256").hex().upper()


def done(result: Any) -> dict[str, Any]:
    return {"success": True, "t": 1626343039923, "result": result}


def refusal(code: int, message: str) -> dict[str, Any]:
    return {"success": False, "t": 1626343039923, "code": code, "msg": message}


class Tuya(Translation):
    refusals = {
        "auth": (200, refusal(1004, "sign invalid")),
        "token_expired": (200, refusal(1010, "token is expired")),
        "throttle": (200, refusal(1110, "concurrent request over limit")),
        "missing": (200, refusal(1000, "data not exist")),
        "not_owned": (200, refusal(1106, "permission deny")),
        "state": (200, done(False)),
    }

    async def asked(self, request: web.BaseRequest, account: str, parts: Sequence[str]) -> Asked | None:
        body, headers, plan = await request.read(), request.headers, AccountPlan(account)
        address = request.path_qs.removeprefix(f"/{account}")
        sign = signature(headers, plan.password, request.method, address, body)
        good = sign == headers["sign"] and headers["sign_method"] == "HMAC-SHA256" and len(headers["t"]) == 13
        shown = headers.get("access_token", "") if good else ""
        match request.method, parts:
            case "GET", ["v1.0", "token"] if request.query["grant_type"] == "1":
                who = {"user": headers["client_id"], "password": plan.password if good else ""}
                return Asked(TOKEN, body=json.dumps(who).encode())
            case "GET", ["v1.0", "iot-01", "sim", iccid, *what]:
                return Asked(QUERIES["/".join(what)], iccid, shown)
            case "PUT", ["v1.0", "iot-01", "sim", "enable"]:
                document = json.loads(body)
                return Asked(CHANGES[document["operate_type"]], document["iccid"], shown)
        return None

    def done(self, asked: Asked, data: Mapping[str, Any]) -> tuple[int, Any]:
        match asked.endpoint:
            case "token":
                token = {"access_token": data["access_token"], "expire_time": int(data["expires_in"])}
                result: Any = token | {"refresh_token": "r", "uid": "u"}
            case "status":
                result = {"iccid": asked.iccid, "msisdn": "", "status": STATUSES[data["status"]]}
            case "usage":
                half = data["used"] / 1024 / 2
                plan = {"type": "TRAFFIC", "unit": "MB", "traffic_used": half, "traffic_usable": 50}
                result = [plan, plan, {"type": "NB", "unit": "COUNT", "traffic_used": 7}]
            case "real-name":
                result = "AUTH_SUCCESS" if data["real_name"] == VERIFIED else "AUTH_FAIL"
            case "package":
                result = [{"package_id": "1", "package_name": data["package"]}]
            case _:
                result = True
        return 200, done(result)


_SIM = f"GET /v1.0/iot-01/sim/{CARD.iccid}"
TUYA = Speech(
    kind="tuya",
    dialect=Tuya(),
    credentials=lambda plan: {"client_id": plan.name, "secret": plan.password},
    lines={
        "token": "GET /v1.0/token?grant_type=1 ",
        "card_status": f"{_SIM}/status ",
        "usage": f"{_SIM}/resources/list ",
        "real_name": f"{_SIM}/auth ",
        "package": f"{_SIM}/package/list ",
        "stop": "PUT /v1.0/iot-01/sim/enable ",
        "resume": "PUT /v1.0/iot-01/sim/enable ",
    },
    answers={"token": done({"access_token": "t0ken.of~tuya", "expire_time": 7200})},
)
