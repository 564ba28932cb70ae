"""What answers say: amounts, times and words as carriers write them."""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.polling.carriers.base import CarrierError, Reading
from scheduler.polling.carriers.http_json.parts import Fields
from scheduler.polling.carriers.http_json.reading import Reader
from scheduler.polling.carriers.secrecy import Secrets
from scheduler.polling.carriers.units import NoAmount, is_unit, to_bytes
from scheduler.polling.states import CheckType, ErrorClass

SHANGHAI = ZoneInfo("Asia/Shanghai")


def read(check: CheckType, document: Any, **fields: Any) -> Reading:
    reader = Reader(check, Fields(**fields), SHANGHAI, "carrier.example", Secrets().quoted)
    return reader.read(document)


def refused(check: CheckType, document: Any, **fields: Any) -> str:
    with pytest.raises(CarrierError) as caught:
        read(check, document, **fields)
    assert caught.value.error_class is ErrorClass.MALFORMED
    return caught.value.sentence


# --- amounts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "unit", "thousand", "expected"),
    [
        (0, "B", 1024, 0),
        (1, "KB", 1024, 1024),
        (1, "KB", 1000, 1000),
        (1, "KiB", 1000, 1024),
        (1, "k", 1024, 1024),
        (" 12.5 ", "MB", 1024, 13_107_200),
        (0.1, "MB", 1000, 100_000),
        ("1e3", "b", 1024, 1000),
        (2.5, "B", 1024, 2),
        (30, "GB", 1024, 30 * 1024**3),
        (1, "tb", 1000, 10**12),
        (2**53 + 1, "B", 1024, 2**53 + 1),
    ],
)
def test_an_amount_becomes_whole_bytes(value: Any, unit: str, thousand: int, expected: int) -> None:
    assert to_bytes(value, unit, thousand) == expected


@pytest.mark.parametrize(
    ("value", "unit"),
    [(-1, "B"), ("", "B"), ("many", "B"), (True, "B"), (None, "B"), ([], "B"), ("nan", "B"), ("inf", "KB"),
     (1, "MBit"), (1, "XB"), (2**63, "B"), ("1e999", "TB"), ("1e99999999", "TB")],
)  # fmt: skip
def test_what_is_no_amount_is_refused(value: Any, unit: str) -> None:
    with pytest.raises(NoAmount):
        to_bytes(value, unit, 1024)


@given(st.integers(0, 2**43 - 1), st.sampled_from(["KB", "MB"]))
def test_an_amount_is_exact_however_large(value: int, unit: str) -> None:
    factor = {"KB": 1024, "MB": 1024**2}[unit]
    assert to_bytes(str(value), unit, 1024) == to_bytes(value, unit, 1024) == value * factor


@pytest.mark.parametrize(("unit", "known"), [("", True), ("B", True), ("kib", True), ("Mb", True), ("bit", False)])
def test_a_unit_is_known_or_not(unit: str, known: bool) -> None:
    assert is_unit(unit) is known


@pytest.mark.parametrize(
    ("document", "used"),
    [
        ({"all": 500, "left": 435.5}, 64.5),
        ({"all": 500, "left": "0"}, 500),
        ({"all": 500, "left": -2.5}, 502.5),  # it went on beyond what it had
        ({"all": 500, "used": 3}, 3),
    ],
)
def test_what_is_used_is_what_is_not_left(document: Any, used: float) -> None:
    reading = read(CheckType.USAGE, document, used="used", left="left", allowance="all", unit="MB")

    assert reading.columns == {"used_bytes": used * 1024**2, "allowance_bytes": document["all"] * 1024**2}


def test_more_left_than_there_was_is_no_amount() -> None:
    assert "says left “6”, but it is below zero" in refused(
        CheckType.USAGE, {"all": 5, "left": 6}, left="left", allowance="all"
    )


def test_the_allowance_may_have_a_unit_of_its_own() -> None:
    document = {"used": 5, "unit": "MB", "all": 2, "all_unit": "GB"}
    fields = {"used": "used", "allowance": "all", "unit_at": "unit", "allowance_unit_at": "all_unit"}

    assert read(CheckType.USAGE, document, **fields).columns == {
        "used_bytes": 5 * 1024**2,
        "allowance_bytes": 2 * 1024**3,
    }


def test_the_unit_in_the_answer_counts_for_more_than_that_of_the_settings() -> None:
    document = {"used": "1.5", "unit": "GB", "of": 2}

    reading = read(CheckType.USAGE, document, used="used", allowance="of", unit="KB", unit_at="unit")

    assert reading.columns == {"used_bytes": 3 * 1024**3 // 2, "allowance_bytes": 2 * 1024**3}


@pytest.mark.parametrize("used", ["many", -5, [1], {"a": 1}, True])
def test_usage_that_is_no_amount_is_malformed(used: Any) -> None:
    assert "carrier.example says used" in refused(CheckType.USAGE, {"used": used}, used="used")


# --- words -----------------------------------------------------------------------------------------------------

STATES = {"states": {"1": "ready", "true": "active", "02": "stopped"}, "state": "s"}


@pytest.mark.parametrize(("word", "state"), [(1, "ready"), ("1", "ready"), (True, "active"), (" 02 ", "stopped")])
def test_a_word_is_found_however_it_is_written(word: Any, state: str) -> None:
    assert read(CheckType.CARD_STATUS, {"s": word}, **STATES).value == state


def test_a_word_that_nobody_knows_is_named_with_what_to_do() -> None:
    assert refused(CheckType.CARD_STATUS, {"s": "99"}, **STATES) == (
        "carrier.example says state “99”, which the settings do not know: add it to states."
    )


@pytest.mark.parametrize("document", [{}, {"s": None}, {"s": ""}, {"s": []}, [], None, 7, "text"])
def test_an_answer_without_what_was_asked_for_is_malformed(document: Any) -> None:
    assert "says nothing of the card status" in refused(CheckType.CARD_STATUS, document, **STATES)


def test_one_answer_may_determine_several_columns() -> None:
    document = {"s": "02", "p": " data \x00 30\ud800 ", "u": 1}

    reading = read(CheckType.USAGE, document, **STATES, package="p", used="u", unit="KB")

    assert reading.value == 1024
    assert reading.columns == {"state": "stopped", "package": "data 30\ufffd", "used_bytes": 1024}


def test_an_expression_that_cannot_calculate_finds_nothing() -> None:
    assert "says nothing of the usage" in refused(CheckType.USAGE, {"a": "x"}, used="abs(a)")


# --- times -----------------------------------------------------------------------------------------------------

TWO = datetime(2026, 11, 30, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-30T02:00:00Z",
        "2026-11-30T02:00:00+00:00",
        "2026-11-30T10:00:00",  # by the account's clocks
        "2026-11-30 10:00:00",
        "20261130100000",
        str(int(TWO.timestamp())),
        int(TWO.timestamp()),
        int(TWO.timestamp() * 1000),
        float(TWO.timestamp()),
    ],
)
def test_the_time_of_a_value_is_read_as_carriers_write_it(text: Any) -> None:
    assert read(CheckType.USAGE, {"u": 1, "t": text}, used="u", as_of="t").as_of == TWO


@pytest.mark.parametrize("text", [None, "", {}, []])
def test_a_value_without_a_time_has_none(text: Any) -> None:
    assert read(CheckType.USAGE, {"u": 1, "t": text}, used="u", as_of="t").as_of is None


@pytest.mark.parametrize("text", ["yesterday", "20261399000000", 5, "9999-12-31T23:59:59-23:00", "0001-01-01"])
def test_what_is_no_time_is_malformed(text: Any) -> None:
    assert "which is no time" in refused(CheckType.USAGE, {"u": 1, "t": text}, used="u", as_of="t")
