"""More to spend: top-ups, resets before their time, and other limits."""

from typing import Any

import pytest

from quotas import charging
from quotas.amounts import LARGEST
from quotas.refusals import BadAmount, Conflict, QuotaError, Refused
from tests.quotas.factories import (
    NOW,
    SECOND,
    audit,
    edges_of,
    entries_of,
    make_daily,
    make_quota,
    make_rate,
    now_is,
    spend,
)

pytestmark = pytest.mark.django_db


def test_a_top_up_adds_once_a_key_and_at_once() -> None:
    """B19."""
    quota = make_quota(10)
    spend(quota, 10)
    assert [charging.top_up(quota.key, 5, now=NOW, idempotency_key="invoice 7") for _ in range(3)] == [15] * 3
    with pytest.raises(Conflict):
        charging.top_up(quota.key, 6, now=NOW, idempotency_key="invoice 7")
    spend(quota, 5)
    assert entries_of(quota) == [("limit", 10), ("charge", -10), ("top_up", 5), ("charge", -5)]
    audit()


def test_only_a_capacity_with_a_limit_can_be_topped_up() -> None:
    for quota in (make_daily(10), make_rate(10), make_quota(None)):
        with pytest.raises(QuotaError, match="Only a capacity with a limit"):
            charging.top_up(quota.key, 5, now=NOW)
    with pytest.raises(BadAmount):
        charging.top_up(make_quota(LARGEST).key, 1, now=NOW)


def test_a_reset_before_its_time_gives_back_what_is_used_once_a_key() -> None:
    quota = make_daily(10)
    spend(quota, 10)
    resets_at = now_is(quota).period_end
    assert [charging.reset(quota.key, now=NOW, idempotency_key="ticket 7") for _ in range(2)] == [10, 10]
    assert (now_is(quota).used, now_is(quota).period_end) == (0, resets_at)
    assert edges_of(quota) == ["reset"]
    spend(quota, 4)
    assert entries_of(quota) == [("limit", 10), ("charge", -10), ("reset", 10), ("charge", -4)]
    audit()


def test_a_refund_of_what_was_reset_away_gives_nothing() -> None:
    quota = make_daily(10)
    before = spend(quota, 6)
    charging.reset(quota.key, now=NOW)
    spend(quota, 5)
    assert charging.refund(quota.key, before.idempotency_key, now=NOW + SECOND) == 0
    assert now_is(quota).used == 5
    audit()


def test_only_what_resets_by_the_clock_is_reset() -> None:
    for quota in (make_quota(10), make_rate(10)):
        with pytest.raises(QuotaError, match="Only a quota that resets by the clock"):
            charging.reset(quota.key, now=NOW)


def test_a_raised_limit_is_there_at_once() -> None:
    """B59."""
    quota = make_daily(10)
    spend(quota, 10)
    charging.set_limit(quota.key, 20, now=NOW)
    spend(quota, 10)
    assert now_is(quota).used == 20
    audit()


def test_a_limit_below_what_is_used_keeps_the_debt_and_refuses() -> None:
    """B59c."""
    quota = make_daily(100)
    spend(quota, 80)
    charging.set_limit(quota.key, 50, now=NOW)
    with pytest.raises(Refused, match="has 0 left of the 1"):
        spend(quota, 1)
    charging.set_limit(quota.key, 90, now=NOW)
    with pytest.raises(Refused, match="has 10 left of the 11"):
        spend(quota, 11)
    audit()


def test_unlimited_and_blocked_are_two_limits_under_one_key_too() -> None:
    quota = make_quota(10)
    charging.set_limit(quota.key, None, now=NOW, idempotency_key="plan")
    charging.set_limit(quota.key, None, now=NOW, idempotency_key="plan")
    with pytest.raises(Conflict, match="for unlimited, and now for 0"):
        charging.set_limit(quota.key, 0, now=NOW, idempotency_key="plan")
    assert now_is(quota).limit is None
    assert entries_of(quota) == [("limit", 10), ("limit", -10)]
    audit()


@pytest.mark.parametrize("limit", [-1, 1.5, "7", True, float("nan"), LARGEST + 1])
def test_a_limit_that_is_none_is_refused_in_a_sentence(limit: Any) -> None:
    quota = make_quota(10)
    with pytest.raises(BadAmount, match="A limit is a whole number from 0"):
        charging.set_limit(quota.key, limit, now=NOW)


def test_a_rate_has_to_have_a_limit() -> None:
    quota = make_rate(10)
    with pytest.raises(QuotaError, match="needs a limit"):
        charging.set_limit(quota.key, None, now=NOW)
