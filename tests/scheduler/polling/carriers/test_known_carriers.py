"""What every carrier of which the dialect is known has in common, asked at the simulated carrier that speaks it."""

import base64
import json
import logging
import traceback
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings

from scheduler.polling.carriers.base import CarrierError, Gateway, Reading
from scheduler.polling.carriers.registry import KINDS, BadSettings, read_access
from scheduler.polling.carriers.simulator import (
    AccountPlan,
    Fault,
    FaultKind,
    Limit,
    RunningCarrier,
    simulated_carrier,
)
from scheduler.polling.states import CheckType, ErrorClass
from tests.scheduler.polling.carriers.dialects import SPEECHES
from tests.scheduler.polling.carriers.dialects.speech import CARD, Speech, used_bytes
from tests.scheduler.polling.carriers.gateways import CountingGate, card
from tests.scheduler.polling.carriers.scripted import Asked, ScriptedCarrier, reply
from tests.scheduler.polling.carriers.speaking import WHO, asked_in, asked_of_script, call, everything

ACTIVE, STOPPED, UNKNOWN = card(1), card(3), card(5000)
WITH_TOKEN = [kind for kind, speech in SPEECHES.items() if "token" in speech.lines]
# What does not become another answer in a dialect.
CLASSES = {
    FaultKind.THROTTLE: ErrorClass.THROTTLED,
    FaultKind.SERVER: ErrorClass.SERVER,
    FaultKind.MALFORMED: ErrorClass.MALFORMED,
    FaultKind.CLOSE: ErrorClass.NETWORK,
    FaultKind.AUTH: ErrorClass.AUTH,
}


@pytest.fixture(scope="module", params=list(SPEECHES))
def speech(request: pytest.FixtureRequest) -> Speech:
    return SPEECHES[request.param]


@pytest.fixture(scope="module")
def running(speech: Speech) -> Iterator[RunningCarrier]:
    plans = (
        AccountPlan(latency=0, change_seconds=0.05, change_interval=0),
        AccountPlan("limited", latency=0, limits=(Limit(5, 3600),)),
    )
    with simulated_carrier(*plans, dialect=speech.dialect) as carrier:
        yield carrier


@pytest.fixture
def carrier(running: RunningCarrier, settings: Settings) -> Iterator[RunningCarrier]:
    settings.TIDELINE_ALLOWED_HOSTS_INWARD = [running.place]
    yield running
    running.clear_faults()


# --- settings --------------------------------------------------------------------------------------------------


def test_the_checks_that_are_promised_are_those_of_the_dialect(speech: Speech) -> None:
    access = read_access(
        speech.kind, {"base_url": "https://api.example.org", **speech.settings}, speech.credentials(WHO)
    )

    assert access.settings.supported == access.settings.as_http_json().supported  # type: ignore[attr-defined]


def test_every_field_of_the_form_says_what_it_is(speech: Speech) -> None:
    kind = KINDS[speech.kind]

    fields = {**kind.settings.model_fields, **kind.credentials.model_fields}
    assert [name for name, field in fields.items() if not field.title and name != "timeouts"] == []


def test_credentials_that_are_missing_or_empty_are_named(speech: Speech) -> None:
    names = sorted(speech.credentials(WHO))

    for credentials in ({}, dict.fromkeys(names, "")):
        with pytest.raises(BadSettings) as caught:
            read_access(speech.kind, {"base_url": "https://api.example.org", **speech.settings}, credentials)
        assert sorted(caught.value.problems) == [f"credentials.{name}" for name in names]


def test_accounts_begin_with_the_limits_that_the_carrier_publishes() -> None:
    limits = {name: [(window.limit, window.seconds) for window in KINDS[name].windows] for name in SPEECHES}

    published = {"jasper": [(5, 1)], "1nce": [(10, 1)], "emnify": [(10, 1), (2000, 300)]}
    assert limits == {name: published.get(name, [(5, 1)]) for name in SPEECHES}
    assert {name: KINDS[name].concurrency for name in SPEECHES} == dict.fromkeys(SPEECHES) | {"jasper": 1}


# --- cards -----------------------------------------------------------------------------------------------------


def test_state_and_usage_are_read(speech: Speech, carrier: RunningCarrier) -> None:
    status = asked_in(speech, carrier, lambda gateway: gateway.card_status(STOPPED))
    usage = asked_in(speech, carrier, lambda gateway: gateway.usage(STOPPED))

    assert (status.value, status.unit, type(status.value)) == ("stopped", "", str)
    assert (usage.value, usage.unit) == (used_bytes(STOPPED.iccid), "B")


def test_a_stop_is_accepted_first_and_done_later(speech: Speech, carrier: RunningCarrier) -> None:
    async def change(gateway: Gateway) -> list[Any]:
        seen = [(await gateway.card_status(card(21))).value]
        for change, target in ((gateway.stop, "stopped"), (gateway.resume, "active")):
            await change(card(21))
            while (await gateway.card_status(card(21))).value != target:
                pass
            seen.append(target)
        return seen

    assert asked_in(speech, carrier, change) == ["active", "stopped", "active"]


@pytest.mark.parametrize("what", ["card_status", "usage", "stop"])
def test_a_card_that_the_carrier_does_not_know_is_missing(speech: Speech, carrier: RunningCarrier, what: str) -> None:
    with pytest.raises(CarrierError) as caught:
        asked_in(speech, carrier, lambda gateway: getattr(gateway, what)(UNKNOWN))

    assert caught.value.error_class is ErrorClass.CARD_MISSING


def test_many_cards_are_asked_for_in_one_call_where_the_carrier_has_that(
    speech: Speech, carrier: RunningCarrier
) -> None:
    async def sizes(gateway: Gateway) -> Any:
        return {check.value: batch.size for check, batch in gateway.batches.items()}

    assert asked_in(speech, carrier, sizes) == speech.many


def test_of_many_cards_each_is_what_it_is_alone(speech: Speech, carrier: RunningCarrier) -> None:
    async def ask(gateway: Gateway) -> None:
        for check, batch in gateway.batches.items():
            outcomes = await batch.ask([ACTIVE, UNKNOWN, STOPPED])
            alone = await gateway.ask(check, STOPPED)
            assert (getattr(outcomes[STOPPED.id], "value", None), alone.unit) == (alone.value, alone.unit)
            assert isinstance(outcomes[ACTIVE.id], Reading)
            missing = outcomes[UNKNOWN.id]
            assert isinstance(missing, CarrierError)
            assert missing.error_class is ErrorClass.CARD_MISSING

    asked_in(speech, carrier, ask)


@pytest.mark.parametrize("kind", ["onelink", "ctwing"])
def test_a_card_that_spoils_a_call_for_many_is_found_and_the_others_are_read(kind: str, settings: Settings) -> None:
    speech, cards, gate = SPEECHES[kind], [card(number) for number in range(20)], CountingGate()
    with simulated_carrier(AccountPlan(latency=0), dialect=speech.dialect) as carrier:
        settings.TIDELINE_ALLOWED_HOSTS_INWARD = [carrier.place]
        carrier.order(Fault(kind=FaultKind.SPOIL, iccid=cards[7].iccid))

        outcomes = asked_in(speech, carrier, lambda gateway: gateway.batches[CheckType.USAGE].ask(cards), gate=gate)

    failed = {key: outcome.error_class for key, outcome in outcomes.items() if isinstance(outcome, CarrierError)}
    assert failed == {cards[7].id: ErrorClass.CARD_NOT_OWNED}
    assert set(outcomes) == {each.id for each in cards}
    assert gate.passed <= 2 + 10


# --- troubles --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CLASSES)
def test_a_trouble_has_its_class(speech: Speech, carrier: RunningCarrier, kind: FaultKind) -> None:
    carrier.order(Fault(kind=kind, account="main"))

    with pytest.raises(CarrierError) as caught:
        asked_in(speech, carrier, lambda gateway: gateway.card_status(ACTIVE))

    assert caught.value.error_class is CLASSES[kind]


def test_who_is_throttled_is_told_for_how_long(speech: Speech, carrier: RunningCarrier) -> None:
    carrier.order(Fault(kind=FaultKind.THROTTLE, account="main", endpoint="status", retry_after=30))

    with pytest.raises(CarrierError) as caught:
        asked_in(speech, carrier, lambda gateway: gateway.card_status(ACTIVE))

    assert (caught.value.error_class, caught.value.retry_after) == (ErrorClass.THROTTLED, 30)


def test_calls_beyond_the_limit_of_the_account_are_throttled(speech: Speech, carrier: RunningCarrier) -> None:
    borne = carrier.plan("limited").limits[0].tolerated - int("token" in speech.lines)

    async def ask_often(gateway: Gateway) -> None:
        for number in range(borne):
            await gateway.card_status(card(number, "limited"))
        with pytest.raises(CarrierError) as caught:
            await gateway.card_status(card(borne, "limited"))
        assert caught.value.error_class is ErrorClass.THROTTLED

    asked_in(speech, carrier, ask_often, "limited")


@pytest.mark.parametrize("kind", WITH_TOKEN)
def test_a_token_that_the_carrier_refuses_is_renewed_once(kind: str, settings: Settings) -> None:
    speech = SPEECHES[kind]
    with simulated_carrier(AccountPlan(latency=0), dialect=speech.dialect) as carrier:
        settings.TIDELINE_ALLOWED_HOSTS_INWARD = [carrier.place]
        carrier.order(Fault(kind=FaultKind.TOKEN_EXPIRED, endpoint="status", calls=1))
        gate = CountingGate()

        status = asked_in(speech, carrier, lambda gateway: gateway.card_status(STOPPED), gate=gate)

        assert status.value == "stopped"
        assert carrier.stats()["calls"] == {"token": 2, "status": 2}
        assert gate.passed == 4


@pytest.mark.parametrize("kind", WITH_TOKEN)
def test_a_token_that_is_refused_again_and_again_is_not_renewed_for_ever(kind: str, settings: Settings) -> None:
    speech = SPEECHES[kind]
    with simulated_carrier(AccountPlan(latency=0), dialect=speech.dialect) as carrier:
        settings.TIDELINE_ALLOWED_HOSTS_INWARD = [carrier.place]
        carrier.order(Fault(kind=FaultKind.AUTH, endpoint="status"))

        with pytest.raises(CarrierError) as caught:
            asked_in(speech, carrier, lambda gateway: gateway.card_status(STOPPED))

        assert caught.value.error_class is ErrorClass.AUTH
        assert carrier.stats()["calls"] == {"token": 2, "status": 2}


# --- secrets ---------------------------------------------------------------------------------------------------


def in_body(asked: Asked) -> bytes:
    shown = everything(asked).decode()
    return reply(json.dumps({"errorCode": shown, "message": shown, "errors": [{"code": shown}]}).encode(), 400)


def in_words(asked: Asked) -> bytes:
    shown = everything(asked).decode()
    part = {"iccid": CARD.iccid, "status": {"value": shown}, "current_billing_period_consumed_data": {"amount": shown}}
    return reply(json.dumps({"data": [part], "status": shown, "ctdDataUsage": shown, "volume": shown}).encode())


@pytest.mark.parametrize("answer", [in_body, in_words], ids=lambda answer: answer.__name__)
def test_no_error_betrays_a_secret(
    speech: Speech, scripted: ScriptedCarrier, caplog: pytest.LogCaptureFixture, answer: Any
) -> None:
    caplog.set_level(logging.DEBUG)
    secrets = [*speech.credentials(WHO).values(), *json.dumps(speech.answers.get("token", {})).split('"')]
    secrets = [each for each in secrets if "key-of" in each or "password-of" in each or "t0ken" in each]
    secrets += [base64.b64encode(f"{WHO.name}:{each}".encode()).decode() for each in secrets]
    shown: list[str] = []
    for endpoint in sorted(speech.lines):
        scripted.answer = speech.script(endpoint, answer)
        try:
            asked_of_script(speech, scripted, call(endpoint))
        except CarrierError as error:
            shown += [error.sentence, error.code, repr(error), *traceback.format_exception(error)]

    assert shown
    assert [(secret, text) for secret in secrets for text in [*shown, caplog.text] if secret in text] == []
