"""1NCE: what is sent, and what its answers mean."""

import base64
import json
from dataclasses import replace
from typing import Any

import pytest

from scheduler.polling.states import ErrorClass as Is
from tests.scheduler.polling.carriers.dialects.one_nce import ONE_NCE, refusal
from tests.scheduler.polling.carriers.dialects.speech import CARD
from tests.scheduler.polling.carriers.scripted import ScriptedCarrier
from tests.scheduler.polling.carriers.speaking import WHO, answered, refused, sent

OUTCOMES: list[tuple[int, dict[str, str], Any, str, Is]] = [
    (400, {}, {"statusCode": 400, "errorCode": "AuthValidationError", "message": "No."}, "token", Is.AUTH),
    (401, {}, {"statusCode": 401, "errorCode": "AuthError", "message": "Not authorized"}, "token", Is.AUTH),
    (403, {}, b"", "token", Is.AUTH),
    (429, {"Retry_After": "60"}, {"message": "Too Many Requests"}, "token", Is.THROTTLED),
    (500, {}, refusal(1000, "InternalServerError"), "token", Is.SERVER),
    (200, {}, {"status_code": 200}, "token", Is.MALFORMED),
    (401, {}, {"message": "Unauthorized"}, "usage", Is.AUTH),
    # The same status means the credentials there, and here the card.
    (403, {}, b"", "usage", Is.CARD_NOT_OWNED),
    (403, {}, b"", "stop", Is.CARD_NOT_OWNED),
    (404, {}, refusal(1000, "NotFound"), "usage", Is.CARD_MISSING),
    (404, {}, b"", "card_status", Is.CARD_MISSING),
    (400, {}, refusal(1000, "BadRequest"), "usage", Is.MALFORMED),
    (409, {}, refusal(1000, "Conflict"), "stop", Is.STATE_FORBIDS),
    (422, {}, b"", "resume", Is.STATE_FORBIDS),  # the life of the card is over
    (429, {"Retry_After": "3"}, {"message": "Too Many Requests"}, "usage", Is.THROTTLED),
    (500, {}, refusal(1000, "InternalServerError"), "card_status", Is.SERVER),
    (504, {}, {"message": "Endpoint request timed out"}, "usage", Is.SERVER),
    (200, {}, {"status": "Hibernated"}, "card_status", Is.MALFORMED),
    (200, {}, {"volume": 3}, "usage", Is.MALFORMED),
    (200, {}, {"volume": 600, "total_volume": 500}, "usage", Is.MALFORMED),
    (200, {}, b"", "usage", Is.MALFORMED),
]


@pytest.mark.parametrize(("status", "headers", "document", "endpoint", "expected"), OUTCOMES)
def test_an_answer_has_one_meaning(
    scripted: ScriptedCarrier, status: int, headers: dict[str, str], document: Any, endpoint: str, expected: Is
) -> None:
    error = refused(ONE_NCE, scripted, endpoint, status, headers, document)

    assert error.error_class is expected
    assert error.retry_after == (float(headers["Retry_After"]) if headers else None)


def test_an_error_shows_the_word_of_either_of_the_carriers_envelopes(scripted: ScriptedCarrier) -> None:
    missing = refused(ONE_NCE, scripted, "usage", 404, {}, refusal(1000, "NotFound"))
    unknown = refused(ONE_NCE, scripted, "token", 401, {}, {"errorCode": "AuthError", "message": "Not authorized"})

    assert [(error.code, "“" in error.sentence) for error in (missing, unknown)] == [
        ("NotFound", True),
        ("AuthError", True),
    ]


def test_a_token_is_fetched_with_user_and_password_and_shown_afterwards(scripted: ScriptedCarrier) -> None:
    answered(ONE_NCE, scripted, "card_status", {"status": "Enabled"})

    token, status = scripted.asked
    kind, encoded = token.headers["authorization"].split()
    assert (kind, base64.b64decode(encoded).decode()) == ("Basic", f"{WHO.name}:{WHO.password}")
    assert json.loads(token.body) == {"grant_type": "client_credentials"}
    assert status.headers["authorization"] == "Bearer t0ken.of~1nce"


def test_used_is_what_is_not_left_of_the_quota_of_1024s(scripted: ScriptedCarrier) -> None:
    usage = answered(ONE_NCE, scripted, "usage", {"volume": 435.787951, "total_volume": 500})

    assert usage.columns == {"used_bytes": round((500 - 435.787951) * 1024 * 1024), "allowance_bytes": 524_288_000}


def test_what_is_used_beyond_the_quota_counts(scripted: ScriptedCarrier) -> None:
    assert answered(ONE_NCE, scripted, "usage", {"volume": -1, "total_volume": 500}).value == 501 * 1024 * 1024


def test_a_card_is_known_without_its_check_digit(scripted: ScriptedCarrier) -> None:
    answered(ONE_NCE, scripted, "card_status", {"status": "Disabled"})

    assert sent(scripted)[1][0] == f"GET /v1/sims/{CARD.iccid[:-1]}"


@pytest.mark.parametrize(("change", "status"), [("stop", "Disabled"), ("resume", "Enabled")])
def test_a_change_sets_the_status(scripted: ScriptedCarrier, change: str, status: str) -> None:
    answered(ONE_NCE, scripted, change, b"")

    line, body = sent(scripted)[1]
    assert (line, json.loads(body)) == (
        f"PUT /v1/sims/{CARD.iccid[:-1]}",
        {"iccid": CARD.iccid[:-1], "status": status},
    )


def test_accounts_that_were_moved_are_asked_by_version_2(scripted: ScriptedCarrier) -> None:
    lines = {name: line.replace("/v1/", "/v2/") for name, line in ONE_NCE.lines.items()}
    moved = replace(ONE_NCE, lines=lines)

    assert answered(moved, scripted, "card_status", {"status": "Enabled"}, version="v2").value == "active"
