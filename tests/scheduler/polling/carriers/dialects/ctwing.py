"""China Telecom's CMP: numbers in one body, signatures in headers, and XML for changes."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from aiohttp import web

from scheduler.polling.carriers.simulator import AccountPlan
from scheduler.polling.carriers.simulator.accounts import iccid_of
from scheduler.polling.carriers.simulator.cards import ACTIVE, STOCK, STOPPED, TESTING, VERIFIED
from scheduler.polling.carriers.simulator.carrier import CHANGES, Asked
from scheduler.polling.carriers.simulator.replies import Reply
from tests.scheduler.polling.carriers.dialects.speech import CARD, Speech, Translation
from tests.scheduler.polling.carriers.gateways import MSISDNS

STATUSES = {ACTIVE: "4", STOPPED: "5", TESTING: "2", STOCK: "1"}
ORDERS = {"19": "stop", "20": "resume"}
LISTS = {
    "/api/v1/prod/batchQrySimInfo": ("status", "accessNumbers"),
    "/api/v1/batchQry/batchQryFlowByMonth": ("usage", "accessNumber"),
    "/api/v1/realName/qryRealNameStatus": ("real-name", "accessNumber"),
}


def signature(query: str, body: bytes, secret: str, timestamp: str) -> str:
    """Return what the carrier's description says: the digits of the MD5 in hexadecimal, each as its ASCII code."""
    ordered = "&".join(sorted(query.split("&")))
    digits = hashlib.md5(ordered.encode() + body + secret.encode() + timestamp.encode()).hexdigest()  # noqa: S324
    return "".join(f"{ord(digit):02X}" for digit in digits)


def refusal(code: str, message: str) -> dict[str, Any]:
    return {"code": code, "msg": message, "data": None}


def xml(code: str, text: str) -> bytes:
    inner = f"<RspType>{code[:1]}</RspType><RspCode>{code}</RspCode><RspDesc>{text}</RspDesc>"
    return f'<?xml version="1.0" encoding="UTF-8"?><SvcCont><Response>{inner}</Response></SvcCont>'.encode()


class CtWing(Translation):
    refusals = {
        "auth": (401, None),
        "throttle": (429, None),
        "missing": (404, None),
        "not_owned": (200, refusal("-1", "无权限（请检查做业务的卡是否属于本账号）")),
    }

    async def asked(self, request: web.BaseRequest, account: str, parts: Sequence[str]) -> Asked | None:
        body, headers = await request.read(), request.headers
        plan = AccountPlan(account)
        sign = signature(request.query_string, body, plan.password, headers["Timestamp"])
        good = headers["AppKey"] == account and sign == headers["Sign"] and len(sign) == 64
        path, shown = "/" + "/".join(parts), plan.key if good else ""
        if path in LISTS:
            endpoint, name = LISTS[path]
            iccids = [iccid_of(account, number - MSISDNS) for number in map(int, json.loads(body)[name])]
            return Asked(endpoint, shown=shown, body=json.dumps({"iccids": iccids}).encode())
        iccid = iccid_of(account, int(request.query["access_number"]) - MSISDNS)
        if path == "/openapi/v1/prodinst/queryCardMainStatus":
            return Asked("status", iccid, shown)
        if path == "/5gcmp/openapi/v1/common/disabledNumberService" and request.query["acctCd"] == "":
            return Asked(ORDERS[request.query["orderTypeId"]], iccid, shown)
        return None

    def done(self, asked: Asked, data: Mapping[str, Any]) -> tuple[int, Any]:
        if asked.iccid:
            product = {"productMainStatusCd": STATUSES.get(data.get("status", ""), "")}
            return 200, {"result": "0", "resultMsg": "处理成功", "productInfo": [product]}
        parts = [_part(asked.endpoint, part) for part in data["cards"]]
        names = {"status": "qrySimInfoList", "real-name": "statusList"}
        listed = {names[asked.endpoint]: parts} if asked.endpoint in names else parts
        return 200, {"code": 0, "msg": "查询成功", "data": listed}

    def written(self, reply: Reply, asked: Asked) -> Reply:
        if asked.endpoint in CHANGES and reply.name == "ok":
            return replace(reply, status=200, body=xml("0000", "成功"), content_type="application/xml")
        return super().written(reply, asked)


def _part(endpoint: str, part: Mapping[str, Any]) -> dict[str, str]:
    number = {"accessNumber": str(MSISDNS + int(part["iccid"][9:19]))}
    match endpoint:
        case "usage":
            amount = {"flowAmount": str(part["used"] / 1024), "unit": "MB", "month": "202611"}
            return number | amount | {"result": "1", "status": "0", "statusDesc": "查询成功"}
        case "real-name":
            return number | {"status": "1" if part["real_name"] == VERIFIED else "0"}
    return number | {"result": "0", "simStatus": STATUSES[part["status"]], "mainOfferName": "data-1gb"}


_STATUS = f"GET /openapi/v1/prodinst/queryCardMainStatus?access_number={CARD.msisdn} "
_CHANGE = f"GET /5gcmp/openapi/v1/common/disabledNumberService?access_number={CARD.msisdn}&acctCd=&orderTypeId="
CTWING = Speech(
    kind="ctwing",
    dialect=CtWing(),
    credentials=lambda plan: {"app_key": plan.name, "secret_key": plan.password},
    lines={
        "card_status": _STATUS,
        "usage": "POST /api/v1/batchQry/batchQryFlowByMonth ",
        "real_name": "POST /api/v1/realName/qryRealNameStatus ",
        "package": "POST /api/v1/prod/batchQrySimInfo ",
        "stop": _CHANGE,
        "resume": _CHANGE,
    },
    settings={"cust_number": "cust-1"},
    many={"card_status": 100, "usage": 100, "real_name": 100, "package": 100},
)
