"""What the clocks of a zone show, when they change, and until when a daily window lasts by them."""

from datetime import time, timedelta
from zoneinfo import ZoneInfo

import pytest

from project.kit.wall_clocks import changes, first_change, last_change, quiet_until, suggestion
from tests.scheduler.factories import utc

BERLIN, SAO_TOME = ZoneInfo("Europe/Berlin"), ZoneInfo("Africa/Sao_Tome")
SPRING, AUTUMN = utc("2026-03-29 01:00"), utc("2026-10-25 01:00")
SECOND = timedelta(seconds=1)


# --- names ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("berlin", "Did you mean Europe/Berlin?"),
        ("gmt", "Did you mean GMT?"),
        ("Eastern", "Did you mean Canada/Eastern or US/Eastern?"),
        ("Amerika/New York", "Did you mean America/New_York?"),
    ],
)
def test_who_writes_a_place_or_nearly_a_name_is_told_the_names(name: str, hint: str) -> None:
    assert suggestion(name) == hint


def test_no_more_than_three_names_are_told() -> None:
    assert suggestion("Australia/Tasmanien").count("Australia/") == 3


@pytest.mark.parametrize("name", ["", "UTC+8", "Etc/GMT8", "Asia/Beijing"])
def test_where_no_name_is_near_or_means_what_it_seems_to_it_is_told_what_a_name_looks_like(name: str) -> None:
    assert suggestion(name) == "Write the name of a place, as in Europe/Berlin or Asia/Shanghai, or UTC."


# --- changes -------------------------------------------------------------------------------------------------------


def test_the_changes_of_several_years_come_once_each_and_in_their_order() -> None:
    assert list(changes(BERLIN, utc("2025-06-01 00:00"), utc("2027-06-01 00:00"))) == [
        utc("2025-10-26 01:00"),
        SPRING,
        AUTUMN,
        utc("2027-03-28 01:00"),
    ]


def test_a_change_in_the_first_night_of_a_year_is_one_of_that_year() -> None:
    """São Tomé went to the time of its neighbours at New Year 2018, and back at New Year 2019."""
    assert list(changes(SAO_TOME, utc("2017-01-01 00:00"), utc("2020-01-01 00:00"))) == [
        utc("2018-01-01 01:00"),
        utc("2019-01-01 01:00"),
    ]


def test_a_change_at_the_beginning_of_what_is_looked_through_has_passed_and_one_at_its_end_counts() -> None:
    assert list(changes(BERLIN, SPRING, AUTUMN)) == [AUTUMN]
    assert list(changes(BERLIN, SPRING, AUTUMN - SECOND)) == []
    assert (first_change(BERLIN, SPRING, AUTUMN), last_change(BERLIN, SPRING, AUTUMN)) == (AUTUMN, AUTUMN)
    assert first_change(BERLIN, SPRING, AUTUMN - SECOND) is None
    assert last_change(BERLIN, SPRING, AUTUMN - SECOND) is None


def test_the_last_change_may_have_been_in_an_earlier_year() -> None:
    assert last_change(BERLIN, SPRING, utc("2027-01-15 00:00")) == AUTUMN


# --- a daily window ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("window", "instant", "end"),
    [
        ((9, 17), "2026-06-01T09:00+02:00", "2026-06-01T17:00+02:00"),
        ((9, 17), "2026-06-01T16:59:59.999999+02:00", "2026-06-01T17:00+02:00"),
        ((9, 17), "2026-06-01T08:59:59.999999+02:00", None),
        ((9, 17), "2026-06-01T17:00+02:00", None),
        ((22, 6), "2026-06-01T21:59:59.999999+02:00", None),
        ((22, 6), "2026-06-01T22:00+02:00", "2026-06-02T06:00+02:00"),
        ((22, 6), "2026-06-02T00:00+02:00", "2026-06-02T06:00+02:00"),
        ((22, 6), "2026-06-02T05:59:59.999999+02:00", "2026-06-02T06:00+02:00"),
        ((22, 6), "2026-06-02T06:00+02:00", None),
        ((0, 6), "2026-06-02T00:00+02:00", "2026-06-02T06:00+02:00"),
        ((22, 0), "2026-06-01T23:00+02:00", "2026-06-02T00:00+02:00"),
        ((22, 0), "2026-06-02T00:00+02:00", None),
    ],
)
def test_a_window_holds_its_beginning_and_not_its_end_and_may_pass_midnight(
    window: tuple[int, int], instant: str, end: str | None
) -> None:
    begins, ends = (time(hour) for hour in window)
    assert quiet_until(begins, ends, BERLIN, utc(instant)) == (utc(end) if end else None)


def test_an_end_that_the_clocks_leave_out_is_the_end_of_the_gap() -> None:
    """On 29 March 2026 Berlin's clocks go from 02:00 to 03:00."""
    gap_ends = utc("2026-03-29T03:00+02:00")
    assert quiet_until(time(0), time(2, 30), BERLIN, utc("2026-03-29T01:59+01:00")) == gap_ends
    assert quiet_until(time(0), time(2, 30), BERLIN, gap_ends) is None


@pytest.mark.parametrize(
    ("instant", "end"),
    [
        ("2026-10-25T02:29+02:00", "2026-10-25T02:30+02:00"),
        ("2026-10-25T02:30+02:00", None),
        ("2026-10-25T02:59+02:00", None),
        ("2026-10-25T02:00+01:00", "2026-10-25T02:30+01:00"),  # the clocks show two again
        ("2026-10-25T02:29+01:00", "2026-10-25T02:30+01:00"),
        ("2026-10-25T02:30+01:00", None),
    ],
)
def test_what_the_clocks_show_twice_is_quiet_twice_and_never_until_an_instant_that_has_passed(
    instant: str, end: str | None
) -> None:
    assert quiet_until(time(1), time(2, 30), BERLIN, utc(instant)) == (utc(end) if end else None)


def test_a_night_is_quiet_until_its_end_whatever_the_clocks_do_in_it() -> None:
    for evening, morning in [
        ("2026-03-28T23:00+01:00", "2026-03-29T06:00+02:00"),
        ("2026-10-24T23:00+02:00", "2026-10-25T06:00+01:00"),
    ]:
        assert quiet_until(time(22), time(6), BERLIN, utc(evening)) == utc(morning)
