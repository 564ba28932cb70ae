"""China Unicom: one call says everything of many cards."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from scheduler.polling.carriers.simulator import AccountPlan
from scheduler.polling.carriers.simulator.cards import ACTIVE, STOCK, STOPPED, TESTING, VERIFIED
from scheduler.polling.carriers.simulator.carrier import Asked
from tests.scheduler.polling.carriers.dialects.speech import Speech, Translation, simulated

STATUSES = {ACTIVE: "2", STOPPED: "3", TESTING: "0", STOCK: "7"}
CHANGES = {"2": "resume", "3": "stop"}


def by_sm3(asked: Mapping[str, Any], secret: str) -> str:
    text = f"app_id{asked['app_id']}timestamp{asked['timestamp']}trans_id{asked['trans_id']}{secret}"
    return hashlib.new("sm3", text.encode()).hexdigest()


def by_sha256(asked: Mapping[str, Any], secret: str) -> str:
    text = f"{asked['app_id']}{asked['timestamp']}{asked['trans_id']}{secret}"
    return hashlib.sha256(text.encode()).hexdigest()


def done(**data: Any) -> dict[str, Any]:
    return {"status": "0000", "message": "", "data": {"resultCode": "0000", "version": "1.0", **data}}


def refusal(code: str, text: str) -> dict[str, Any]:
    return {"status": "0000", "message": "success", "data": {"resultCode": code, "resultDesc": text}}


def refused_by_the_gateway(code: str, text: str) -> dict[str, Any]:
    return {"status": code, "message": text, "data": None}


class Unicom(Translation):
    refusals = {
        "auth": (401, refused_by_the_gateway("0401", "token错误")),
        "throttle": (429, None),
        "missing": (404, None),
        "state": (200, refusal("1193", "SIM卡已是目标状态")),
    }

    async def asked(self, request: web.BaseRequest, account: str, parts: Sequence[str]) -> Asked | None:
        body = json.loads(await request.read())
        plan, data = AccountPlan(account), body["data"]
        good = body["app_id"] == account and body["token"] == by_sm3(body, plan.password)
        good &= re.fullmatch(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d \d{3}", body["timestamp"]) is not None
        good &= re.fullmatch(r"20\d{12}\d{3}\d{6}", body["trans_id"]) is not None and data["openId"] == "open-1"
        shown = plan.key if good else ""
        match parts:
            case ["wsGetTerminalDetails", "V1", "1Main", "vV1.1"]:
                return Asked("status", shown=shown, body=json.dumps({"iccids": data["iccids"]}).encode())
            case ["wsEditTerminal", "V1", "1Main", "vV1.1"] if data["changeType"] == "3":
                return Asked(CHANGES[data["targetValue"]], data["iccid"], shown)
        return None

    def done(self, asked: Asked, data: Mapping[str, Any]) -> tuple[int, Any]:
        if asked.iccid:
            return 200, done(iccid=asked.iccid, effectiveDate="")
        return 200, done(terminals=[_terminal(part["iccid"], part["status"]) for part in data["cards"]])


def _terminal(iccid: str, status: str) -> dict[str, str]:
    card = simulated(iccid)
    return {
        "iccid": iccid,
        "simStatus": STATUSES[status],
        "realNameStatus": "2" if card.real_name == VERIFIED else "1",
        "monthToDateDataUsage": str(card.used_kb / 1024),
        "ratePlan": card.package,
    }


_DETAILS = "POST /wsGetTerminalDetails/V1/1Main/vV1.1 "
UNICOM = Speech(
    kind="unicom",
    dialect=Unicom(),
    credentials=lambda plan: {"app_id": plan.name, "app_secret": plan.password, "open_id": "open-1"},
    lines=dict.fromkeys(("card_status", "usage", "real_name", "package"), _DETAILS)
    | dict.fromkeys(("stop", "resume"), "POST /wsEditTerminal/V1/1Main/vV1.1 "),
    many={"card_status": 50, "usage": 50, "real_name": 50, "package": 50},
)
