"""Instants, types and numbers as the scripts write them: pure."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.polling.queue.packing import (
    DUE_BYTES,
    EPOCH,
    MILLISECOND,
    MOST_FAILURES,
    TYPES,
    instant,
    instant_or_none,
    instants_by_type,
    mask_of,
    milliseconds,
    packed_card,
    packed_news,
    types_of,
    unpacked_asks,
)
from scheduler.polling.states import CheckType

INSTANTS = st.timedeltas(timedelta(days=1), timedelta(days=365 * 1000)).map(lambda since: EPOCH + since)


@given(INSTANTS)
def test_an_instant_loses_less_than_a_millisecond(at: datetime) -> None:
    assert at - MILLISECOND < instant(milliseconds(at)) <= at


def test_what_means_none_is_no_instant() -> None:
    assert [instant_or_none(score) for score in (0, -1.0, float("inf"))] == [None] * 3
    assert instant_or_none(1) == datetime(1970, 1, 1, microsecond=1000, tzinfo=UTC)


@given(st.sets(st.sampled_from(CheckType)))
def test_types_come_back_in_their_order(types: set[CheckType]) -> None:
    assert types_of(mask_of(types)) == tuple(type_ for type_ in CheckType if type_ in types)
    assert mask_of([*types, *types]) == mask_of(types)


@given(st.dictionaries(st.sampled_from(CheckType), INSTANTS), st.integers(0, 10**6))
def test_a_card_takes_eight_bytes_a_type(due: dict[CheckType, datetime], failures: int) -> None:
    packed = packed_card(due, dict.fromkeys(due, failures))
    assert len(packed) == 8 * len(TYPES)
    for at, type_ in enumerate(TYPES):
        field = packed[8 * at : 8 * at + 8]
        assert int.from_bytes(field[:6], "big") == (milliseconds(due[type_]) if type_ in due else 0)
        assert int.from_bytes(field[6:], "big") == (min(failures, MOST_FAILURES) if type_ in due else 0)


def test_news_say_of_each_number_whether_it_stays() -> None:
    due, failures = {CheckType.USAGE: None, CheckType.CARD_STATUS: EPOCH + 258 * MILLISECOND}, {CheckType.PACKAGE: 3}
    real_name, usage, status, package = (packed_news(due, failures)[at : at + 8] for at in range(0, 32, 8))
    assert real_name == b"\xff" * 8
    assert usage == b"\0" * 6 + b"\xff" * 2
    assert status == b"\0\0\0\0\1\2" + b"\xff" * 2
    assert package == b"\xff" * 6 + b"\0\3"


@given(st.dictionaries(st.sampled_from(CheckType), INSTANTS))
def test_from_when_types_are_asked_for_stands_in_six_bytes_a_type_and_zeros_where_one_is_not(
    asked: dict[CheckType, datetime],
) -> None:
    kept = b"".join((milliseconds(asked[type_]) if type_ in asked else 0).to_bytes(DUE_BYTES, "big") for type_ in TYPES)
    assert unpacked_asks(kept) == {type_: instant(milliseconds(at)) for type_, at in asked.items()}


def test_a_script_tells_an_instant_of_each_type_in_turn_and_a_zero_for_none() -> None:
    assert instants_by_type([0, 1, 258, 0]) == {
        CheckType.REAL_NAME: None,
        CheckType.USAGE: EPOCH + MILLISECOND,
        CheckType.CARD_STATUS: EPOCH + 258 * MILLISECOND,
        CheckType.PACKAGE: None,
    }


@pytest.mark.parametrize("types", [len(TYPES) - 1, len(TYPES) + 1])
def test_what_was_written_for_more_or_fewer_types_is_not_taken_for_these(types: int) -> None:
    with pytest.raises(ValueError, match="zip"):
        unpacked_asks(bytes(types * DUE_BYTES))
    with pytest.raises(ValueError, match="zip"):
        instants_by_type([0] * types)


@pytest.mark.parametrize("failures", [-1, -100])
def test_there_are_no_failures_below_none(failures: int) -> None:
    with pytest.raises(OverflowError):
        packed_card({}, {CheckType.USAGE: failures})
