"""China Mobile OneLink: everything is a 200, and each token ends the one before."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from scheduler.polling.carriers.simulator.cards import ACTIVE, STOCK, STOPPED, TESTING, VERIFIED
from scheduler.polling.carriers.simulator.carrier import TOKEN, Asked
from tests.scheduler.polling.carriers.dialects.speech import Speech, Translation

STATUSES = {ACTIVE: "2", STOPPED: "4", TESTING: "6", STOCK: "7"}
QUERIES = {
    "sim-status": "status",
    "sim-data-usage": "usage",
    "sim-real-name-status": "real-name",
    "sim-data-margin": "package",
}
CHANGES = {"0": "stop", "1": "resume"}


def refusal(code: str, message: str) -> dict[str, Any]:
    return {"status": code, "message": message, "result": []}


def done(*result: Any) -> dict[str, Any]:
    return {"status": "0", "message": "正确", "result": list(result)}


class OneLink(Translation):
    refusals = {
        "auth": (200, refusal("12004", "appid transid token 鉴权不通过")),
        "token_expired": (200, refusal("12021", "TOKEN已过期")),
        "throttle": (429, None),
        "missing": (200, refusal("12010", "号码不存在")),
        "not_owned": (200, refusal("12009", "号码不属于该集团")),
        "state": (200, refusal("12089", "状态不允许")),
    }

    def __init__(self) -> None:
        self._latest: dict[str, str] = {}

    async def asked(self, request: web.BaseRequest, account: str, parts: Sequence[str]) -> Asked | None:
        body = json.loads(await request.read())
        if not re.fullmatch(rf"{account}20\d{{12}}\d{{8}}", body["transid"]):
            return None
        shown = body.get("token", "")
        if shown != self._latest.get(account):
            shown = "replaced by a later one"
        match parts:
            case ["ec", "get", "token"]:
                who = {"user": body["appid"], "password": body["password"]}
                return Asked(TOKEN, body=json.dumps(who).encode())
            case ["ec", "query", "sim-data-usage-monthly", "batch"] if re.fullmatch(r"20\d{4}", body["queryDate"]):
                iccids = {"iccids": body["iccids"].split("_")}
                return Asked("usage", shown=shown, body=json.dumps(iccids).encode())
            case ["ec", "query", what]:
                return Asked(QUERIES[what], body["iccid"], shown)
            case ["ec", "change", "sim-status"]:
                return Asked(CHANGES[body["operType"]], body["iccid"], shown)
        return None

    def done(self, asked: Asked, data: Mapping[str, Any]) -> tuple[int, Any]:
        match asked.endpoint:
            case "token":
                self._latest[json.loads(asked.body)["user"]] = data["access_token"]
                result: dict[str, Any] = {"token": data["access_token"], "ttl": data["expires_in"]}
            case "status":
                result = {"cardStatus": STATUSES[data["status"]], "lastChangeDate": "2026-01-01 00:00:00"}
            case "usage" if asked.iccid:
                result = {"dataAmount": str(data["used"])}
            case "usage":
                parts = [{"iccid": part["iccid"], "dataAmount": str(part["used"])} for part in data["cards"]]
                result = {"dataAmountList": parts}
            case "real-name":
                result = {"realNameStatus": "1" if data["real_name"] == VERIFIED else "0"}
            case "package":
                total = str(data["allowance"] * 1024)
                result = {"accmMarginList": [{"offeringName": data["package"], "totalAmount": total}]}
            case _:
                result = {"iccid": asked.iccid}
        return 200, done(result)


ONELINK = Speech(
    kind="onelink",
    dialect=OneLink(),
    credentials=lambda plan: {"appid": plan.name, "password": plan.password},
    lines={
        "token": "POST /ec/get/token ",
        "card_status": "POST /ec/query/sim-status ",
        "usage": "POST /ec/query/sim-data-usage ",
        "real_name": "POST /ec/query/sim-real-name-status ",
        "package": "POST /ec/query/sim-data-margin ",
        "stop": "POST /ec/change/sim-status ",
        "resume": "POST /ec/change/sim-status ",
    },
    answers={"token": done({"token": "t0ken.of~onelink", "ttl": 7200})},
    many={"usage": 100},
)
