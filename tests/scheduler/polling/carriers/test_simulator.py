"""The simulated carrier measures exactly what it was asked, keeps its limits, and does wrong as it is told."""

import asyncio
import json
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.polling import iccid
from scheduler.polling.carriers.base import CarrierError, Gateway
from scheduler.polling.carriers.simulator import AccountPlan, Fault, FaultKind, Limit, RunningCarrier, iccid_of
from scheduler.polling.carriers.simulator.accounts import number_of
from scheduler.polling.carriers.simulator.faults import Faults
from scheduler.polling.carriers.simulator.measuring import Meter, WindowMeter
from scheduler.polling.states import CheckType, ErrorClass
from tests.scheduler.polling.carriers.gateways import asked_of, card

# --- measuring -------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(0, 1), max_size=60), st.integers(1, 5))
def test_a_window_counts_what_counting_every_span_anew_gives(steps: list[float], limit: int) -> None:
    meter, times, now = WindowMeter(Limit(limit, 1)), [], 0.0
    for step in steps:
        now += step
        times.append(now)
        meter.count(now)
    spans = [sum(end - 1 < each <= end for each in times[: index + 1]) for index, end in enumerate(times)]

    figures = meter.figures()

    assert figures["most"] == max(spans, default=0)
    assert figures["violations"] == sum(span > limit for span in spans)


def test_calls_at_one_time_are_counted_by_account_and_by_card() -> None:
    meter = Meter(AccountPlan(concurrency=2), began=0.0)

    passed = [meter.enter("usage", "a", 0.0), meter.enter("usage", "a", 0.1), meter.enter("status", "b", 1.5)]
    for name in ("a", "a", "b"):
        meter.leave(name, "ok")
    meter.enter("usage", "a", 1.6)

    figures = meter.figures()
    assert passed == [True, True, False]
    assert (figures["most_in_flight"], figures["in_flight"], figures["concurrency_violations"]) == (3, 1, 1)
    assert figures["card_asked_twice_at_once"] == 1
    assert figures["by_second"] == [2, 2]
    assert figures["calls"] == {"usage": 3, "status": 1}


def test_calls_beyond_the_limit_are_counted_and_those_beyond_its_tolerance_refused(carrier: RunningCarrier) -> None:
    limit = carrier.plan("limited").limits[0]

    async def ask_often(gateway: Gateway) -> list[Any]:
        numbers = range(limit.tolerated + 3)
        return [await _class_of(gateway, number) for number in numbers]

    classes = asked_of(carrier, ask_often, "limited")

    assert classes == [None] * limit.tolerated + [ErrorClass.THROTTLED] * 3
    (window,) = carrier.stats("limited")["windows"]
    assert (window["most"], window["violations"]) == (limit.tolerated + 3, limit.tolerated + 3 - limit.calls)


async def _class_of(gateway: Gateway, number: int) -> ErrorClass | None:
    try:
        await gateway.card_status(card(number, "limited"))
    except CarrierError as error:
        return error.error_class
    return None


def test_too_many_calls_at_one_time_are_refused(carrier: RunningCarrier) -> None:
    before = carrier.stats("narrow")["concurrency_violations"]
    carrier.order(Fault(kind=FaultKind.HANG, account="narrow", calls=1))

    async def ask_beside_another(gateway: Gateway) -> None:
        other = asyncio.create_task(gateway.card_status(card(0, "narrow")))
        while carrier.stats("narrow")["in_flight"] == 0:
            await asyncio.sleep(0)
        try:
            await gateway.card_status(card(1, "narrow"))
        finally:
            other.cancel()

    with pytest.raises(CarrierError) as caught:
        asked_of(carrier, ask_beside_another, "narrow")

    assert caught.value.error_class is ErrorClass.THROTTLED
    assert carrier.stats("narrow")["concurrency_violations"] == before + 1


# --- faults ----------------------------------------------------------------------------------------------------


def kind_of(fault: Fault | None) -> FaultKind | None:
    return fault.kind if fault else None


def test_a_fault_holds_for_whom_it_is_ordered_and_so_often() -> None:
    faults = Faults()
    faults.order(Fault(kind=FaultKind.SERVER, account="a", endpoint="usage", calls=2), now=0)

    hits = [("a", "usage"), ("b", "usage"), ("a", "status"), ("a", "usage"), ("a", "usage")]

    assert [kind_of(faults.of_call(account, endpoint, "", 1)) for account, endpoint in hits] == [
        FaultKind.SERVER,
        None,
        None,
        FaultKind.SERVER,
        None,
    ]


def test_a_fault_ends_with_its_time() -> None:
    faults = Faults()
    faults.order(Fault(kind=FaultKind.HANG, seconds=10), now=100)

    assert kind_of(faults.of_call("a", "usage", "", 109.9)) is FaultKind.HANG
    assert faults.of_call("a", "usage", "", 110) is None
    assert faults.held() == []


def test_a_fault_of_a_card_is_for_calls_about_it_and_for_its_part_of_those_about_many() -> None:
    faults = Faults()
    faults.order(Fault(kind=FaultKind.NOT_OWNED, iccid="1"), now=0)

    assert kind_of(faults.of_call("a", "usage", "1", 0)) is FaultKind.NOT_OWNED
    assert faults.of_call("a", "usage", "", 0) is None
    assert kind_of(faults.of_part("a", "usage", "1", 0)) is FaultKind.NOT_OWNED
    assert faults.of_part("a", "usage", "2", 0) is None


def test_of_several_faults_the_latest_counts() -> None:
    faults = Faults()
    faults.order(Fault(kind=FaultKind.SERVER), now=0)
    faults.order(Fault(kind=FaultKind.THROTTLE, calls=1), now=0)

    assert [kind_of(faults.of_call("a", "usage", "", 0)) for _ in range(2)] == [FaultKind.THROTTLE, FaultKind.SERVER]


def test_a_call_that_hangs_is_given_up_when_its_caller_is_gone(carrier: RunningCarrier) -> None:
    carrier.order(Fault(kind=FaultKind.HANG, calls=1))

    async def give_up(gateway: Gateway) -> None:
        call = asyncio.create_task(gateway.card_status(card()))
        while carrier.stats()["in_flight"] == 0:
            await asyncio.sleep(0)
        call.cancel()
        while carrier.stats()["in_flight"] > 0:
            await asyncio.sleep(0)

    asked_of(carrier, give_up)

    assert carrier.stats()["answers"]["given up"] == 1


# --- cards -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 1, 99_999, 9_999_999_999])
def test_cards_have_numbers_that_check_and_that_lead_back_to_them(number: int) -> None:
    made = iccid_of("main", number)

    assert iccid.checked(made) == made
    assert number_of("main", made) == number
    assert number_of("other", made) is None


@pytest.mark.parametrize("text", ["", "x" * 20, "8" * 20, "٣" * 20])
def test_what_is_no_number_of_a_card_is_none_of_its_cards(text: str) -> None:
    assert number_of("main", text) is None


def test_usage_grows_while_a_card_is_active(carrier: RunningCarrier) -> None:
    async def read_until_it_grows(gateway: Gateway) -> bool:
        first = await gateway.usage(card(1))
        while (later := await gateway.usage(card(1))).value == first.value:
            pass
        return bool(later.value > first.value)

    assert asked_of(carrier, read_until_it_grows)


def test_one_card_within_the_interval_refuses_the_change_of_all(carrier: RunningCarrier) -> None:
    plan = carrier.plan("patient")
    url, headers = f"{carrier.url}/patient", {"Authorization": f"Bearer {plan.key}"}
    first, second = iccid_of("patient", 21), iccid_of("patient", 22)
    fetch(f"{url}/cards/{first}/stop", headers, body=b"")

    refused = fetch(f"{url}/batch/stop", headers, {"iccids": [second, first]})
    accepted = fetch(f"{url}/batch/stop", headers, {"iccids": [second]})

    assert (refused["code"], accepted["code"]) == ("12090", "0")


# --- over HTTP -------------------------------------------------------------------------------------------------


def fetch(url: str, headers: Any = None, document: Any = None, *, body: bytes | None = None, method: str = "") -> Any:
    data = json.dumps(document).encode() if document is not None else body
    request = Request(url, data, headers or {}, method=method or None)  # noqa: S310 - our own server
    try:
        with urlopen(request, timeout=30) as answer:  # noqa: S310
            return json.loads(answer.read() or b"null")
    except HTTPError as error:
        with error:
            return json.loads(error.read())


def test_faults_and_figures_are_there_over_http_as_well(carrier: RunningCarrier) -> None:
    fetch(f"{carrier.url}/_faults", document={"kind": "server", "account": "main", "calls": 3})
    held = fetch(f"{carrier.url}/_faults")
    refused = fetch(f"{carrier.url}/_faults", document={"kind": "earthquake"})
    fetch(f"{carrier.url}/_faults", method="DELETE")
    counted = fetch(f"{carrier.url}/_stats")
    fetch(f"{carrier.url}/_stats", method="DELETE")

    assert [(each["kind"], each["calls"]) for each in held] == [("server", 3)]
    assert "kind" in refused["error"]
    assert fetch(f"{carrier.url}/_faults") == []
    assert set(counted) >= {"main", "patient", "narrow"}
    assert fetch(f"{carrier.url}/_stats")["main"]["calls"] == {}


@pytest.mark.parametrize("path", ["/", "/nobody/cards/1/usage", "/main/cards/1/colour", "/main/usage"])
def test_what_it_does_not_know_it_refuses(carrier: RunningCarrier, path: str) -> None:
    assert fetch(carrier.url + path)["code"] == "11000"


@pytest.mark.parametrize("body", [b"", b"[]", b'{"iccids": []}', b'{"iccids": "1"}', b"\xff"])
def test_a_batch_that_is_none_is_refused(carrier: RunningCarrier, body: bytes) -> None:
    headers = {"Authorization": f"Bearer {carrier.plan().key}"}

    assert fetch(f"{carrier.url}/main/batch/usage", headers, body=body)["code"] == "11000"


def test_every_check_is_asked_at_an_endpoint_of_its_own(carrier: RunningCarrier) -> None:
    before = carrier.stats()["calls"]

    async def ask_all(gateway: Gateway) -> None:
        for check in CheckType:
            await gateway.ask(check, card())

    asked_of(carrier, ask_all)

    after = carrier.stats()["calls"]
    assert {name: after[name] - before.get(name, 0) for name in after if after[name] != before.get(name, 0)} == {
        "status": 1,
        "usage": 1,
        "real-name": 1,
        "package": 1,
    }
