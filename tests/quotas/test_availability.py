"""What is left: one function for all kinds, at any instant, whatever scan ran."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quotas import availability, charging, reserving
from quotas.availability import available
from quotas.models import Quota
from quotas.states import Kind, WaitReason
from tests.quotas.factories import (
    DAY,
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    block,
    make_daily,
    make_quota,
    make_rate,
    now_is,
    say_remaining,
    spend,
)


def a_rate(**fields: object) -> Quota:
    """Return a drained rate that no database knows."""
    row = {"kind": Kind.RATE, "limit": 10, "used": 10, "refill_amount": 1, "refill_seconds": 1, "refilled_at": NOW}
    return Quota(key="rate", **row | fields)


# --- by our own limit --------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_available_is_the_limit_less_what_is_used_and_what_is_reserved() -> None:
    for quota in (make_quota(100), make_daily(100), make_rate(100, seconds=3600)):
        spend(quota, 30)
        reserving.reserve(quota.key, 20, now=NOW)
        assert available(now_is(quota), NOW) == 50


@pytest.mark.django_db
def test_an_unlimited_quota_has_no_figure_and_a_blocked_one_has_none_left() -> None:
    assert available(make_quota(None), NOW) is None
    assert available(make_quota(0), NOW) == 0


@pytest.mark.django_db
def test_a_debt_shows_as_nothing_left() -> None:
    """B59c, B49: never below 0 for people, and the debt is kept."""
    quota = make_quota(100)
    spend(quota, 80)
    charging.set_limit(quota.key, 50, now=NOW)
    assert available(now_is(quota), NOW) == 0
    assert now_is(quota).used == 80


@pytest.mark.django_db
def test_a_period_that_has_ended_counts_no_more_although_no_scan_has_run() -> None:
    quota = make_daily(100)
    spend(quota, 100)
    row = now_is(quota)
    assert available(row, NOW + 12 * HOUR - SECOND) == 0
    assert available(row, NOW + 12 * HOUR) == available(row, NOW + 90 * DAY) == 100


@pytest.mark.django_db
def test_a_month_in_tokyo_resets_at_its_midnight() -> None:
    """B61."""
    quota = make_quota(10, kind=Kind.PERIODIC, reset_preset="month", timezone="Asia/Tokyo")
    spend(quota, 10)
    midnight = datetime(2026, 6, 30, 15, tzinfo=UTC)
    assert now_is(quota).period_end == midnight
    assert [available(now_is(quota), at) for at in (midnight - SECOND, midnight)] == [0, 10]


@pytest.mark.django_db
def test_an_hourly_quota_resets_25_times_on_the_long_day_and_23_times_on_the_short_one() -> None:
    """B64."""
    for first, resets in (("2026-10-24T22:00", 25), ("2026-03-28T23:00", 23)):
        start = datetime.fromisoformat(first).replace(tzinfo=UTC)
        quota = make_quota(
            1, kind=Kind.PERIODIC, reset_preset="hour", timezone="Europe/Berlin", now=start, key=f"hourly {resets}"
        )
        end = start + resets * HOUR
        granted = 0
        while start < end:
            granted += spend(quota, 1, now=start).amount
            start += HOUR
        assert granted == resets
        assert now_is(quota).period_end == end


# --- rates -------------------------------------------------------------------------------------------------------


def test_what_is_announced_is_the_first_instant_at_which_it_is_there() -> None:
    """B32, B35."""
    for amount, seconds in ((1, 1), (5, 300), (3, 1), (7, 60), (6000, 1), (1, 86_400)):
        quota = a_rate(refill_amount=amount, refill_seconds=seconds)
        for wanted in (1, 3, 10):
            at = availability.refills_at(quota, wanted)
            assert (available(quota, at) or 0) >= wanted
            assert (available(quota, at - timedelta(microseconds=1)) or 0) < wanted


@given(
    amount=st.integers(1, 10_000),
    seconds=st.integers(1, 100_000),
    looks=st.lists(st.integers(0, 10_000_000), min_size=1, max_size=20),
)
def test_however_often_a_rate_is_counted_it_never_comes_to_more_than_at_once(
    amount: int, seconds: int, looks: list[int]
) -> None:
    """B30, B32: also when clocks go back."""
    quota = a_rate(limit=10**9, used=10**9, refill_amount=amount, refill_seconds=seconds)
    now, latest, units = NOW, NOW, 0
    for microseconds in looks:
        now = NOW + timedelta(microseconds=microseconds)
        latest = max(now, latest)
        refill = availability.refilled(quota, now)
        assert quota.refilled_at is not None
        assert quota.refilled_at <= refill.until
        assert refill.units == 0 or refill.until <= now
        units, quota.refilled_at = units + refill.units, refill.until
    elapsed = (latest - NOW) // timedelta(microseconds=1)
    assert units <= elapsed * amount // (seconds * 1_000_000)


def test_a_quota_that_is_no_rate_has_no_refill() -> None:
    with pytest.raises(ValueError, match="is no rate"):
        availability.refilled(Quota(key="capacity"), NOW)
    with pytest.raises(ValueError, match="is no rate"):
        availability.refills_at(Quota(key="capacity"), 1)


# --- by the provider ---------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_where_the_provider_says_that_less_is_left_that_counts() -> None:
    quota = make_daily(100)
    spend(quota, 10)
    say_remaining(quota, 40, NOW + HOUR)
    assert available(now_is(quota), NOW) == 40
    spend(quota, 5)
    reserving.reserve(quota.key, 20, now=NOW)
    assert available(now_is(quota), NOW) == 15
    assert available(now_is(quota), NOW + HOUR) == 65
    say_remaining(quota, 1000, NOW + HOUR)
    assert available(now_is(quota), NOW) == 65


@pytest.mark.django_db
def test_of_an_unlimited_quota_what_the_provider_says_counts() -> None:
    quota = make_quota(None)
    say_remaining(quota, 40, NOW + HOUR)
    assert available(now_is(quota), NOW) == 40
    block(quota, NOW + MINUTE)
    assert available(now_is(quota), NOW) == 0


@pytest.mark.django_db
def test_a_reservation_that_is_settled_leaves_what_the_provider_said_as_it_was_held() -> None:
    quota = make_quota(None)
    say_remaining(quota, 40, NOW + HOUR)
    held = reserving.reserve(quota.key, 30, now=NOW)
    assert available(now_is(quota), NOW) == 10
    reserving.settle(held.pk, 25, now=NOW)
    assert available(now_is(quota), NOW) == 15


@pytest.mark.django_db
def test_a_balance_without_a_reset_counts_until_two_polls_were_missed() -> None:
    quota = make_quota(None, poll_ceiling_seconds=3600)
    say_remaining(quota, 40, None)
    assert available(now_is(quota), NOW + 2 * HOUR - SECOND) == 40
    assert available(now_is(quota), NOW + 2 * HOUR) is None


# --- why, and until when -----------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_it_is_said_what_is_waited_for_and_until_when() -> None:
    quota = make_daily(100)
    spend(quota, 95)
    midnight = NOW + 12 * HOUR
    assert told(quota, 10) == (WaitReason.OWN_BUDGET, midnight)
    say_remaining(quota, 2, NOW + HOUR)
    assert told(quota, 3) == (WaitReason.PROVIDER_WINDOW, NOW + HOUR)
    assert told(quota, 10) == (WaitReason.PROVIDER_WINDOW, midnight)  # both have to let it pass
    block(quota, NOW + DAY)
    assert told(quota, 3) == (WaitReason.PROVIDER_WINDOW, NOW + DAY)
    assert told(quota, 101) == (WaitReason.PROVIDER_WINDOW, None)  # a person has to raise the limit


@pytest.mark.django_db
def test_a_capacity_comes_back_by_a_person_only() -> None:
    quota = make_quota(10)
    spend(quota, 10)
    assert told(quota, 1) == (WaitReason.OWN_BUDGET, None)


@pytest.mark.django_db
def test_a_provider_that_refuses_and_does_not_say_until_when_has_its_own_reason() -> None:
    quota = make_quota(10)
    block(quota, NOW + MINUTE)
    row = now_is(quota)
    row.blocked_without_reset = True
    assert availability.why(row, 1, NOW) == WaitReason.UNKNOWN_RESET


def told(quota: Quota, amount: int) -> tuple[WaitReason, datetime | None]:
    row = now_is(quota)
    return availability.why(row, amount, NOW), availability.expected_at(row, amount, NOW)


# --- the bar -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "threshold", "bar"),
    [(100, "0.1", 10), (15, "0.1", 1), (1, "0.1", 0), (5, "0.1", 0), (1, "0.999", 0), (10**15, "0.999", 999 * 10**12)],
)
def test_the_bar_is_the_part_of_the_limit_rounded_down_and_more_than_it_has_to_be_there(
    limit: int, threshold: str, bar: int
) -> None:
    assert availability.bar(Quota(limit=limit, resume_threshold=Decimal(threshold))) == bar


def test_the_bar_is_by_the_providers_limit_where_that_is_lower() -> None:
    half = Decimal("0.5")
    assert availability.bar(Quota(limit=100, provider_limit=10, resume_threshold=half)) == 5
    assert availability.bar(Quota(limit=None, provider_limit=10, resume_threshold=half)) == 5
    assert availability.bar(Quota(limit=None, resume_threshold=half)) == 0
