"""http_json, as it speaks to a real server for everything that a gateway can do."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from scheduler.polling.carriers.base import CarrierError, Gateway, Reading
from scheduler.polling.carriers.simulator import Fault, FaultKind, RunningCarrier
from scheduler.polling.states import CheckType, ErrorClass
from tests.scheduler.polling.carriers.gateways import CountingGate, asked_of, card

# Cards of the simulated carrier, by what they are like: see its cards.py.
ACTIVE, STOPPED, IN_STOCK, UNVERIFIED, UNKNOWN = card(1), card(3), card(11), card(5), card(1000)


def read(carrier: RunningCarrier, check: CheckType, number: int, **options: bool) -> Reading:
    return asked_of(carrier, lambda gateway: gateway.ask(check, card(number)), **options)


@pytest.mark.parametrize("token", [False, True])
def test_it_reads_everything_of_a_card(carrier: RunningCarrier, token: bool) -> None:
    status = read(carrier, CheckType.CARD_STATUS, 3, token=token)
    real_name = read(carrier, CheckType.REAL_NAME, 5, token=token)
    package = read(carrier, CheckType.PACKAGE, 1, token=token)

    assert (status.value, status.unit, status.columns) == ("stopped", "", {"state": "stopped"})
    assert (real_name.value, real_name.columns) == ("needed", {"real_name_state": "needed"})
    assert package.columns == {"package": "data-1gb", "allowance_bytes": 1024**3}


def test_usage_is_in_whole_bytes_and_as_of_when_the_carrier_says(carrier: RunningCarrier) -> None:
    usage = read(carrier, CheckType.USAGE, 3)  # it is stopped, so nothing is added

    assert (usage.value, usage.unit, usage.columns) == (3 * 7919 * 1024, "B", {"used_bytes": 3 * 7919 * 1024})
    assert usage.as_of is not None
    assert abs(usage.as_of - datetime.now(UTC)) < timedelta(minutes=5)  # noqa: TID251 - the carrier's clock is ours


def test_values_are_plain_texts_and_numbers_that_any_database_takes(carrier: RunningCarrier) -> None:
    assert type(read(carrier, CheckType.CARD_STATUS, 1).columns["state"]) is str


def test_a_stop_is_accepted_first_and_done_later(carrier: RunningCarrier) -> None:
    async def stop(gateway: Gateway) -> Reading:
        await gateway.stop(card(21))
        status = await gateway.card_status(card(21))
        while status.value != "stopped":
            status = await gateway.card_status(card(21))
        return status

    assert asked_of(carrier, stop).value == "stopped"


@pytest.mark.parametrize(
    ("first", "number", "error_class"),
    [
        ("stop", 3, ErrorClass.STATE_FORBIDS),
        ("resume", 1, ErrorClass.STATE_FORBIDS),
        ("stop", 11, ErrorClass.STATE_FORBIDS),
    ],
)
def test_a_change_that_the_state_forbids_is_refused_in_a_200(
    carrier: RunningCarrier, first: str, number: int, error_class: ErrorClass
) -> None:
    with pytest.raises(CarrierError) as caught:
        asked_of(carrier, lambda gateway: getattr(gateway, first)(card(number)))

    assert caught.value.error_class is error_class


def test_a_second_change_within_the_interval_is_a_cooldown(carrier: RunningCarrier) -> None:
    async def stop_twice(gateway: Gateway) -> None:
        await gateway.stop(card(2, "patient"))
        await gateway.stop(card(2, "patient"))

    with pytest.raises(CarrierError) as caught:
        asked_of(carrier, stop_twice, "patient")

    assert (caught.value.error_class, caught.value.code) == (ErrorClass.COOLDOWN, "12090")


# --- many cards ------------------------------------------------------------------------------------------------


def test_many_cards_are_read_in_one_call_and_one_that_is_missing_fails_alone(carrier: RunningCarrier) -> None:
    gate = CountingGate()
    cards = [ACTIVE, UNKNOWN, STOPPED]

    outcomes = asked_of(carrier, lambda gateway: gateway.batches[CheckType.CARD_STATUS].ask(cards), gate=gate)

    assert gate.passed == 1
    missing = outcomes[UNKNOWN.id]
    assert isinstance(missing, CarrierError)
    assert missing.error_class is ErrorClass.CARD_MISSING
    assert [getattr(outcomes[each.id], "value", None) for each in (ACTIVE, STOPPED)] == ["active", "stopped"]


def test_a_code_within_the_part_of_a_card_fails_that_card_alone(carrier: RunningCarrier) -> None:
    carrier.order(Fault(kind=FaultKind.NOT_OWNED, iccid=STOPPED.iccid))

    outcomes = asked_of(carrier, lambda gateway: gateway.batches[CheckType.USAGE].ask([ACTIVE, STOPPED]))

    assert isinstance(outcomes[ACTIVE.id], Reading)
    assert getattr(outcomes[STOPPED.id], "error_class", None) is ErrorClass.CARD_NOT_OWNED


def test_a_card_that_spoils_the_batch_is_found_and_the_others_are_read_without_it(carrier: RunningCarrier) -> None:
    cards = [card(number) for number in range(100)]
    carrier.order(Fault(kind=FaultKind.SPOIL, iccid=cards[37].iccid))
    gate = CountingGate()

    outcomes = asked_of(carrier, lambda gateway: gateway.batches[CheckType.USAGE].ask(cards), gate=gate)

    failed = {key: outcome for key, outcome in outcomes.items() if isinstance(outcome, CarrierError)}
    assert set(outcomes) == {each.id for each in cards}
    assert {key: error.error_class for key, error in failed.items()} == {cards[37].id: ErrorClass.CARD_NOT_OWNED}
    assert gate.passed <= 1 + 14


@pytest.mark.parametrize("check", list(CheckType))
def test_every_check_has_its_form_for_many_cards(carrier: RunningCarrier, check: CheckType) -> None:
    alone = read(carrier, check, 3)

    outcomes = asked_of(carrier, lambda gateway: gateway.batches[check].ask([STOPPED]))

    assert getattr(outcomes[STOPPED.id], "columns", None) == alone.columns


# --- tokens ----------------------------------------------------------------------------------------------------


def test_many_cards_at_once_wait_for_one_token(carrier: RunningCarrier) -> None:
    before = carrier.stats()["calls"].get("token", 0)

    async def ask_many(gateway: Gateway) -> None:
        await asyncio.gather(*(gateway.card_status(card(number)) for number in range(50)))

    asked_of(carrier, ask_many, token=True)

    assert carrier.stats()["calls"]["token"] - before == 1


def test_a_token_that_the_carrier_calls_expired_is_renewed_once_and_the_call_made_again(
    carrier: RunningCarrier,
) -> None:
    async def ask_again(gateway: Gateway) -> Reading:
        await gateway.card_status(ACTIVE)
        carrier.order(Fault(kind=FaultKind.TOKEN_EXPIRED, endpoint="status", calls=1))
        return await gateway.card_status(ACTIVE)

    gate = CountingGate()
    assert asked_of(carrier, ask_again, token=True, gate=gate).value == "active"
    assert gate.passed == 2 + 3  # a token and a call; a call, a token and a call


def test_a_fresh_token_that_is_refused_as_well_is_the_end(carrier: RunningCarrier) -> None:
    carrier.order(Fault(kind=FaultKind.TOKEN_EXPIRED, endpoint="status"))
    gate = CountingGate()

    with pytest.raises(CarrierError) as caught:
        asked_of(carrier, lambda gateway: gateway.card_status(ACTIVE), token=True, gate=gate)

    assert caught.value.error_class is ErrorClass.TOKEN_EXPIRED
    assert gate.passed == 4


def test_a_token_is_fetched_anew_when_its_time_is_over(carrier: RunningCarrier) -> None:
    async def ask_until_it_is_renewed(gateway: Gateway) -> None:
        tokens = carrier.stats("hasty")["calls"].get("token", 0)
        while carrier.stats("hasty")["calls"].get("token", 0) < tokens + 2:
            await gateway.card_status(card(1, "hasty"))

    asked_of(carrier, ask_until_it_is_renewed, "hasty", token=True)

    assert carrier.stats("hasty")["answers"].keys() <= {"ok"}  # none was refused


def test_wrong_credentials_are_told_as_such_to_all_who_wait(carrier: RunningCarrier) -> None:
    carrier.order(Fault(kind=FaultKind.AUTH, endpoint="token"))

    async def ask_many(gateway: Gateway) -> list[object]:
        calls = (gateway.card_status(card(number)) for number in range(10))
        return list(await asyncio.gather(*calls, return_exceptions=True))

    errors = asked_of(carrier, ask_many, token=True)

    assert {getattr(error, "error_class", None) for error in errors} == {ErrorClass.AUTH}


# --- what goes wrong -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "error_class", "retry_after"),
    [
        (Fault(kind=FaultKind.THROTTLE), ErrorClass.THROTTLED, None),
        (Fault(kind=FaultKind.THROTTLE, retry_after=30), ErrorClass.THROTTLED, 30.0),
        (Fault(kind=FaultKind.THROTTLE, retry_after=300, as_date=True), ErrorClass.THROTTLED, 300.0),
        (Fault(kind=FaultKind.SERVER, status=503), ErrorClass.SERVER, None),
        (Fault(kind=FaultKind.MALFORMED), ErrorClass.MALFORMED, None),
        (Fault(kind=FaultKind.CLOSE), ErrorClass.NETWORK, None),
        (Fault(kind=FaultKind.AUTH), ErrorClass.AUTH, None),
        (Fault(kind=FaultKind.QUOTA), ErrorClass.QUOTA_EXHAUSTED, None),
        (Fault(kind=FaultKind.NOT_OWNED), ErrorClass.CARD_NOT_OWNED, None),
        (Fault(kind=FaultKind.MISSING), ErrorClass.CARD_MISSING, None),
    ],
    ids=lambda value: value.kind if isinstance(value, Fault) else "",
)
def test_each_fault_of_a_carrier_has_its_class(
    carrier: RunningCarrier, fault: Fault, error_class: ErrorClass, retry_after: float | None
) -> None:
    carrier.order(fault)

    with pytest.raises(CarrierError) as caught:
        asked_of(carrier, lambda gateway: gateway.card_status(ACTIVE))

    assert (caught.value.error_class, caught.value.retry_after) == (error_class, retry_after)


def test_one_place_for_calls_is_enough_for_a_call_and_its_token(carrier: RunningCarrier) -> None:
    place = asyncio.Semaphore(1)

    async def ask_many(gateway: Gateway) -> None:
        await asyncio.gather(*(gateway.card_status(card(number, "narrow")) for number in range(5)))

    asked_of(carrier, ask_many, "narrow", token=True, gate=lambda: place)

    assert carrier.stats("narrow")["concurrency_violations"] == 0
