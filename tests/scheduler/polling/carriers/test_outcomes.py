"""What answers mean: by status, code and endpoint."""

import json
from typing import Any

import pytest

from scheduler.polling.carriers.answers import Answer
from scheduler.polling.carriers.base import CarrierError
from scheduler.polling.carriers.documents import Expression
from scheduler.polling.carriers.judging import Aim, Codebook, Judge, Rules
from scheduler.polling.carriers.secrecy import Secrets
from scheduler.polling.states import ErrorClass as Is

# A carrier in the style of OneLink: 200 for everything, and 12010 with two meanings.
ONELINK = Codebook(
    code=Expression("status"),
    message=Expression("message"),
    success=frozenset({"0"}),
    general=Rules(
        codes={
            "12004": Is.AUTH,
            "12009": Is.CARD_NOT_OWNED,
            "12010": Is.CARD_MISSING,
            "12021": Is.TOKEN_EXPIRED,
            "12022": Is.AUTH,
            "12089": Is.STATE_FORBIDS,
            "12090": Is.COOLDOWN,
            "12100": Is.QUOTA_EXHAUSTED,
            "42000": Is.THROTTLED,
            "20": Is.PENDING,
        }
    ),
    endpoints={"stop": Rules(codes={"12010": Is.COOLDOWN}, statuses={202: Is.PENDING})},
)
# A carrier in the style of Control Center: statuses, with codes that say more.
JASPER = Codebook(
    code=Expression("errorCode"),
    message=Expression("errorMessage"),
    general=Rules(
        codes={
            "10000001": Is.AUTH,
            "20000001": Is.CARD_MISSING,
            "30000001": Is.SERVER,
            "40000029": Is.THROTTLED,
        },
        statuses={403: Is.CARD_NOT_OWNED},
    ),
)
# One of which nothing is known.
UNKNOWN = Codebook()

HTML = b"<html><body>Zugriff verweigert f\xfcr Sie</body></html>"
DATE = "Mon, 30 Nov 2026 02:00:00 GMT"
LATER = "Mon, 30 Nov 2026 02:05:00 GMT"

ROWS: list[tuple[Codebook, int, dict[str, str], Any, str, Is | None, float | None]] = [
    # success
    (UNKNOWN, 200, {}, {}, "usage", None, None),
    (UNKNOWN, 201, {}, {"code": "whatever"}, "usage", None, None),
    (UNKNOWN, 202, {}, {}, "stop", None, None),
    (UNKNOWN, 204, {}, b"", "stop", None, None),
    (ONELINK, 200, {}, {"status": "0"}, "usage", None, None),
    (ONELINK, 200, {}, {"status": 0}, "usage", None, None),
    (JASPER, 200, {}, {"iccid": "89"}, "usage", None, None),
    (JASPER, 200, {}, {"errorCode": None}, "usage", None, None),
    (JASPER, 200, {}, {"errorCode": ""}, "usage", None, None),
    # by the status alone
    (UNKNOWN, 300, {}, b"", "usage", Is.MALFORMED, None),
    (UNKNOWN, 301, {"location": "http://169.254.169.254/"}, b"", "usage", Is.MALFORMED, None),
    (UNKNOWN, 302, {}, b"", "usage", Is.MALFORMED, None),
    (UNKNOWN, 304, {}, b"", "usage", Is.MALFORMED, None),
    (UNKNOWN, 400, {}, {}, "usage", Is.MALFORMED, None),
    (UNKNOWN, 401, {}, {}, "usage", Is.AUTH, None),
    (UNKNOWN, 402, {}, {}, "usage", Is.QUOTA_EXHAUSTED, None),
    (UNKNOWN, 403, {}, HTML, "usage", Is.AUTH, None),
    (UNKNOWN, 404, {}, {}, "usage", Is.CARD_MISSING, None),
    (UNKNOWN, 405, {}, {}, "usage", Is.MALFORMED, None),
    (UNKNOWN, 408, {}, {}, "usage", Is.TIMEOUT, None),
    (UNKNOWN, 409, {}, {}, "stop", Is.STATE_FORBIDS, None),
    (UNKNOWN, 410, {}, {}, "usage", Is.CARD_MISSING, None),
    (UNKNOWN, 415, {}, {}, "usage", Is.MALFORMED, None),
    (UNKNOWN, 422, {}, {}, "usage", Is.MALFORMED, None),
    (UNKNOWN, 423, {}, {}, "resume", Is.STATE_FORBIDS, None),
    (UNKNOWN, 429, {}, {}, "usage", Is.THROTTLED, None),
    (UNKNOWN, 500, {}, HTML, "usage", Is.SERVER, None),
    (UNKNOWN, 501, {}, {}, "usage", Is.SERVER, None),
    (UNKNOWN, 502, {}, HTML, "usage", Is.SERVER, None),
    (UNKNOWN, 503, {"retry-after": "120"}, HTML, "usage", Is.SERVER, 120.0),
    (UNKNOWN, 504, {}, b"", "usage", Is.SERVER, None),
    (UNKNOWN, 599, {}, b"", "usage", Is.SERVER, None),
    # how long to wait
    (UNKNOWN, 429, {"retry-after": "0"}, {}, "usage", Is.THROTTLED, 0.0),
    (UNKNOWN, 429, {"retry-after": "1.5"}, {}, "usage", Is.THROTTLED, 1.5),
    (UNKNOWN, 429, {"retry-after": " 30 "}, {}, "usage", Is.THROTTLED, 30.0),
    (UNKNOWN, 429, {"retry-after": "99999999"}, {}, "usage", Is.THROTTLED, 31 * 86400.0),
    (UNKNOWN, 429, {"retry-after": "-5"}, {}, "usage", Is.THROTTLED, 0.0),
    (UNKNOWN, 429, {"retry-after": "soon"}, {}, "usage", Is.THROTTLED, None),
    (UNKNOWN, 429, {"retry-after": "inf"}, {}, "usage", Is.THROTTLED, None),
    (UNKNOWN, 429, {"retry-after": LATER, "date": DATE}, {}, "usage", Is.THROTTLED, 300.0),
    (UNKNOWN, 429, {"retry-after": DATE, "date": LATER}, {}, "usage", Is.THROTTLED, 0.0),
    (UNKNOWN, 429, {"retry-after": LATER}, {}, "usage", Is.THROTTLED, None),
    # by the code in a 200
    (ONELINK, 200, {}, {"status": "12004"}, "usage", Is.AUTH, None),
    (ONELINK, 200, {}, {"status": "12009"}, "usage", Is.CARD_NOT_OWNED, None),
    (ONELINK, 200, {}, {"status": 12021}, "usage", Is.TOKEN_EXPIRED, None),
    (ONELINK, 200, {}, {"status": "12089"}, "stop", Is.STATE_FORBIDS, None),
    (ONELINK, 200, {}, {"status": "12090"}, "stop", Is.COOLDOWN, None),
    (ONELINK, 200, {}, {"status": "12100"}, "usage", Is.QUOTA_EXHAUSTED, None),
    (ONELINK, 200, {"retry-after": "7"}, {"status": "42000"}, "usage", Is.THROTTLED, 7.0),
    (ONELINK, 200, {}, {"status": "20"}, "stop", Is.PENDING, None),
    # the same code means another thing at another endpoint
    (ONELINK, 200, {}, {"status": "12010"}, "usage", Is.CARD_MISSING, None),
    (ONELINK, 200, {}, {"status": "12010"}, "stop", Is.COOLDOWN, None),
    (ONELINK, 202, {}, {"status": "0"}, "stop", Is.PENDING, None),
    (ONELINK, 202, {}, {"status": "0"}, "resume", None, None),
    # codes and bodies that nobody expects
    (ONELINK, 200, {}, {"status": "99999"}, "usage", Is.MALFORMED, None),
    (ONELINK, 200, {}, {"status": True}, "usage", Is.MALFORMED, None),
    (ONELINK, 200, {}, {"status": {"deep": "0"}}, "usage", Is.MALFORMED, None),
    (ONELINK, 200, {}, {}, "usage", Is.MALFORMED, None),
    (ONELINK, 200, {}, [], "usage", Is.MALFORMED, None),
    (ONELINK, 200, {}, b"ok", "usage", Is.MALFORMED, None),
    (ONELINK, 200, {}, b"", "stop", Is.MALFORMED, None),
    (ONELINK, 200, {}, b'{"status": NaN}', "usage", Is.MALFORMED, None),
    (ONELINK, 200, {}, b"[" * 100_000, "usage", Is.MALFORMED, None),
    (ONELINK, 500, {}, b"100008", "usage", Is.SERVER, None),
    # the code counts for more than the status
    (JASPER, 401, {}, {"errorCode": "10000001"}, "usage", Is.AUTH, None),
    (JASPER, 404, {}, {"errorCode": "20000001"}, "usage", Is.CARD_MISSING, None),
    (JASPER, 400, {}, {"errorCode": "40000029"}, "usage", Is.THROTTLED, None),
    (JASPER, 500, {}, {"errorCode": "40000029"}, "usage", Is.THROTTLED, None),
    (JASPER, 400, {}, {"errorCode": "10000023"}, "usage", Is.MALFORMED, None),
    (JASPER, 200, {}, {"errorCode": "10000023"}, "usage", Is.MALFORMED, None),
    (JASPER, 403, {}, {}, "usage", Is.CARD_NOT_OWNED, None),
    (ONELINK, 503, {}, {"status": "12021"}, "usage", Is.TOKEN_EXPIRED, None),
    (ONELINK, 401, {}, {"status": "0"}, "usage", Is.AUTH, None),
]
# What is about no single card.
BY_AIM: list[tuple[Aim, int, Is]] = [
    (Aim.CARDS, 404, Is.MALFORMED),
    (Aim.CARDS, 410, Is.MALFORMED),
    (Aim.CARDS, 401, Is.AUTH),
    (Aim.TOKEN, 400, Is.AUTH),
    (Aim.TOKEN, 401, Is.AUTH),
    (Aim.TOKEN, 403, Is.AUTH),
    (Aim.TOKEN, 404, Is.AUTH),
    (Aim.TOKEN, 429, Is.THROTTLED),
    (Aim.TOKEN, 500, Is.SERVER),
]


def judged(codebook: Codebook, answer: Answer, endpoint: str, aim: Aim = Aim.CARD) -> CarrierError | None:
    try:
        Judge(codebook, "carrier.example", Secrets()).check(answer, endpoint, aim)
    except CarrierError as error:
        return error
    return None


@pytest.mark.parametrize(("codebook", "status", "headers", "body", "endpoint", "expected", "retry_after"), ROWS)
def test_an_answer_has_one_meaning(
    codebook: Codebook,
    status: int,
    headers: dict[str, str],
    body: Any,
    endpoint: str,
    expected: Is | None,
    retry_after: float | None,
) -> None:
    written = body if isinstance(body, bytes) else json.dumps(body).encode()

    error = judged(codebook, Answer(status, headers, written), endpoint)

    assert (error.error_class if error else None) is expected
    assert (error.retry_after if error else None) == retry_after


@pytest.mark.parametrize(("aim", "status", "expected"), BY_AIM)
def test_a_status_means_another_thing_where_no_single_card_was_asked_for(aim: Aim, status: int, expected: Is) -> None:
    error = judged(UNKNOWN, Answer(status), "usage", aim)

    assert error is not None
    assert error.error_class is expected


def test_the_table_has_its_rows() -> None:
    assert len(ROWS) >= 50
    assert {row[5] for row in ROWS if row[5]} >= set(Is) - {Is.NETWORK}


def test_the_error_names_host_status_code_and_what_the_carrier_wrote() -> None:
    body = json.dumps({"errorCode": "20000001", "errorMessage": "Invalid\n ICCID"}).encode()

    error = judged(JASPER, Answer(404, {}, body), "usage")

    assert error is not None
    assert error.sentence == ("carrier.example does not know the card (HTTP 404, code 20000001: “Invalid ICCID”).")
    assert error.code == "20000001"


def test_what_the_carrier_wrote_is_read_in_its_charset() -> None:
    body = '{"errorCode": "1", "errorMessage": "Zugriff verweigert für Sie"}'.encode("iso-8859-1")

    for charset in ("ISO-8859-1", "", "no-such-charset", "utf-8"):
        error = judged(JASPER, Answer(500, {}, body, charset), "usage")
        assert error is not None
        assert "für Sie" in error.sentence


@pytest.mark.parametrize(
    ("status", "code", "headers", "endpoint", "expected"),
    [
        (429, "1", {}, "usage", None),
        (429, "1", {"x-reset": "7"}, "usage", 7.0),
        (429, "1", {"x-reset": "soon"}, "usage", None),
        (429, "1", {"x-reset": "7", "retry-after": "9"}, "usage", 9.0),
        (500, "1", {"x-reset": "7"}, "usage", None),  # for who is throttled only, though each answer has it
        (429, "2", {}, "usage", 300.0),
        (429, "2", {}, "token", 600.0),
        (429, "2", {"x-reset": "7"}, "usage", 7.0),
    ],
)
def test_how_long_to_wait_is_said_by_a_header_or_known_of_the_code(
    status: int, code: str, headers: dict[str, str], endpoint: str, expected: float | None
) -> None:
    endpoints = {"token": Rules(waits={"2": 600})}
    codebook = Codebook(Expression("code"), general=Rules(waits={"2": 300}), endpoints=endpoints, wait_header="x-reset")

    error = judged(codebook, Answer(status, headers, json.dumps({"code": code}).encode()), endpoint)

    assert error is not None
    assert error.retry_after == expected


@pytest.mark.parametrize(
    ("codebook", "status", "body", "says"),
    [
        (UNKNOWN, 300, b"", "leads on to another address, which is not followed (HTTP 300)"),
        (UNKNOWN, 399, b"", "leads on to another address, which is not followed (HTTP 399)"),
        (UNKNOWN, 400, b"", "does not take the request (HTTP 400)"),
        (UNKNOWN, 405, b"", "does not take the request (HTTP 405)"),
        (JASPER, 400, b'{"errorMessage": "Bad size"}', "does not take the request (HTTP 400: “Bad size”)"),
        (JASPER, 500, b'{"errorCode": "30000001"}', "has an error of its own (HTTP 500, code 30000001)"),
        (
            ONELINK,
            200,
            b'{"status": "99999"}',
            "answers with a code that the settings do not know: add it to their errors (HTTP 200, code 99999)",
        ),
    ],
)
def test_an_error_says_in_a_sentence_what_the_carrier_does(
    codebook: Codebook, status: int, body: bytes, says: str
) -> None:
    error = judged(codebook, Answer(status, {}, body), "usage")

    assert error is not None
    assert error.sentence == f"carrier.example {says}."


def test_where_the_carrier_gives_no_code_its_status_is_the_code() -> None:
    error = judged(UNKNOWN, Answer(503), "usage")

    assert error is not None
    assert error.code == "503"


# --- a part about one card -----------------------------------------------------------------------------------------


def test_the_part_of_a_card_is_judged_by_its_code_at_the_endpoint() -> None:
    judge = Judge(ONELINK, "carrier.example", Secrets())
    part = {"status": "12010", "message": "no such card"}

    judge.check_part({"status": "0"}, "usage")
    with pytest.raises(CarrierError) as missing:
        judge.check_part(part, "usage")
    with pytest.raises(CarrierError) as cooling:
        judge.check_part(part, "stop")

    assert (missing.value.error_class, cooling.value.error_class) == (Is.CARD_MISSING, Is.COOLDOWN)
    assert missing.value.sentence == "carrier.example does not know the card (HTTP 200, code 12010: “no such card”)."
    assert missing.value.code == "12010"


def test_a_part_without_a_code_says_no_failure() -> None:
    Judge(ONELINK, "carrier.example", Secrets()).check_part({"usage": 5}, "usage")
