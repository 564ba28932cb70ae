"""Carriers that answer late, too much, half, or not at all: each has its class and its sentence."""

import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pytest_django import Settings

from scheduler.polling.carriers import client
from scheduler.polling.carriers.base import Busy, CardRef, CarrierError, Gateway, Reading
from scheduler.polling.states import CheckType, ErrorClass
from tests.scheduler.polling.carriers.gateways import asked
from tests.scheduler.polling.carriers.scripted import Asked, ScriptedCarrier, reply

CARD = CardRef(1, "89860000000000000001")


def settings_of(url: str, **more: Any) -> dict[str, Any]:
    usage = {"path": "/usage/{iccid}", "fields": {"used": "used"}}
    return {"base_url": url, "checks": {"usage": usage}} | more


def usage(scripted: ScriptedCarrier, **more: Any) -> Reading:
    return asked(settings_of(scripted.url, **more), {}, lambda gateway: gateway.usage(CARD))


def error_of(scripted: ScriptedCarrier, **more: Any) -> CarrierError:
    with pytest.raises(CarrierError) as caught:
        usage(scripted, **more)
    return caught.value


# --- too late --------------------------------------------------------------------------------------------------


def test_a_carrier_that_takes_the_connection_and_never_answers_is_a_timeout(scripted: ScriptedCarrier) -> None:
    scripted.answer = lambda asked: None

    error = error_of(scripted, timeouts={"total": 0.2})

    assert (error.error_class, error.sentence) == (ErrorClass.TIMEOUT, "127.0.0.1 did not answer within 0.2 s.")


def test_a_carrier_that_falls_silent_amid_its_answer_is_a_timeout(scripted: ScriptedCarrier) -> None:
    whole = reply(b'{"used": 1}')
    scripted.answer = lambda asked: whole[:-5]
    scripted.stays_open = True

    error = error_of(scripted, timeouts={"read": 0.2})

    assert (error.error_class, "fell silent" in error.sentence) == (ErrorClass.TIMEOUT, True)


@pytest.fixture
def full_port() -> Iterator[int]:
    """A port whose queue is full, so that the system drops whoever knocks."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        knocking = [socket.socket() for _ in range(4)]
        for each in knocking:
            each.setblocking(False)
            each.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]
        for each in knocking:
            each.close()


def test_a_carrier_that_takes_no_connection_in_time_is_not_reached(full_port: int, settings: Settings) -> None:
    settings.TIDELINE_ALLOWED_HOSTS_INWARD = ["127.0.0.1"]
    account = settings_of(f"http://127.0.0.1:{full_port}", timeouts={"connect": 0.2})

    with pytest.raises(CarrierError) as caught:
        asked(account, {}, lambda gateway: gateway.usage(CARD))

    assert caught.value.error_class is ErrorClass.NETWORK
    assert "did not accept a connection" in caught.value.sentence


# --- not at all ------------------------------------------------------------------------------------------------


def test_a_port_where_nobody_is_is_not_reached(settings: Settings) -> None:
    settings.TIDELINE_ALLOWED_HOSTS_INWARD = ["127.0.0.1"]

    with pytest.raises(CarrierError) as caught:
        asked(settings_of("http://127.0.0.1:1"), {}, lambda gateway: gateway.usage(CARD))

    assert (caught.value.error_class, caught.value.sentence) == (
        ErrorClass.NETWORK,
        "127.0.0.1 cannot be reached: Connection refused.",
    )


@pytest.mark.parametrize("half", [b"", b"HTTP/1.1 200 OK\r\nContent-Le", reply(b'{"used": 1}')[:-1]])
def test_a_carrier_that_breaks_off_is_not_reached(scripted: ScriptedCarrier, half: bytes) -> None:
    scripted.answer = lambda asked: half

    assert error_of(scripted).error_class is ErrorClass.NETWORK


def lookup(*addresses: str) -> Callable[..., Any]:
    def answer(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    return answer


@pytest.mark.parametrize("addresses", [["10.0.0.1"], ["93.184.215.14", "169.254.169.254"]])
def test_a_name_that_leads_inwards_is_not_called(monkeypatch: pytest.MonkeyPatch, addresses: list[str]) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lookup(*addresses))

    with pytest.raises(CarrierError) as caught:
        asked(settings_of("http://carrier.example"), {}, lambda gateway: gateway.usage(CARD))

    assert caught.value.error_class is ErrorClass.NETWORK
    assert caught.value.sentence == ("carrier.example leads to an address in a private network, which is not called.")


def test_a_name_that_nobody_knows_is_not_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)

    with pytest.raises(CarrierError) as caught:
        asked(settings_of("http://carrier.example"), {}, lambda gateway: gateway.usage(CARD))

    assert caught.value.sentence == "The name carrier.example cannot be resolved."


# --- not understood --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [b"", b"ok", b"<html>", b'{"used": 1', b'{"used": NaN}', b"\xff\xfe", b"[" * 100_000, b"1" * 5000],
    ids=range(8),
)
def test_an_answer_that_is_no_json_is_malformed(scripted: ScriptedCarrier, body: bytes) -> None:
    scripted.answer = lambda asked: reply(body)

    assert error_of(scripted).error_class is ErrorClass.MALFORMED


def test_an_answer_without_end_is_malformed_and_not_read_to_its_end(
    scripted: ScriptedCarrier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MOST_BYTES", 100_000)
    scripted.answer = lambda asked: reply(b'{"used": "' + b"1" * 300_000 + b'"}')

    error = error_of(scripted)

    assert (error.error_class, "which no answer about cards has" in error.sentence) == (ErrorClass.MALFORMED, True)


@pytest.mark.parametrize("answer", [b"I am no HTTP\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 100_000])
def test_what_is_no_http_is_malformed(scripted: ScriptedCarrier, answer: bytes) -> None:
    scripted.answer = lambda asked: answer

    assert error_of(scripted).error_class is ErrorClass.MALFORMED


def test_a_redirect_is_not_followed(scripted: ScriptedCarrier) -> None:
    scripted.answer = lambda asked: reply(b"", 302, Location=f"{scripted.url}/elsewhere")

    error = error_of(scripted)

    assert (error.error_class, "leads on to another address" in error.sentence) == (ErrorClass.MALFORMED, True)
    assert len(scripted.asked) == 1


def test_an_answer_in_another_charset_is_read(scripted: ScriptedCarrier) -> None:
    scripted.answer = lambda asked: reply(
        '{"used": 7, "note": "gestört"}'.encode("iso-8859-1"), Content_Type="text/plain; charset=ISO-8859-1"
    )

    assert usage(scripted).value == 7


# --- the gate --------------------------------------------------------------------------------------------------


def test_a_gate_that_stays_shut_lets_nothing_out(scripted: ScriptedCarrier) -> None:
    class Shut:
        async def __aenter__(self) -> None:
            raise Busy(3.5)

        async def __aexit__(self, *_: object) -> None:
            raise AssertionError("nobody was in")

    with pytest.raises(Busy) as caught:
        asked(settings_of(scripted.url), {}, lambda gateway: gateway.usage(CARD), Shut)

    assert caught.value.seconds == 3.5
    assert scripted.asked == []


# --- what is sent ----------------------------------------------------------------------------------------------

ODD = CardRef(1, "../8986?x=1&y#%", "+86 139", "四六〇")


def test_numbers_are_encoded_wherever_they_stand(scripted: ScriptedCarrier) -> None:
    scripted.answer = lambda asked: reply(b'{"used": 1}')
    call = {
        "method": "POST",
        "path": "/a b/{iccid}/{imsi}",
        "query": {"m": "{msisdn}", "as is": "é&"},
        "headers": {"X-Card": "{msisdn}"},
        "body": {"card": "{iccid}", "list": [{"deep": "no. {imsi}"}], "number": 1, "none": None},
        "fields": {"used": "used"},
    }

    asked(settings_of(scripted.url, checks={"usage": call}), {}, lambda gateway: gateway.usage(ODD))

    sent = scripted.asked[0]
    assert sent.line == (
        "POST /a%20b/..%2F8986%3Fx%3D1%26y%23%25/%E5%9B%9B%E5%85%AD%E3%80%87?m=%2B86%20139&as%20is=%C3%A9%26 HTTP/1.1"
    )
    assert sent.headers["x-card"] == "+86 139"
    assert sent.headers["content-type"] == "application/json"
    assert json.loads(sent.body) == {"card": ODD.iccid, "list": [{"deep": "no. 四六〇"}], "number": 1, "none": None}


@pytest.mark.parametrize(
    ("auth", "where", "what"),
    [
        ({"kind": "basic"}, "authorization", "Basic dTpwdw=="),
        ({"kind": "bearer"}, "authorization", "Bearer k&y"),
        ({"kind": "header", "name": "X-Key", "prefix": "Key "}, "x-key", "Key k&y"),
        ({"kind": "query", "name": "k"}, "line", "GET /usage/89860000000000000001?k=k%26y HTTP/1.1"),
        ({"kind": "none"}, "line", "GET /usage/89860000000000000001 HTTP/1.1"),
    ],
)
def test_each_kind_of_authorization_is_sent(scripted: ScriptedCarrier, auth: Any, where: str, what: str) -> None:
    scripted.answer = lambda asked: reply(b'{"used": 1}')
    credentials = {"user": "u", "password": "pw", "key": "k&y"}

    asked(settings_of(scripted.url, auth=auth), credentials, lambda gateway: gateway.usage(CARD))

    sent = scripted.asked[0]
    assert (sent.line if where == "line" else sent.headers[where]) == what


def test_a_token_is_asked_for_by_a_form_with_basic_as_oauth_has_it(scripted: ScriptedCarrier) -> None:
    def answer(asked: Asked) -> bytes:
        return reply(b'{"access_token": "t"}' if "/oauth" in asked.line else b'{"used": 1}')

    scripted.answer = answer
    request = {"path": "/oauth/token", "form": {"grant_type": "client_credentials"}, "basic": True}

    asked(
        settings_of(scripted.url, auth={"kind": "token", "request": request}),
        {"user": "u", "password": "pw"},
        lambda gateway: gateway.usage(CARD),
    )

    token, call = scripted.asked
    assert (token.headers["authorization"], token.body) == ("Basic dTpwdw==", b"grant_type=client_credentials")
    assert token.headers["content-type"] == "application/x-www-form-urlencoded"
    assert call.headers["authorization"] == "Bearer t"


def test_a_change_that_the_carrier_calls_pending_is_accepted(scripted: ScriptedCarrier) -> None:
    scripted.answer = lambda asked: reply(b'{"code": "20"}')
    errors = {"code": "code", "success": ["0"], "codes": {"20": "pending"}}
    account = settings_of(scripted.url, stop={"method": "PUT", "path": "/{iccid}/off"}, errors=errors)

    asked(account, {}, lambda gateway: gateway.stop(CARD))
    with pytest.raises(CarrierError) as caught:
        asked(account, {}, lambda gateway: gateway.usage(CARD))

    assert scripted.asked[0].line == f"PUT /{CARD.iccid}/off HTTP/1.1"
    assert caught.value.error_class is ErrorClass.PENDING


def test_a_change_that_the_settings_do_not_know_is_refused_and_nothing_sent(scripted: ScriptedCarrier) -> None:
    with pytest.raises(CarrierError) as caught:
        asked(settings_of(scripted.url), {}, lambda gateway: gateway.resume(CARD))

    assert "do not say how to resume a card" in caught.value.sentence
    assert scripted.asked == []


def test_cards_without_the_number_fail_alone_and_are_not_asked_for(scripted: ScriptedCarrier) -> None:
    scripted.answer = lambda asked: reply(b'{"cards": [{"n": 139, "used": 5}]}')
    batch = {"path": "/many", "query": {"n": "{msisdns}"}, "separator": "_", "size": 9, "list": "cards", "id": "n"}
    check = {"path": "/{msisdn}", "fields": {"used": "used"}, "batch": batch}
    cards = [CardRef(1, "891", "139"), CardRef(2, "892"), CardRef(3, "893", "140"), CardRef(4, "894", "139")]

    async def ask(gateway: Gateway) -> Any:
        with pytest.raises(CarrierError) as caught:
            await gateway.usage(cards[1])
        return await gateway.batches[CheckType.USAGE].ask(cards), caught.value

    outcomes, alone = asked(settings_of(scripted.url, checks={"usage": check}), {}, ask)

    assert [each.line for each in scripted.asked] == ["GET /many?n=139_140 HTTP/1.1"]
    assert [getattr(outcomes[number], "value", None) for number in (1, 2, 3, 4)] == [5, None, None, 5]
    assert {outcomes[number].error_class for number in (2, 3)} == {ErrorClass.CARD_MISSING}
    assert "has no MSISDN" in alone.sentence
