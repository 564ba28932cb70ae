"""Sufficient or not: hysteresis, stable times, one edge on the rising edge, warnings once a period."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from alerts.attention import Attention, attention_needed
from quotas import charging, evaluating, reserving, scans
from quotas.books import open_books_of_all
from quotas.evaluating import MOST_EDGES_AN_HOUR, bars_newcomers, edge_written
from quotas.models import Edge, Quota
from quotas.states import Cause, Verdict
from tests.quotas.factories import (
    DAY,
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    audit,
    block,
    books_of,
    change_row,
    edges_of,
    make_daily,
    make_family,
    make_quota,
    make_rate,
    now_is,
    say_remaining,
    spend,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def told() -> Iterator[list[Attention]]:
    """What people were told."""
    heard: list[Attention] = []

    def hear(attention: Attention, **_: Any) -> None:
        heard.append(attention)

    attention_needed.connect(hear)
    yield heard
    attention_needed.disconnect(hear)


def verdict_of(quota: Quota) -> str:
    return now_is(quota).verdict


def wait_for(quota: Quota, smallest: int | None, *, now: Any = NOW) -> None:
    """Note that somebody waits."""
    with books_of(quota, now=now, cause=Cause.SPENDING) as locked:
        evaluating.note_waiting(locked, smallest, None if smallest is None else now)


def give_back(quota: Quota, amount: int, *, now: Any) -> None:
    """Let so much trickle in: a refund of an earlier charge."""
    with books_of(quota, now=now, cause=Cause.REFUND) as locked:
        locked.used -= amount


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


# --- stable times ------------------------------------------------------------------------------------------------


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


# --- the provider ------------------------------------------------------------------------------------------------


def test_a_provider_that_refused_is_tried_before_the_crowd_is_let_in() -> None:
    """B74: its reset is a hint."""
    quota = make_quota(None)
    block(quota, NOW + MINUTE)
    assert (verdict_of(quota), now_is(quota).evaluate_at) == (Verdict.INSUFFICIENT, NOW + MINUTE)
    assert scans.evaluate_due(now=NOW + MINUTE) == 1
    row = now_is(quota)
    assert (row.verdict, row.provider_unverified, row.blocked_until) == (Verdict.INSUFFICIENT, True, None)
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


# --- warnings ----------------------------------------------------------------------------------------------------


def warnings(told: list[Attention]) -> list[str]:
    heard = [f"{attention.kind}: {attention.sentence}" for attention in told]
    told.clear()
    return heard


def test_each_warning_is_told_once_a_period(told: list[Attention]) -> None:
    quota = make_daily(100)
    spend(quota, 79)
    assert warnings(told) == []
    for _ in range(15):
        spend(quota, 1)
    assert warnings(told) == ["quota_warning: 80 % of it is used."]
    for _ in range(6):
        spend(quota, 1)
    assert [text.partition(":")[0] for text in warnings(told)] == ["quota_warning", "quota_exhausted"]
    scans.evaluate(quota.pk, now=NOW + DAY)
    spend(quota, 80, now=NOW + DAY)
    assert warnings(told) == ["quota_warning: 80 % of it is used."]


def test_a_charge_that_finds_a_new_period_and_uses_much_of_it_is_told(told: list[Attention]) -> None:
    quota = make_daily(100)
    spend(quota, 100)
    told.clear()
    spend(quota, 85, now=NOW + DAY)
    assert warnings(told) == ["quota_warning: 80 % of it is used."]


def test_a_top_up_arms_the_warnings_again(told: list[Attention]) -> None:
    """B75: warn, pause, top up, drain again: warned again."""
    quota = make_quota(100)
    spend(quota, 96)
    assert warnings(told) == ["quota_warning: 95 % of it is used."]
    charging.top_up(quota.key, 100, now=NOW)
    spend(quota, 70)
    assert warnings(told) == ["quota_warning: 80 % of it is used."]
    charging.set_limit(quota.key, 1000, now=NOW)
    assert warnings(told) == []
    charging.set_limit(quota.key, 170, now=NOW)
    assert warnings(told) == ["quota_warning: 95 % of it is used."]


def test_a_refund_does_not_arm_them(told: list[Attention]) -> None:
    quota = make_quota(100)
    spend(quota, 80, idempotency_key="step 1")
    assert len(warnings(told)) == 1
    charging.refund(quota.key, "step 1", now=NOW)
    spend(quota, 85)
    assert warnings(told) == []


def test_nothing_is_told_of_a_rate_an_unlimited_or_a_blocked_quota(told: list[Attention]) -> None:
    for quota in (make_rate(10), make_quota(None)):
        spend(quota, 10)
    charging.set_limit(make_quota(10).key, 0, now=NOW)
    assert warnings(told) == []


def test_what_is_told_is_undone_with_the_transaction_that_told_it() -> None:
    quota = make_quota(10)

    def fail(**_: Any) -> None:
        raise RuntimeError("no alert can be written")

    attention_needed.connect(fail)
    try:
        with pytest.raises(RuntimeError):
            spend(quota, 10)
    finally:
        attention_needed.disconnect(fail)
    assert (now_is(quota).used, now_is(quota).warned_percent) == (0, 0)
    audit()


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
