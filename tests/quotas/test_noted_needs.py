"""For those who wait, what they need has to be there; and the fallback poll finds what no event told."""

from typing import Any

import pytest

from quotas import charging, evaluating, scans
from quotas.evaluating import bars_newcomers
from quotas.models import Edge
from tests.quotas.factories import (
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    change_row,
    edges_of,
    make_daily,
    make_quota,
    make_rate,
    now_is,
    spend,
    wait_for,
)

pytestmark = pytest.mark.django_db


# --- whoever waits -----------------------------------------------------------------------------------------------


def test_the_coming_of_what_is_waited_for_is_an_edge_of_a_sufficient_quota_too() -> None:
    quota = make_quota(100)
    spend(quota, 95)
    wait_for(quota, 10)
    assert edges_of(quota) == []
    charging.top_up(quota.key, 4, now=NOW)
    assert edges_of(quota) == []
    charging.top_up(quota.key, 1, now=NOW)
    charging.top_up(quota.key, 1, now=NOW)
    assert (edges_of(quota), Edge.objects.get().available) == (["top_up"], 10)


def test_a_need_that_fits_when_it_is_noted_is_an_edge_at_once() -> None:
    """Pausing reads the quota again: what came back in between leaves nobody asleep."""
    quota = make_quota(100)
    wait_for(quota, 10)
    assert edges_of(quota) == ["spending"]


def test_once_what_is_waited_for_is_there_nobody_looks_for_it_by_the_clock() -> None:
    quota = make_daily(100)
    spend(quota, 95)
    wait_for(quota, 10)
    assert now_is(quota).evaluate_at == NOW + 12 * HOUR
    charging.set_limit(quota.key, 105, now=NOW)
    assert (edges_of(quota), now_is(quota).evaluate_at) == (["limit_change"], None)


def test_nobody_waits_any_more_is_no_edge() -> None:
    quota = make_quota(100)
    spend(quota, 95)
    wait_for(quota, 10)
    wait_for(quota, None)
    charging.top_up(quota.key, 100, now=NOW)
    assert edges_of(quota) == []


def test_a_rate_says_when_what_is_waited_for_will_be_there() -> None:
    quota = make_rate(10, amount=1, seconds=1)
    spend(quota, 8)
    wait_for(quota, 7)
    assert now_is(quota).evaluate_at == NOW + 5 * SECOND
    scans.evaluate_due(now=NOW + 5 * SECOND)
    assert edges_of(quota) == ["refill"]


def test_a_need_for_the_whole_of_a_rate_comes_when_it_is_full() -> None:
    quota = make_rate(10, amount=1, seconds=1, stable_seconds=0)
    spend(quota, 10)
    wait_for(quota, 10)
    for second in range(1, 11):
        scans.evaluate_due(now=NOW + second * SECOND)
    edges = Edge.objects.order_by("id").values_list("available", "at")
    assert list(edges) == [(2, NOW + 2 * SECOND), (10, NOW + 10 * SECOND)]
    assert now_is(quota).evaluate_at is None


@pytest.mark.parametrize(("make", "barred"), [(make_quota, True), (make_rate, True), (make_daily, False)])
def test_what_is_left_is_kept_for_a_bigger_need_once_its_patience_is_over(make: Any, barred: bool) -> None:
    """B56; but what is left of a period is not kept for what only the reset can meet."""
    quota = make(10, patience_seconds=600)
    spend(quota, 5)
    wait_for(quota, 8)
    assert not bars_newcomers(now_is(quota), NOW + 10 * MINUTE - SECOND)
    assert bars_newcomers(now_is(quota), NOW + 10 * MINUTE) is barred


def test_an_insufficient_quota_bars_newcomers() -> None:
    quota = make_quota(10)
    assert not bars_newcomers(quota, NOW)
    spend(quota, 10)
    assert bars_newcomers(now_is(quota), NOW)


# --- the fallback poll -------------------------------------------------------------------------------------------


def test_a_verdict_that_outlived_its_reason_is_cleared_by_the_fallback_check() -> None:
    """B59b: room is there, no event said so."""
    quota = make_quota(100, stable_seconds=10)
    spend(quota, 100)
    change_row(quota, used=50, evaluate_at=None)
    scans.evaluate(quota.pk, now=NOW + MINUTE, checked=True)
    scans.evaluate_due(now=NOW + MINUTE + 10 * SECOND)
    assert edges_of(quota) == ["poll"]


def test_nobody_waits_for_a_sufficient_quota_so_nobody_polls_it() -> None:
    assert make_quota(10).next_check_at is None
    assert make_quota(10, probe_url="https://example.org/", probe_limit="limit").next_check_at is not None
    quota = make_quota(10)
    wait_for(quota, 11)
    assert now_is(quota).next_check_at is not None


def test_the_poll_looks_often_near_the_next_change_seldom_far_from_it_and_within_its_bounds() -> None:
    quota = make_daily(10, poll_floor_seconds=30, poll_ceiling_seconds=3600)
    spend(quota, 10)
    expected = {
        0: 3600,  # twelve hours before the reset
        12 * 3600 - 6000: 600,
        12 * 3600 - 600: 60,
        12 * 3600 - 100: 30,
        12 * 3600 - 50: 50,  # at the reset rather than 20 seconds before it
        12 * 3600 - 10: 30,
    }
    for seconds, interval in expected.items():
        now = NOW + seconds * SECOND
        planned = evaluating.next_check(now_is(quota), now)
        assert planned is not None
        assert interval <= (planned - now).total_seconds() <= interval * 1.1


def test_quotas_of_the_same_rule_are_not_looked_at_together() -> None:
    quotas = [make_daily(1) for _ in range(8)]
    for quota in quotas:
        spend(quota, 1)
    assert len({now_is(quota).next_check_at for quota in quotas}) == 8


def test_a_busy_quota_does_not_put_its_check_off() -> None:
    quota = make_rate(10, amount=1, seconds=1000, poll_floor_seconds=30)
    wait_for(quota, 11)
    planned = now_is(quota).next_check_at
    assert planned is not None
    for second in range(10):
        spend(quota, 1, now=planned + (second - 5) * SECOND)
    assert now_is(quota).next_check_at == planned
    scans.evaluate(quota.pk, now=planned + 5 * SECOND, checked=True)
    assert (now_is(quota).next_check_at or NOW) > planned + 5 * SECOND


def test_a_due_check_is_claimed_by_one() -> None:
    quota = make_quota(1)
    spend(quota, 1)
    later = NOW + 2 * HOUR
    assert [scans.claim_checks(now=later) for _ in range(2)] == [[quota.pk], []]
