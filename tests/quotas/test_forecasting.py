"""Forecasts: hidden while little is known, whole numbers throughout, and never a moment too early."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quotas.forecasting import Forecast, Spending, forecast, sentence

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
HOUR, SECOND, MICROSECOND = timedelta(hours=1), timedelta(seconds=1), timedelta(microseconds=1)
RESET = NOW + 12 * HOUR

amounts = st.integers(1, 10**18)


def spent(units: int, *, hours: int = 6, charges: int = 100) -> Spending:
    return Spending(units, charges, NOW - hours * HOUR)


# --- at the rate of the last hours -------------------------------------------------------------------------------


def test_what_is_left_runs_out_before_the_reset() -> None:
    outlook = forecast(spent(600), 300, now=NOW, resets_at=RESET)

    assert outlook == Forecast(per_hour=100, runs_out_at=NOW + 3 * HOUR, resets_at=RESET)
    assert not outlook.lasts


def test_what_is_left_lasts_until_the_reset() -> None:
    outlook = forecast(spent(600), 1_200, now=NOW, resets_at=RESET)

    assert outlook == Forecast(per_hour=100, runs_out_at=None, resets_at=RESET)
    assert outlook.lasts


def test_without_a_reset_it_runs_out_some_day() -> None:
    outlook = forecast(spent(600), 240_000, now=NOW, resets_at=None)

    assert outlook == Forecast(per_hour=100, runs_out_at=NOW + 2_400 * HOUR, resets_at=None)


def test_a_young_quota_is_measured_from_its_first_charge() -> None:
    outlook = forecast(spent(600, hours=2), 300, now=NOW, resets_at=RESET)

    assert outlook == Forecast(per_hour=300, runs_out_at=NOW + HOUR, resets_at=RESET)


@pytest.mark.parametrize(
    "spending",
    [
        None,
        Spending(600, 4, NOW - 6 * HOUR),
        Spending(600, 100, NOW - HOUR + MICROSECOND),
        Spending(600, 100, NOW + HOUR),  # the clock was set back
    ],
)
def test_with_too_little_data_nothing_is_shown(spending: Spending | None) -> None:
    assert forecast(spending, 300, now=NOW, resets_at=RESET) is None


def test_five_charges_over_an_hour_are_enough() -> None:
    assert forecast(Spending(5, 5, NOW - HOUR), 300, now=NOW, resets_at=RESET) is not None


def test_without_a_limit_nothing_is_shown() -> None:
    assert forecast(spent(600), None, now=NOW, resets_at=RESET) is None


def test_what_is_used_up_runs_out_now() -> None:
    outlook = forecast(spent(600), 0, now=NOW, resets_at=RESET)

    assert outlook == Forecast(per_hour=100, runs_out_at=NOW, resets_at=RESET)


@pytest.mark.parametrize("units", [0, -50])
def test_where_all_was_refunded_it_lasts(units: int) -> None:
    assert forecast(spent(units), 1, now=NOW, resets_at=None) == Forecast(0, None, None)


def test_what_lasts_for_ten_years_does_not_run_out() -> None:
    assert forecast(spent(1), 9 * 10**18, now=NOW, resets_at=None) == Forecast(0, None, None)
    ten_years = 100 * 24 * 3650
    assert forecast(spent(600), ten_years, now=NOW, resets_at=None) == Forecast(100, None, None)
    day_before = NOW + 3649 * 24 * HOUR
    assert forecast(spent(600), ten_years - 2400, now=NOW, resets_at=None) == Forecast(100, day_before, None)


def test_what_is_used_up_has_run_out_although_all_was_refunded() -> None:
    assert forecast(spent(0), 0, now=NOW, resets_at=None) == Forecast(0, NOW, None)


@given(units=amounts, available=st.integers(0, 10**18), minutes=st.integers(60, 360))
def test_at_that_rate_what_is_left_lasts_exactly_so_long(units: int, available: int, minutes: int) -> None:
    span = timedelta(minutes=minutes)
    outlook = forecast(Spending(units, 5, NOW - span), available, now=NOW, resets_at=None)

    assert outlook is not None
    assert abs(outlook.per_hour * minutes - units * 60) <= minutes / 2
    if outlook.runs_out_at is None:
        assert available * minutes > units * 60 * 24 * 3649
    else:
        microseconds = (outlook.runs_out_at - NOW) // MICROSECOND
        whole = span // MICROSECOND
        assert microseconds * units <= available * whole < (microseconds + 1) * units


@given(available=st.integers(0, 10_000), more=st.integers(0, 10_000))
def test_more_never_runs_out_earlier(available: int, more: int) -> None:
    less, plenty = (forecast(spent(600), left, now=NOW, resets_at=RESET) for left in (available, available + more))

    assert less is not None
    assert plenty is not None
    assert plenty.lasts or (less.runs_out_at is not None and less.runs_out_at <= plenty.runs_out_at)


# --- in words ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("available", "resets_at", "words"),
    [
        (
            1_200,
            RESET,
            "Lasts until the reset on 2026-06-02 02:00 Europe/Berlin at the rate of the last hours (100 an hour).",
        ),
        (
            300,
            RESET,
            "Lasts until 2026-06-01 17:00 Europe/Berlin at the rate of the last hours (100 an hour); "
            "the reset is on 2026-06-02 02:00 Europe/Berlin.",
        ),
        (300, None, "Lasts until 2026-06-01 17:00 Europe/Berlin at the rate of the last hours (100 an hour)."),
        (0, RESET, "Nothing is left at the rate of the last hours (100 an hour)."),
        (10**15, None, "Lasts for years at the rate of the last hours (100 an hour)."),
    ],
)
def test_a_forecast_is_one_sentence(available: int, resets_at: datetime | None, words: str) -> None:
    outlook = forecast(spent(600), available, now=NOW, resets_at=resets_at)

    assert outlook is not None
    assert sentence(outlook, now=NOW, timezone="Europe/Berlin") == words


# --- expected back -----------------------------------------------------------------------------------------------
