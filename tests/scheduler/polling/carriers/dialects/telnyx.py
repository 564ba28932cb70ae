"""Telnyx."""

from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from scheduler.polling.carriers.simulator.accounts import iccid_of
from scheduler.polling.carriers.simulator.cards import ACTIVE, STOPPED
from scheduler.polling.carriers.simulator.carrier import Asked
from tests.scheduler.polling.carriers.dialects.speech import CARD, Speech, Translation, simulated, used_bytes

STATUSES = {ACTIVE: "enabled", STOPPED: "disabled"}
ACTIONS = {"enable": "resume", "disable": "stop", "set_standby": "stop"}


def refusal(code: str, title: str) -> dict[str, Any]:
    return {"errors": [{"code": code, "title": title, "detail": f"{title}."}]}


class Telnyx(Translation):
    refusals = {
        "auth": (401, refusal("10009", "Authentication failed")),
        "throttle": (429, refusal("10011", "Too many requests")),
        "missing": (404, refusal("10005", "Resource not found")),
        "state": (422, refusal("10015", "Bad Request")),
    }

    async def asked(self, request: web.BaseRequest, account: str, parts: Sequence[str]) -> Asked | None:
        shown = request.headers.get("Authorization", "").removeprefix("Bearer ")
        match request.method, parts:
            case "GET", ["sim_cards"]:
                return Asked("status", request.query["filter[iccid]"], shown)
            case "POST", ["sim_cards", number, "actions", action]:
                return Asked(ACTIONS[action], iccid_of(account, int(number.removeprefix("id-"))), shown)
        return None

    def done(self, asked: Asked, data: Mapping[str, Any]) -> tuple[int, Any]:
        if asked.endpoint != "status":
            return 202, {"data": {"record_type": "sim_card_action", "status": {"value": "in-progress"}}}
        similar = sim_card("0", f"{asked.iccid}0", "standby", 0, "none")
        number = str(int(asked.iccid[9:19]))
        found = sim_card(
            number, asked.iccid, STATUSES[data["status"]], used_bytes(asked.iccid), simulated(asked.iccid).package
        )
        return 200, {"data": [similar, found]}

    def refused(self, name: str, asked: Asked) -> tuple[int, Any]:
        searched = name == "missing" and asked.endpoint == "status"
        return (200, {"data": []}) if searched else super().refused(name, asked)


def sim_card(number: str, iccid: str, status: str, used: int, group: str) -> dict[str, Any]:
    return {
        "id": f"id-{number}",
        "iccid": iccid,
        "status": {"value": status},
        "current_billing_period_consumed_data": {"amount": str(used / 10**6), "unit": "MB"},
        "data_limit": {"amount": "2.0", "unit": "GB"},
        "sim_card_group_id": f"group-{number}",
        "sim_card_group": {"name": group},
    }


TELNYX = Speech(
    kind="telnyx",
    dialect=Telnyx(),
    credentials=lambda plan: {"key": plan.key},
    lines={
        "lookup": f"GET /sim_cards?filter%5Biccid%5D={CARD.iccid}&",
        "card_status": f"GET /sim_cards?filter%5Biccid%5D={CARD.iccid}&",
        "usage": f"GET /sim_cards?filter%5Biccid%5D={CARD.iccid}&",
        "package": f"GET /sim_cards?filter%5Biccid%5D={CARD.iccid}&",
        "stop": "POST /sim_cards/id-7/actions/disable ",
        "resume": "POST /sim_cards/id-7/actions/enable ",
    },
    answers={"lookup": {"data": [sim_card("7", CARD.iccid, "enabled", 0, "trucks")]}},
)
