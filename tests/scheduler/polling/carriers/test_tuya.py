"""Tuya's IoT SIM cards: what is sent, and what its answers mean."""

import hashlib
import hmac
import json
from typing import Any

import pytest

from scheduler.polling.states import ErrorClass as Is
from tests.scheduler.polling.carriers.dialects.speech import CARD
from tests.scheduler.polling.carriers.dialects.tuya import TUYA, done, refusal
from tests.scheduler.polling.carriers.scripted import ScriptedCarrier
from tests.scheduler.polling.carriers.speaking import WHO, answered, refused

OUTCOMES: list[tuple[int, dict[str, str], Any, str, Is]] = [
    (200, {}, refusal(1004, "sign invalid"), "usage", Is.AUTH),
    (200, {}, refusal(1001, "secret invalid"), "token", Is.AUTH),
    (200, {}, refusal(1005, "clientId invalid"), "token", Is.AUTH),
    (200, {}, refusal(1013, "request time is invalid"), "usage", Is.AUTH),
    (200, {}, refusal(28841101, "No permissions. This API is not subscribed."), "usage", Is.AUTH),
    (200, {}, refusal(28841002, "No permissions. Your subscription has expired."), "usage", Is.AUTH),
    (200, {}, refusal(1010, "token is expired"), "usage", Is.TOKEN_EXPIRED),
    (200, {}, refusal(1011, "token invalid"), "stop", Is.TOKEN_EXPIRED),
    (200, {}, refusal(1106, "permission deny"), "card_status", Is.CARD_NOT_OWNED),
    (200, {}, refusal(1000, "data not exist"), "usage", Is.CARD_MISSING),
    (200, {}, refusal(1110, "concurrent request over limit"), "usage", Is.THROTTLED),
    (429, {"Retry_After": "5"}, b"", "usage", Is.THROTTLED),
    (200, {}, refusal(500, "system error, please contact the admin"), "usage", Is.SERVER),
    (200, {}, refusal(1111, "system is busy"), "usage", Is.SERVER),
    (502, {}, b"<html>", "usage", Is.SERVER),
    (200, {}, refusal(1109, "param is illegal"), "usage", Is.MALFORMED),
    # No code, and yet no success: at changes it is the card, elsewhere nobody knows.
    (200, {}, done(False), "stop", Is.STATE_FORBIDS),
    (200, {}, {"success": False}, "resume", Is.STATE_FORBIDS),
    (200, {}, {"success": False}, "usage", Is.MALFORMED),
    (200, {}, done({"status": 7}), "card_status", Is.MALFORMED),
    (200, {}, done([{"unit": "COUNT", "traffic_used": 3}]), "usage", Is.MALFORMED),
    (200, {}, done({}), "token", Is.MALFORMED),
]


@pytest.mark.parametrize(("status", "headers", "document", "endpoint", "expected"), OUTCOMES)
def test_an_answer_has_one_meaning(
    scripted: ScriptedCarrier, status: int, headers: dict[str, str], document: Any, endpoint: str, expected: Is
) -> None:
    assert refused(TUYA, scripted, endpoint, status, headers, document).error_class is expected


def plan(used: float, usable: float, unit: str = "MB") -> dict[str, Any]:
    return {"type": "TRAFFIC", "unit": unit, "traffic_used": used, "traffic_usable": usable}


@pytest.mark.parametrize(
    ("plans", "columns"),
    [
        ([plan(2, 10)], {"used_bytes": 2 * 1024**2, "allowance_bytes": 10 * 1024**2}),
        ([plan(0, 10), plan(1.5, 1)], {"used_bytes": 1536 * 1024, "allowance_bytes": 11 * 1024**2}),
        ([plan(3, 4), plan(7, 9, "COUNT")], {"used_bytes": 3 * 1024**2, "allowance_bytes": 4 * 1024**2}),
        ([], {"used_bytes": 0}),
    ],
)
def test_usage_is_the_sum_of_the_plans_that_count_data(scripted: ScriptedCarrier, plans: Any, columns: Any) -> None:
    assert answered(TUYA, scripted, "usage", done(plans)).columns == columns


def test_amounts_can_be_said_to_be_in_kb(scripted: ScriptedCarrier) -> None:
    assert answered(TUYA, scripted, "usage", done([plan(5000, 10000)]), unit="KB").value == 5000 * 1024


@pytest.mark.parametrize(("plans", "name"), [([{"package_name": "10 MB/Month"}], "10 MB/Month"), ([], "none")])
def test_a_card_without_a_plan_has_none(scripted: ScriptedCarrier, plans: Any, name: str) -> None:
    assert answered(TUYA, scripted, "package", done(plans)).value == name


@pytest.mark.parametrize(("word", "state"), [(0, "ready"), (1, "active"), (2, "stopped")])
def test_states_have_their_words(scripted: ScriptedCarrier, word: int, state: str) -> None:
    assert answered(TUYA, scripted, "card_status", done({"status": word})).value == state


def test_every_request_is_signed_as_the_description_says(scripted: ScriptedCarrier) -> None:
    answered(TUYA, scripted, "stop", done(True))

    token, stop = scripted.asked
    assert json.loads(stop.body) == {"iccid": CARD.iccid, "operate_type": "MANAGE_STOP"}
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    signed = [
        (token, "", f"GET\n{empty}\n\n/v1.0/token?grant_type=1"),
        (stop, "t0ken.of~tuya", f"PUT\n{hashlib.sha256(stop.body).hexdigest()}\n\n/v1.0/iot-01/sim/enable"),
    ]
    for asked, shown, text in signed:
        headers = asked.headers
        message = f"{WHO.name}{shown}{headers['t']}{headers['nonce']}{text}"
        assert headers["sign"] == hmac.digest(WHO.password.encode(), message.encode(), "sha256").hex().upper()
        assert headers.get("access_token", "") == shown
        assert (headers["client_id"], headers["sign_method"], len(headers["t"])) == (WHO.name, "HMAC-SHA256", 13)
    assert token.headers["nonce"] != stop.headers["nonce"]
