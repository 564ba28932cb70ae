"""Shadow mode: everything is counted and reported, nothing is blocked."""

import pytest

from quotas import charging, evaluating, reserving, scans
from quotas.defining import save_changes
from quotas.models import LedgerEntry, Quota
from quotas.refusals import Refused
from quotas.states import Cause, Verdict
from tests.quotas.factories import (
    DAY,
    HOUR,
    NOW,
    audit,
    block,
    books_of,
    edges_of,
    make_daily,
    make_quota,
    make_rate,
    now_is,
    spend,
)

pytestmark = pytest.mark.django_db


def switch(quota: Quota, *, shadow: bool) -> None:
    row = now_is(quota)
    row.shadow = shadow
    save_changes(row, expected_version=row.version, now=NOW)


def test_what_would_have_been_refused_is_charged_and_counted() -> None:
    for quota in (make_quota(10, shadow=True), make_daily(10, shadow=True), make_rate(10, shadow=True)):
        assert [spend(quota, amount).over_limit for amount in (8, 8, 100)] == [False, True, True]
        assert (now_is(quota).used, now_is(quota).over_limit_count) == (116, 2)
    assert LedgerEntry.objects.filter(over_limit=True).count() == 6
    audit()


def test_a_repeated_charge_says_what_the_first_one_said() -> None:
    quota = make_quota(10, shadow=True)
    results = [spend(quota, 50, idempotency_key="step 1") for _ in range(2)]
    assert [(result.over_limit, result.repeated) for result in results] == [(True, False), (True, True)]


def test_it_is_never_insufficient_so_that_nobody_waits_for_it() -> None:
    quota = make_quota(10, shadow=True)
    spend(quota, 100)
    block(quota, NOW + HOUR)
    assert spend(quota, 1).over_limit
    assert now_is(quota).verdict == Verdict.SUFFICIENT
    assert not evaluating.bars_newcomers(now_is(quota), NOW + DAY)
    assert reserving.reserve(quota.key, 50, now=NOW).amount == 50
    audit()


def test_the_quotas_that_it_is_part_of_still_refuse() -> None:
    parent = make_quota(10)
    leaf = make_quota(1, parent=parent, shadow=True)
    spend(leaf, 9)
    with pytest.raises(Refused) as refusal:
        spend(leaf, 2)
    assert refusal.value.blocker == parent.key
    audit()


def test_switched_on_it_lets_go_whoever_waits_and_switched_off_it_blocks_again() -> None:
    quota = make_quota(10)
    spend(quota, 10)
    with books_of(quota, cause=Cause.SPENDING) as locked:
        evaluating.note_waiting(locked, 5, NOW)
    switch(quota, shadow=True)
    assert edges_of(quota) == ["limit_change"]
    spend(quota, 5)
    switch(quota, shadow=False)
    assert now_is(quota).verdict == Verdict.INSUFFICIENT
    with pytest.raises(Refused, match="has 0 left"):
        spend(quota, 1)
    charging.top_up(quota.key, 20, now=NOW)
    assert edges_of(quota) == ["limit_change", "top_up"]
    audit()


def test_a_need_above_its_limit_is_met_too() -> None:
    quota = make_quota(10, shadow=True)
    with books_of(quota, cause=Cause.SPENDING) as locked:
        evaluating.note_waiting(locked, 50, NOW)
    assert edges_of(quota) == ["spending"]
    scans.evaluate(quota.pk, now=NOW)
    assert edges_of(quota) == ["spending"]
