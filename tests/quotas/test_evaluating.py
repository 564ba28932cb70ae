"""Sufficient or not: hysteresis, one edge on the rising edge, and what is quiet."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from alerts.attention import Attention
from quotas import charging, reserving, scans
from quotas.books import open_books_of_all
from quotas.evaluating import edge_written
from quotas.models import Edge, Quota
from quotas.states import Cause, Verdict
from tests.quotas.factories import (
    DAY,
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    block,
    books_of,
    edges_of,
    give_back,
    make_daily,
    make_family,
    make_quota,
    make_rate,
    now_is,
    say_remaining,
    spend,
    verdict_of,
    wait_for,
)

pytestmark = pytest.mark.django_db


# --- falling and rising ------------------------------------------------------------------------------------------


def test_a_quota_is_insufficient_when_it_is_used_up_and_not_before() -> None:
    quota = make_quota(100)
    spend(quota, 99)
    assert verdict_of(quota) == Verdict.SUFFICIENT
    spend(quota, 1, now=NOW + MINUTE)
    assert (verdict_of(quota), now_is(quota).verdict_at) == (Verdict.INSUFFICIENT, NOW + MINUTE)
    assert edges_of(quota) == []


def test_what_is_reserved_makes_it_insufficient_as_well() -> None:
    quota = make_quota(100)
    reserving.reserve(quota.key, 100, now=NOW)
    assert verdict_of(quota) == Verdict.INSUFFICIENT


def test_it_rises_only_above_the_threshold_and_at_once_after_what_a_person_decides() -> None:
    quota = make_quota(100)
    spend(quota, 100)
    charging.top_up(quota.key, 11, now=NOW)  # of 111, 11 is not more than a tenth
    assert edges_of(quota) == []
    charging.top_up(quota.key, 2, now=NOW)
    edge = Edge.objects.get(quota=quota)
    assert (edge.cause, edge.available, edge.at, edge.handled_at) == ("top_up", 13, NOW, None)
    assert verdict_of(quota) == Verdict.SUFFICIENT


def test_what_time_has_brought_back_is_told_as_that_whatever_is_done_when_it_is_noticed() -> None:
    daily, rate = make_daily(10), make_rate(10, seconds=60, stable_seconds=0)
    for quota in (daily, rate):
        spend(quota, 10)
    charging.set_limit(daily.key, 20, now=NOW + DAY)
    spend(rate, 1, now=NOW + HOUR)
    assert (edges_of(daily), edges_of(rate)) == (["reset"], ["refill"])


def test_what_a_person_gives_is_told_as_that_though_a_rate_has_refilled_a_little_meanwhile() -> None:
    rate = make_rate(100, seconds=600)
    spend(rate, 100)
    charging.set_limit(rate.key, 1000, now=NOW + HOUR)
    assert edges_of(rate) == ["limit_change"]


def test_staying_sufficient_writes_nothing() -> None:
    quota = make_quota(100)
    spend(quota, 100)
    for _ in range(5):
        charging.top_up(quota.key, 100, now=NOW)
    assert edges_of(quota) == ["top_up"]


def test_a_quota_of_one_unit_rises_with_that_unit() -> None:
    quota = make_daily(1)
    spend(quota, 1)
    scans.evaluate(quota.pk, now=NOW + DAY)
    assert edges_of(quota) == ["reset"]


def test_a_raised_limit_is_an_edge_at_once_and_a_lowered_one_is_not() -> None:
    """B59, B59c."""
    quota = make_daily(10)
    spend(quota, 10)
    charging.set_limit(quota.key, 20, now=NOW)
    assert (edges_of(quota), Edge.objects.get().available) == (["limit_change"], 10)
    charging.set_limit(quota.key, 5, now=NOW)
    assert verdict_of(quota) == Verdict.INSUFFICIENT
    charging.set_limit(quota.key, 10, now=NOW)
    assert edges_of(quota) == ["limit_change"]


def test_a_limit_of_zero_blocks_and_taken_away_it_is_an_edge() -> None:
    quota = make_quota(0)
    assert verdict_of(quota) == Verdict.INSUFFICIENT
    charging.set_limit(quota.key, None, now=NOW)
    assert (edges_of(quota), Edge.objects.get().available) == (["limit_change"], None)


def test_a_reset_is_an_edge_whoever_notices_it() -> None:
    for notice in (
        lambda quota, now: scans.evaluate_due(now=now),
        lambda quota, now: scans.evaluate(quota.pk, now=now),
        lambda quota, now: spend(quota, 1, now=now),
        lambda quota, now: reserving.reserve(quota.key, 1, now=now),
    ):
        quota = make_daily(10)
        spend(quota, 10)
        notice(quota, NOW + 12 * HOUR)
        notice(quota, NOW + 12 * HOUR)
        assert edges_of(quota) == ["reset"]


def test_the_scan_finds_a_reset_by_itself_and_looks_no_sooner() -> None:
    quota = make_daily(10)
    spend(quota, 10)
    assert now_is(quota).evaluate_at == NOW + 12 * HOUR
    assert scans.evaluate_due(now=NOW + 12 * HOUR - SECOND) == 0
    assert scans.evaluate_due(now=NOW + 12 * HOUR) == 1
    assert scans.evaluate_due(now=NOW + 12 * HOUR) == 0
    assert now_is(quota).evaluate_at is None


def test_the_edge_is_told_in_the_transaction_that_wrote_it() -> None:
    quota = make_quota(10)
    spend(quota, 10)
    heard: list[Edge] = []

    def hear(edge: Edge, **_: Any) -> None:
        assert transaction.get_connection().in_atomic_block
        heard.append(edge)

    edge_written.connect(hear)
    charging.top_up(quota.key, 10, now=NOW)
    edge_written.disconnect(hear)
    assert heard == [Edge.objects.get()]


# --- one cause, many quotas --------------------------------------------------------------------------------------


def test_what_is_done_to_a_quota_is_no_decision_about_what_it_is_part_of(told: list[Attention]) -> None:
    parent, leaf, _ = make_family(root=100, leaves=50)
    with books_of(parent, cause=Cause.SPENDING) as locked:
        locked.used = 100
    give_back(parent, 15, now=NOW)  # has to last for ten seconds
    charging.top_up(leaf.key, 10, now=NOW + SECOND)
    charging.set_limit(leaf.key, 70, now=NOW + SECOND)
    assert edges_of(parent) == []
    assert now_is(parent).warned_percent == 100
    scans.evaluate(parent.pk, now=NOW + 10 * SECOND)
    assert edges_of(parent) == ["refund"]


def test_a_parents_reset_is_its_own_edge_when_a_leaf_is_charged() -> None:
    parent = make_daily(10)
    leaf = make_quota(100, parent=parent)
    spend(leaf, 10)
    spend(leaf, 1, now=NOW + DAY)
    assert (edges_of(parent), edges_of(leaf)) == (["reset"], [])


# --- the provider ------------------------------------------------------------------------------------------------


def test_a_provider_that_refused_is_tried_before_the_crowd_is_let_in() -> None:
    """B74: its reset is a hint."""
    quota = make_quota(None)
    block(quota, NOW + MINUTE)
    assert (verdict_of(quota), now_is(quota).evaluate_at) == (Verdict.INSUFFICIENT, NOW + MINUTE)
    assert scans.evaluate_due(now=NOW + MINUTE) == 1
    row = now_is(quota)
    assert (row.verdict, row.provider_unverified, row.blocked_until) == (Verdict.INSUFFICIENT, True, None)
    scans.evaluate(quota.pk, now=NOW + MINUTE + 30 * SECOND)
    assert verdict_of(quota) == Verdict.INSUFFICIENT  # time alone does not let it rise
    with books_of(quota, now=NOW + 2 * MINUTE) as locked:
        locked.provider_unverified = False
    scans.evaluate_due(now=NOW + 2 * MINUTE + 10 * SECOND)
    assert edges_of(quota) == ["provider"]


@pytest.mark.parametrize(("spent", "unverified"), [(9, False), (10, True)])
def test_a_window_that_we_used_up_has_to_be_verified_like_one_that_the_provider_said_was_empty(
    spent: int, unverified: bool
) -> None:
    quota = make_quota(None)
    say_remaining(quota, 10, NOW + MINUTE)
    spend(quota, spent)
    scans.evaluate(quota.pk, now=NOW + MINUTE)
    assert now_is(quota).provider_unverified is unverified
    assert now_is(quota).provider_remaining is None


def test_what_a_provider_says_is_left_makes_a_quota_rise_after_the_stable_time() -> None:
    quota = make_quota(1000, stable_seconds=10)
    say_remaining(quota, 0, NOW + HOUR)
    assert verdict_of(quota) == Verdict.INSUFFICIENT
    say_remaining(quota, 500, NOW + HOUR, now=NOW + MINUTE)
    scans.evaluate_due(now=NOW + MINUTE + 10 * SECOND)
    assert edges_of(quota) == ["provider"]


# --- what is quiet -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "used", "below"), [(100, 0, 80), (100, 80, 95), (100, 95, 100), (7, 0, 6), (0, 0, 0)]
)
def test_charges_are_quiet_until_the_next_warning_or_the_end(limit: int, used: int, below: int) -> None:
    quota = make_quota(limit)
    if used:
        spend(quota, used)
    assert now_is(quota).quiet_below == below


def test_judging_without_a_change_changes_nothing() -> None:
    quotas = [make_quota(10), make_daily(10), make_rate(10), make_quota(None), make_quota(0)]
    for quota in quotas:
        wait_for(quota, 20)
    before = list(Quota.objects.order_by("pk").values())
    for quota in quotas:
        scans.evaluate(quota.pk, now=NOW)
    assert list(Quota.objects.order_by("pk").values()) == before


def test_quotas_are_locked_within_a_transaction_only(transactional_db: None) -> None:
    quota = make_quota(10)
    with pytest.raises(transaction.TransactionManagementError):
        open_books_of_all([quota.pk], NOW + timedelta(0))
