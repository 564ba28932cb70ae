"""Secrets that a carrier throws back at us, in every form, appear in no error, no representation and no log."""

import base64
import json
import logging
import traceback
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from scheduler.polling.carriers.answers import Answer
from scheduler.polling.carriers.base import CardRef, CarrierError, Gateway
from scheduler.polling.carriers.registry import BadSettings, read_access
from scheduler.polling.states import CheckType
from tests.scheduler.polling.carriers.gateways import asked
from tests.scheduler.polling.carriers.scripted import Asked, ScriptedCarrier, reply

PASSWORD, KEY, TOKEN = "pa55/word+ü", "k3y&of=the?account", "t0ken.of~the-account"
PLANTED = [
    form
    for secret in (PASSWORD, KEY, TOKEN)
    for form in (secret, quote(secret, safe=""), base64.b64encode(secret.encode()).decode())
] + [base64.b64encode(f"operator:{PASSWORD}".encode()).decode()]
CARD = CardRef(1, "89860000000000000001", "8613900000001", "460001234567890")
AUTHS: dict[str, Any] = {
    "basic": {"kind": "basic"},
    "bearer": {"kind": "bearer"},
    "header": {"kind": "header", "name": "X-Key"},
    "query": {"kind": "query", "name": "apikey"},
    "token": {
        "kind": "token",
        "request": {"path": "/token", "form": {"u": "{user}", "p": "{password}", "k": "{key}"}, "basic": True},
    },
    "token in the query": {
        "kind": "token",
        "request": {"path": "/token", "body": {"u": "{user}", "p": "{password}", "k": "{key}"}},
        "place": "query",
        "name": "token",
        "prefix": "",
    },
}


def settings(url: str, auth: Any, seconds: float = 30) -> dict[str, Any]:
    return {
        "base_url": url,
        "auth": auth,
        "checks": {
            "usage": {
                "path": "/usage/{iccid}",
                "fields": {"used": "used", "as_of": "as_of"},
                "batch": {"path": "/many", "query": {"i": "{iccids}"}, "size": 2, "list": "cards", "id": "iccid"},
            },
            "card_status": {"path": "/state/{iccid}", "fields": {"state": "state", "states": {"A": "active"}}},
        },
        "stop": {"method": "POST", "path": "/stop/{iccid}"},
        "errors": {"code": "code", "message": "message"},
        "timeouts": {"total": seconds},
    }


def everything(asked: Asked) -> str:
    """Return all that a request held, as a carrier with its debugging on shows it, and the secrets in every form."""
    return f"{asked.line} {asked.headers} {asked.body.decode()} {' '.join(PLANTED)} password={PASSWORD}"


def in_code(asked: Asked) -> bytes:
    return reply(json.dumps({"code": everything(asked), "message": everything(asked)}).encode(), 400)


def in_message(asked: Asked) -> bytes:
    return reply(json.dumps({"code": "17", "message": everything(asked)}).encode(), 403)


def in_values(asked: Asked) -> bytes:
    text = everything(asked)
    return reply(json.dumps({"used": text, "state": text, "as_of": text, "cards": text}).encode())


def in_one_word(asked: Asked) -> bytes:
    return reply(json.dumps({"used": 1, "state": KEY, "as_of": PASSWORD, "cards": []}).encode())


def in_headers(asked: Asked) -> bytes:
    return reply(b"<html>", 302, Location=f"http://elsewhere/?k={quote(KEY)}", Retry_After=quote(TOKEN))


def in_no_http(asked: Asked) -> bytes:
    return f"{' '.join(PLANTED[:1])} is no HTTP\r\n\r\n".encode()


def nowhere(asked: Asked) -> None:
    return None


ANSWERS = [in_code, in_message, in_values, in_one_word, in_headers, in_no_http, nowhere]


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.__name__)
@pytest.mark.parametrize("auth", list(AUTHS))
def test_no_error_betrays_a_secret(
    scripted: ScriptedCarrier,
    caplog: pytest.LogCaptureFixture,
    auth: str,
    answer: Callable[[Asked], bytes | None],
) -> None:
    caplog.set_level(logging.DEBUG)
    token = reply(json.dumps({"access_token": TOKEN}).encode())
    scripted.answer = lambda asked: token if asked.line.startswith("POST /token") else answer(asked)
    credentials = {"user": "operator", "password": PASSWORD, "key": KEY}

    account = settings(scripted.url, AUTHS[auth], 0.1 if answer is nowhere else 30)

    errors = asked(account, credentials, errors_of_everything)

    assert errors
    shown = [text for error in errors for text in (str(error), repr(error), error.sentence, error.code)]
    shown += ["".join(traceback.format_exception(error)) for error in errors] + [caplog.text]
    assert [(secret, text) for secret in PLANTED for text in shown if secret in text] == []


async def errors_of_everything(gateway: Gateway) -> list[CarrierError]:
    errors: list[CarrierError] = []
    calls = [
        gateway.usage(CARD),
        gateway.card_status(CARD),
        gateway.stop(CARD),
        gateway.batches[CheckType.USAGE].ask([CARD]),
    ]
    for call in calls:
        try:
            outcome = await call
        except CarrierError as error:
            errors.append(error)
        else:
            outcomes = outcome.values() if isinstance(outcome, dict) else ()
            errors += [each for each in outcomes if isinstance(each, CarrierError)]
    return errors


def test_a_token_endpoint_that_repeats_the_password_betrays_nothing(scripted: ScriptedCarrier) -> None:
    scripted.answer = in_message
    credentials = {"user": "operator", "password": PASSWORD, "key": KEY}

    errors = asked(settings(scripted.url, AUTHS["token"]), credentials, errors_of_everything)

    assert errors
    assert [secret for secret in PLANTED for error in errors if secret in str(error)] == []


def test_an_account_that_cannot_be_read_betrays_nothing() -> None:
    with pytest.raises(BadSettings) as caught:
        read_access("http_json", {"base_url": f"https://u:{KEY}@a.example/"}, {"key": [KEY], "pasword": PASSWORD})

    assert KEY not in repr(caught.value)
    assert PASSWORD not in "".join(traceback.format_exception(caught.value))


def test_an_account_shows_no_secret() -> None:
    access = read_access(
        "http_json", settings("https://a.example", AUTHS["bearer"]), {"password": PASSWORD, "key": KEY}
    )

    assert not any(secret in repr(access) for secret in PLANTED)


def test_an_answer_shows_neither_headers_nor_body() -> None:
    assert KEY not in repr(Answer(200, {"x": KEY}, KEY.encode()))
