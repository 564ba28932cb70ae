"""After a reset, and after more came back, a quota is sufficient only when it was so for a while."""

import pytest

from alerts.attention import Attention
from quotas import charging, scans
from quotas.evaluating import MOST_EDGES_AN_HOUR
from quotas.states import Cause, Verdict
from tests.quotas.factories import (
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    books_of,
    edges_of,
    give_back,
    make_daily,
    make_quota,
    make_rate,
    now_is,
    spend,
    verdict_of,
)

pytestmark = pytest.mark.django_db


def test_what_trickles_in_has_to_last_and_the_scan_notices_that_it_did() -> None:
    quota = make_quota(100, stable_seconds=10)
    spend(quota, 100)
    give_back(quota, 20, now=NOW + MINUTE)
    assert now_is(quota).evaluate_at == NOW + MINUTE + 10 * SECOND
    assert scans.evaluate_due(now=NOW + MINUTE + 9 * SECOND) == 0
    assert edges_of(quota) == []
    assert scans.evaluate_due(now=NOW + MINUTE + 10 * SECOND) == 1
    assert edges_of(quota) == ["refund"]


def test_what_falls_below_the_threshold_in_between_begins_anew() -> None:
    quota = make_quota(100, stable_seconds=10)
    spend(quota, 100)
    give_back(quota, 11, now=NOW)
    spend(quota, 1, now=NOW + 9 * SECOND)
    give_back(quota, 1, now=NOW + 10 * SECOND)
    scans.evaluate(quota.pk, now=NOW + 19 * SECOND)
    assert edges_of(quota) == []
    scans.evaluate(quota.pk, now=NOW + 20 * SECOND)
    assert edges_of(quota) == ["refund"]


def test_a_decision_ends_the_time_for_which_it_has_to_last() -> None:
    quota = make_quota(100, stable_seconds=600)
    spend(quota, 100)
    give_back(quota, 20, now=NOW)
    charging.top_up(quota.key, 1, now=NOW + SECOND)
    assert edges_of(quota) == ["top_up"]


def test_a_reset_may_have_to_last_as_well() -> None:
    quota = make_daily(10, stable_after_reset_seconds=30)
    spend(quota, 10)
    midnight = NOW + 12 * HOUR
    scans.evaluate_due(now=midnight)
    assert (edges_of(quota), now_is(quota).evaluate_at) == ([], midnight + 30 * SECOND)
    scans.evaluate_due(now=midnight + 30 * SECOND)
    assert edges_of(quota) == ["reset"]


def test_available_that_alternates_around_the_threshold_each_second_is_no_edge() -> None:
    """B58."""
    quota = make_quota(1000, stable_seconds=10)
    spend(quota, 1000)
    give_back(quota, 99, now=NOW)
    for second in range(0, 120, 2):
        give_back(quota, 2, now=NOW + second * SECOND)
        give_back(quota, -2, now=NOW + (second + 1) * SECOND)
    assert edges_of(quota) == []


def test_what_came_back_too_often_within_an_hour_waits_and_is_told_once(told: list[Attention]) -> None:
    """B58: damping is not beaten by a slow rhythm."""
    quota = make_quota(10, stable_seconds=10)
    now = NOW
    spend(quota, 10)
    told.clear()
    for _ in range(100):
        now += 20 * SECOND
        give_back(quota, 10, now=now)
        now += 11 * SECOND
        scans.evaluate_due(now=now)
        with books_of(quota, now=now, cause=Cause.SPENDING) as locked:
            locked.used = 10
    assert now < NOW + HOUR
    assert len(edges_of(quota)) == MOST_EDGES_AN_HOUR
    assert [attention.kind for attention in told] == ["quota_flapping"]


def test_after_the_hour_it_may_come_back_again_and_what_a_person_decides_always_may() -> None:
    quota = make_quota(10, stable_seconds=0)
    for _ in range(MOST_EDGES_AN_HOUR + 5):
        with books_of(quota, cause=Cause.SPENDING) as locked:
            locked.used = 10
        give_back(quota, 10, now=NOW)
    assert len(edges_of(quota)) == MOST_EDGES_AN_HOUR
    assert now_is(quota).evaluate_at == NOW + HOUR
    charging.set_limit(quota.key, 20, now=NOW + MINUTE)
    assert edges_of(quota)[-1] == "limit_change"
    with books_of(quota, now=NOW + MINUTE, cause=Cause.SPENDING) as locked:
        locked.used = 20
    give_back(quota, 20, now=NOW + 2 * MINUTE)
    assert verdict_of(quota) == Verdict.INSUFFICIENT
    scans.evaluate_due(now=NOW + HOUR)
    assert edges_of(quota)[-1] == "refund"


def test_what_refills_comes_back_also_while_what_trickles_in_has_to_wait() -> None:
    quota = make_rate(10, amount=1, seconds=1, stable_seconds=0)
    for _ in range(MOST_EDGES_AN_HOUR + 1):
        with books_of(quota, cause=Cause.SPENDING) as locked:
            locked.used = 10
        give_back(quota, 10, now=NOW)
    assert (len(edges_of(quota)), now_is(quota).calm_until) == (MOST_EDGES_AN_HOUR, NOW + HOUR)
    with books_of(quota, cause=Cause.SPENDING) as locked:
        locked.used = 10
    scans.evaluate_due(now=NOW + 5 * SECOND)
    assert edges_of(quota)[-1] == "refill"


def test_what_has_refilled_is_the_cause_also_where_a_charge_notices_it() -> None:
    quota = make_rate(10, amount=1, seconds=1, stable_seconds=10)
    spend(quota, 10)
    spend(quota, 1, now=NOW + 5 * SECOND)
    assert (now_is(quota).above_cause, now_is(quota).above_since) == ("refill", NOW + 5 * SECOND)
    spend(quota, 1, now=NOW + 15 * SECOND)
    assert edges_of(quota) == ["refill"]


def test_a_rate_that_is_drained_and_refills_all_day_is_not_taken_for_one_that_flaps(told: list[Attention]) -> None:
    quota = make_rate(1, amount=1, seconds=10, stable_seconds=10)
    now = NOW
    spend(quota, 1)
    for _ in range(60):
        now += 20 * SECOND
        scans.evaluate_due(now=now - 10 * SECOND)
        scans.evaluate_due(now=now)
        spend(quota, 1, now=now)
    assert edges_of(quota) == ["refill"] * 60
    assert told == []
