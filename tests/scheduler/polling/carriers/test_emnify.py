"""emnify: what is sent, and what its answers mean."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from scheduler.polling.carriers.base import Gateway
from scheduler.polling.states import ErrorClass as Is
from tests.scheduler.polling.carriers.dialects.emnify import EMNIFY, refusal, stats
from tests.scheduler.polling.carriers.dialects.speech import CARD
from tests.scheduler.polling.carriers.scripted import Asked, ScriptedCarrier, reply
from tests.scheduler.polling.carriers.speaking import WHO, answered, asked_of_script, refused, sent

FOUND = {"id": 7001, "iccid": CARD.iccid19}
SEARCH = f"GET /sim?q=iccid%3A{CARD.iccid19}"

OUTCOMES: list[tuple[int, dict[str, str], Any, str, Is, float | None]] = [
    (401, {}, b"", "token", Is.AUTH, None),
    (404, {}, refusal(1000, "NotFound"), "token", Is.AUTH, None),
    # Locked out for five minutes, though the status is that of bad credentials.
    (401, {}, refusal(1200, "TooManyRequests"), "token", Is.THROTTLED, 300),
    (429, {"Retry_After": "20"}, refusal(1200, "TooManyRequests"), "token", Is.THROTTLED, 20),
    (200, {}, {"mfa_token": "m"}, "token", Is.MALFORMED, None),
    (429, {}, refusal(1200, "TooManyRequests"), "usage", Is.THROTTLED, None),
    (429, {}, b"", "card_status", Is.THROTTLED, None),
    (401, {}, refusal(1100, "Unauthorized"), "usage", Is.AUTH, None),
    (404, {}, refusal(1000, "NotFound"), "usage", Is.CARD_MISSING, None),
    # A search that is not there is the address, and an empty one the card.
    (404, {}, refusal(1000, "NotFound"), "card_status", Is.MALFORMED, None),
    (404, {}, refusal(1000, "NotFound"), "lookup", Is.MALFORMED, None),
    (200, {}, [], "card_status", Is.CARD_MISSING, None),
    (200, {}, [], "lookup", Is.CARD_MISSING, None),
    (200, {}, [{"id": 1, "iccid": "8988303000000000000"}], "lookup", Is.CARD_MISSING, None),
    (200, {}, [{"iccid": CARD.iccid19}], "lookup", Is.MALFORMED, None),
    (200, {}, {"sims": []}, "card_status", Is.MALFORMED, None),
    (200, {}, [FOUND | {"status": {"id": 9}}], "card_status", Is.MALFORMED, None),
    (400, {}, refusal(1300, "ValidationError"), "stop", Is.STATE_FORBIDS, None),
    (400, {}, refusal(1300, "ValidationError"), "usage", Is.MALFORMED, None),
    (422, {}, b"", "resume", Is.STATE_FORBIDS, None),
    (503, {}, b"<html>", "usage", Is.SERVER, None),
    (200, {}, {}, "usage", Is.MALFORMED, None),
    (200, {}, [], "usage", Is.MALFORMED, None),
]


@pytest.mark.parametrize(("status", "headers", "document", "endpoint", "expected", "wait"), OUTCOMES)
def test_an_answer_has_one_meaning(
    scripted: ScriptedCarrier,
    status: int,
    headers: dict[str, str],
    document: Any,
    endpoint: str,
    expected: Is,
    wait: float | None,
) -> None:
    error = refused(EMNIFY, scripted, endpoint, status, headers, document)

    assert (error.error_class, error.retry_after) == (expected, wait)


def test_a_token_is_fetched_for_the_application_and_shown_afterwards(scripted: ScriptedCarrier) -> None:
    answered(EMNIFY, scripted, "card_status", [FOUND | {"status": {"id": 1}}])

    token, status = scripted.asked
    assert json.loads(token.body) == {"application_token": WHO.password}
    assert "authorization" not in token.headers
    assert status.headers["authorization"] == "Bearer t0ken.of~emnify"


@pytest.mark.parametrize(
    ("number", "state"), [(0, "ready"), (1, "active"), (2, "stopped"), (3, "cancelled"), (4, "testing")]
)
def test_the_state_is_a_number(scripted: ScriptedCarrier, number: int, state: str) -> None:
    assert answered(EMNIFY, scripted, "card_status", [FOUND | {"status": {"id": number}}]).value == state


@pytest.mark.parametrize("as_list", [False, True])
def test_usage_is_in_megabytes_of_1000s_and_as_of_its_last_update(scripted: ScriptedCarrier, as_list: bool) -> None:
    document = stats(29_166_235, "2026-11-30T02:56:25.000Z")

    usage = answered(EMNIFY, scripted, "usage", [document] if as_list else document)

    assert (usage.value, usage.as_of) == (29_166_235, datetime(2026, 11, 30, 2, 56, 25, tzinfo=UTC))


@pytest.mark.parametrize("last_hour", [{"data": {}}, None])
def test_a_month_that_is_left_out_had_no_traffic(scripted: ScriptedCarrier, last_hour: Any) -> None:
    assert answered(EMNIFY, scripted, "usage", {"last_hour": last_hour}).value == 0


@pytest.mark.parametrize(("change", "number"), [("stop", 2), ("resume", 1)])
def test_a_change_sets_the_status_of_the_carriers_own_number(
    scripted: ScriptedCarrier, change: str, number: int
) -> None:
    answered(EMNIFY, scripted, change, b"", status=204)

    assert [line for line, _ in sent(scripted)] == ["POST /authenticate", SEARCH, "PATCH /sim/7001"]
    assert json.loads(sent(scripted)[-1][1]) == {"status": {"id": number}}


# --- the carrier's own numbers ---------------------------------------------------------------------------------


def test_a_number_is_looked_up_once(scripted: ScriptedCarrier) -> None:
    scripted.answer = EMNIFY.script("usage", lambda asked: reply(json.dumps(stats(1, "2026-11-30T00:00:00Z")).encode()))

    async def ask_twice(gateway: Gateway) -> None:
        await gateway.usage(CARD)
        await gateway.usage(CARD)

    asked_of_script(EMNIFY, scripted, ask_twice)

    assert [line for line, _ in sent(scripted)].count(SEARCH) == 1


def test_a_number_that_was_just_looked_up_and_is_unknown_is_not_looked_up_again(scripted: ScriptedCarrier) -> None:
    assert refused(EMNIFY, scripted, "stop", 404, {}, b"").error_class is Is.CARD_MISSING

    assert [line for line, _ in sent(scripted)] == ["POST /authenticate", SEARCH, "PATCH /sim/7001"]


def test_a_number_that_the_carrier_does_not_know_any_more_is_looked_up_anew(scripted: ScriptedCarrier) -> None:
    numbers, unknown = iter([7001, 8002]), set[str]()

    def answer(asked: Asked) -> bytes:
        if asked.line.startswith("POST"):
            return reply(b'{"auth_token": "t"}')
        if asked.line.startswith(SEARCH):
            return reply(json.dumps([FOUND | {"id": next(numbers)}]).encode())
        return reply(b"", 404 if asked.line.split()[1] in unknown else 204)

    async def stop_and_resume(gateway: Gateway) -> None:
        await gateway.stop(CARD)
        unknown.add("/sim/7001")
        await gateway.resume(CARD)

    scripted.answer = answer

    asked_of_script(EMNIFY, scripted, stop_and_resume)

    changes = ["PATCH /sim/7001", "PATCH /sim/7001", SEARCH, "PATCH /sim/8002"]
    assert [line for line, _ in sent(scripted)] == ["POST /authenticate", SEARCH, *changes]
