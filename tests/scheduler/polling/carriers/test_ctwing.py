"""China Telecom's CMP: what is sent, and what its answers mean, in whichever form they come."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import SecretStr

from scheduler.polling.carriers import ctwing
from scheduler.polling.carriers.ctwing import CtWingAnswer, CtWingCredentials
from scheduler.polling.carriers.http_json.drafts import Draft
from scheduler.polling.states import ErrorClass as Is
from tests.scheduler.polling.carriers.dialects.ctwing import CTWING, refusal, signature, xml
from tests.scheduler.polling.carriers.dialects.speech import CARD
from tests.scheduler.polling.carriers.scripted import ScriptedCarrier
from tests.scheduler.polling.carriers.speaking import WHO, answered, refused

NUMBER = {"accessNumber": CARD.msisdn}


def flow(**part: str) -> dict[str, Any]:
    return {"code": 0, "msg": "查询成功", "data": [NUMBER | {"result": "1", "unit": "MB", "status": "0"} | part]}


def main_status(code: str) -> dict[str, Any]:
    return {"result": "0", "resultMsg": "处理成功", "productInfo": [{"productMainStatusCd": code}]}


OUTCOMES: list[tuple[int, dict[str, str], Any, str, Is]] = [
    (401, {}, b"", "usage", Is.AUTH),
    (403, {}, {"code": "403", "msg": "签名错误"}, "real_name", Is.AUTH),
    (429, {"Retry_After": "5"}, b"", "usage", Is.THROTTLED),
    (500, {}, b"<html><body>Error</body></html>", "usage", Is.SERVER),
    (200, {}, refusal("-1", "无权限（请检查做业务的卡是否属于本账号）"), "usage", Is.CARD_NOT_OWNED),
    (200, {}, "-1：无权限（请检查做业务的卡是否属于本账号）".encode(), "card_status", Is.CARD_NOT_OWNED),
    (200, {}, xml("-9", "不能重复订购"), "stop", Is.STATE_FORBIDS),
    (200, {}, b"100008 not activated", "resume", Is.STATE_FORBIDS),
    (200, {}, b"<root><RESULT>100008</RESULT><SMSG>no</SMSG></root>", "resume", Is.STATE_FORBIDS),
    (200, {}, b"100008", "resume", Is.STATE_FORBIDS),
    (200, {}, b"[100008]", "resume", Is.MALFORMED),
    (200, {}, b"100008", "usage", Is.MALFORMED),  # at another endpoint nobody knows what it means
    (200, {}, xml("7777", "?"), "stop", Is.MALFORMED),
    (200, {}, xml("0000", "ok").replace(b"</SvcCont>", b""), "stop", Is.MALFORMED),
    (200, {}, b'<!DOCTYPE x [<!ENTITY a "b">]><x><RspCode>0000</RspCode></x>', "stop", Is.MALFORMED),
    (200, {}, b"certainly", "stop", Is.MALFORMED),
    (200, {}, {"result": "0", "resultMsg": "ok", "productInfo": []}, "card_status", Is.MALFORMED),
    (200, {}, main_status("12"), "card_status", Is.MALFORMED),
    (200, {}, {"result": "5", "resultMsg": "系统繁忙"}, "card_status", Is.MALFORMED),
    (200, {}, {"code": 0, "msg": "查询成功", "data": []}, "usage", Is.CARD_MISSING),
    (200, {}, flow(status="1", statusDesc="失败"), "usage", Is.MALFORMED),
    (200, {}, flow(flowAmount="1", unit="Mbit"), "usage", Is.MALFORMED),
]


@pytest.mark.parametrize(("status", "headers", "document", "endpoint", "expected"), OUTCOMES)
def test_an_answer_has_one_meaning(
    scripted: ScriptedCarrier, status: int, headers: dict[str, str], document: Any, endpoint: str, expected: Is
) -> None:
    assert refused(CTWING, scripted, endpoint, status, headers, document).error_class is expected


@pytest.mark.parametrize(
    "body",
    [
        xml("0000", "成功"),
        b"<Root xmlns='urn:x'><RESULT>0</RESULT><SMSG>ok</SMSG></Root>",
        b'{"resultCode": "0", "code": "0"}',
        b"<r><RspCode><![CDATA[0000]]></RspCode><!-- done --></r>",
        b"0000",
        b"0",
        "0：成功".encode(),
    ],
)
def test_a_change_is_accepted_in_every_form_of_answer(scripted: ScriptedCarrier, body: bytes) -> None:
    assert answered(CTWING, scripted, "stop", body) is None


def test_an_answer_in_the_charset_of_china_is_read() -> None:
    text = '<?xml version="1.0" encoding="GBK"?><r><RspDesc>成功</RspDesc></r>'

    assert CtWingAnswer(200, {}, text.encode("gbk"), "gbk").document == {"rspdesc": "成功"}


@pytest.mark.parametrize(
    ("word", "state"),
    [("1", "ready"), ("2", "testing"), ("3", "testing"), ("4", "active"), ("5", "stopped"), ("6", "unknown"),
     ("7", "cancelled")],
)  # fmt: skip
def test_states_have_their_words(scripted: ScriptedCarrier, word: str, state: str) -> None:
    assert answered(CTWING, scripted, "card_status", main_status(word)).value == state


@pytest.mark.parametrize(
    ("amount", "unit", "used"), [("42118.59", "MB", 44_164_542_628), ("3", "KB", 3072), ("1", "", 1024**2)]
)
def test_usage_is_in_the_unit_that_the_answer_names(
    scripted: ScriptedCarrier, amount: str, unit: str, used: int
) -> None:
    assert answered(CTWING, scripted, "usage", flow(flowAmount=amount, unit=unit)).value == used


def test_who_asks_is_shown_and_the_request_signed(scripted: ScriptedCarrier) -> None:
    answered(CTWING, scripted, "usage", flow(flowAmount="1"))
    answered(CTWING, scripted, "resume", xml("0000", "成功"))

    usage, resume = scripted.asked
    assert json.loads(usage.body) == {"custNumber": "cust-1", "accessNumber": [CARD.msisdn]}
    for asked in (usage, resume):
        query = asked.line.split()[1].partition("?")[2]
        assert asked.headers["appkey"] == WHO.name
        assert asked.headers["sign"] == signature(query, asked.body, WHO.password, asked.headers["timestamp"])
    assert resume.line.split()[1].endswith(f"access_number={CARD.msisdn}&acctCd=&orderTypeId=20")


def test_the_signature_is_that_of_the_carriers_own_example(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctwing, "now_in", lambda zone: datetime(2020, 11, 1, 2, 14, 35, tzinfo=UTC))
    credentials = CtWingCredentials(app_key="my-app-key", secret_key=SecretStr("d1209cfefe895364e03"))
    body = b'{"name":"xf","age":"dd"}'
    drafted = Draft("usage", "POST", "/openapi/v1/prodinst/getSIMAmount", {"c": "3", "a": "1", "b": "2"}, {}, body)

    signed = ctwing._with_signature(credentials, drafted)

    assert signed.headers == {
        "AppKey": "my-app-key",
        "Timestamp": "20201101021435",
        "Sign": "3863613035653132306631333231313733383637376333326536316631643934",
    }
