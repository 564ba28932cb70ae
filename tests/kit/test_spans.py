"""A length of time is told in its largest units, and only as exactly as it matters."""

from datetime import timedelta

import pytest

from project.kit.spans import span

SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (timedelta(0), "0 s"),
        (9 * SECOND, "9 s"),
        (40 * SECOND, "40 s"),
        (MINUTE, "1 min"),
        (90 * SECOND, "1 min 30 s"),
        (HOUR, "1 h"),
        (2 * HOUR + 5 * MINUTE, "2 h 5 min"),
        (23 * HOUR + 59 * MINUTE, "23 h"),
        (DAY + HOUR, "1 d 1 h"),
        (DAY + MINUTE, "1 d"),
        (400 * DAY + 5 * HOUR, "400 d"),
    ],
)
def test_a_span_is_told_in_its_largest_units(length: timedelta, text: str) -> None:
    assert span(length) == text


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (timedelta(milliseconds=49), "0 s"),
        (timedelta(milliseconds=50), "0.1 s"),
        (timedelta(milliseconds=300), "0.3 s"),
        (timedelta(milliseconds=9400), "9.4 s"),
        (timedelta(milliseconds=10_400), "10 s"),
    ],
)
def test_below_ten_seconds_tenths_count(length: timedelta, text: str) -> None:
    assert span(length) == text


def test_from_ten_of_a_unit_on_the_next_smaller_one_is_left_out() -> None:
    assert span(9 * MINUTE + 30 * SECOND) == "9 min 30 s"
    assert span(10 * MINUTE + 30 * SECOND) == "10 min"


def test_who_wants_it_more_exactly_says_below_how_many_of_a_unit_the_next_one_is_told() -> None:
    assert span(23 * HOUR + 59 * MINUTE, detail_below=24) == "23 h 59 min"
    assert span(24 * DAY + HOUR, detail_below=24) == "24 d"
