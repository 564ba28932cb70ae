"""Charging: all links or none, once a key, never beyond the limit."""

from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.db.models import ProtectedError

from quotas import charging, reserving
from quotas.amounts import LARGEST
from quotas.models import LedgerEntry, Quota
from quotas.refusals import BadAmount, BadKey, Conflict, NeverSatisfiable, Refused, UnknownQuota
from quotas.states import EntryKind, Kind, WaitReason
from tests.quotas.factories import (
    DAY,
    HOUR,
    NOW,
    SECOND,
    audit,
    change_row,
    charged_to,
    entries_of,
    make_daily,
    make_family,
    make_quota,
    make_rate,
    no_quick_way,
    now_is,
    only_the_quick_way,
    spend,
)

pytestmark = pytest.mark.django_db


# --- a charge ----------------------------------------------------------------------------------------------------


def test_a_charge_is_one_entry_and_the_sum_of_the_ledger_is_the_balance() -> None:
    quota = make_quota(100)
    spend(quota, 30, owner="run:1", attempt=2, reason="for the report")
    assert entries_of(quota) == [("limit", 100), ("charge", -30)]
    entry = LedgerEntry.objects.get(kind=EntryKind.CHARGE)
    assert (entry.owner, entry.attempt, entry.reason, entry.at) == ("run:1", 2, "for the report", NOW)
    assert now_is(quota).used == 30
    audit()


@pytest.mark.parametrize("amount", [-5, 0, 1.0, 0.5, float("nan"), float("inf"), "1", True, None, LARGEST + 1, 10**18])
def test_what_is_no_whole_number_above_zero_is_refused_and_changes_nothing(amount: Any) -> None:
    """B21."""
    quota = make_quota(10)
    for change in (charging.charge, charging.top_up, reserving.reserve):
        with pytest.raises(BadAmount):
            change(quota.key, amount, now=NOW)
    assert entries_of(quota) == [("limit", 10)]
    assert now_is(quota).used == now_is(quota).reserved == 0


def test_a_refused_charge_changes_nothing_and_says_what_is_left_and_until_when() -> None:
    """B13, B40: a refused request keeps no tokens and moves no reset."""
    quota = make_daily(100)
    spend(quota, 90)
    before = Quota.objects.filter(pk=quota.pk).values().get()
    for _ in range(5):
        with pytest.raises(Refused, match="has 10 left of the 20 asked for") as refusal:
            spend(quota, 20)
    assert (refusal.value.available, refusal.value.why) == (10, WaitReason.OWN_BUDGET)
    assert refusal.value.expected_at == NOW + 12 * HOUR
    assert Quota.objects.filter(pk=quota.pk).values().get() == before
    spend(quota, 10)
    assert now_is(quota).used == 100
    audit()


def test_what_is_above_the_limit_can_never_be_granted_and_says_so() -> None:
    """B24: it fails at once instead of waiting for ever."""
    quota = make_quota(10)
    with pytest.raises(NeverSatisfiable, match="can never be charged") as refusal:
        spend(quota, 100)
    assert (refusal.value.amount, refusal.value.limit) == (100, 10)
    spend(quota, 8)
    with pytest.raises(Refused):
        spend(quota, 3)
    assert now_is(quota).used == 8


def test_above_the_limit_of_an_ancestor_it_can_never_be_granted_either() -> None:
    _, leaf, _ = make_family(root=10, leaves=100)
    with pytest.raises(NeverSatisfiable, match="the limit of “quota"):
        spend(leaf, 11)


def test_a_limit_of_zero_blocks_and_whoever_meets_it_waits_until_a_person_raises_it() -> None:
    for quota in (make_quota(0), make_daily(0), make_rate(0)):
        with pytest.raises(Refused) as refusal:
            spend(quota, 1)
        assert refusal.value.expected_at is None


def test_an_unlimited_quota_counts_and_never_refuses() -> None:
    quota = make_daily(None)
    for _ in range(20):
        spend(quota, LARGEST)
    assert now_is(quota).used == 20 * LARGEST
    audit()


def test_an_unknown_quota_is_named() -> None:
    with pytest.raises(UnknownQuota, match="There is no quota “nobody”"):
        charging.charge("nobody", 1, now=NOW)


def test_a_charge_fits_in_all_that_the_quota_is_part_of_or_in_none() -> None:
    parent, one, other = make_family(root=100, leaves=80)
    spend(one, 80)
    with pytest.raises(Refused, match="is part of") as refusal:
        spend(other, 21)
    assert (refusal.value.blocker, refusal.value.available) == (parent.key, 20)
    spend(other, 20)
    assert [now_is(quota).used for quota in (parent, one, other)] == [100, 80, 20]
    assert charged_to(parent) == charged_to(one) + charged_to(other)
    audit()


def test_of_a_chain_of_three_each_link_has_the_entry() -> None:
    root = make_quota(100)
    middle = make_daily(50, parent=root)
    leaf = make_rate(20, parent=middle)
    for step in range(4):
        spend(leaf, 10, now=NOW + step * 10 * SECOND)
    assert [charged_to(quota) for quota in (root, middle, leaf)] == [40] * 3
    audit()


# --- keys --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("times", [2, 3])
def test_a_key_that_was_seen_charges_nothing_and_returns_the_first_result(times: int) -> None:
    quota = make_quota(10)
    results = [spend(quota, 4, idempotency_key="step 1") for _ in range(times)]
    assert [(result.amount, result.repeated) for result in results] == [(4, False)] + [(4, True)] * (times - 1)
    assert now_is(quota).used == 4
    audit()


def test_a_key_that_was_seen_is_repeated_also_when_nothing_is_left_or_the_period_is_another() -> None:
    """B23a: keys are kept for ever, in the transaction of the charge."""
    quota = make_daily(10)
    spend(quota, 10, idempotency_key="step 1")
    assert spend(quota, 10, idempotency_key="step 1").repeated
    assert spend(quota, 10, idempotency_key="step 1", now=NOW + 400 * DAY).repeated
    assert charged_to(quota) == 10


def test_a_key_with_another_amount_is_a_conflict() -> None:
    """B19."""
    quota = make_quota(10)
    spend(quota, 4, idempotency_key="step 1")
    with pytest.raises(Conflict, match="for 4, and now for 5"):
        spend(quota, 5, idempotency_key="step 1")
    assert now_is(quota).used == 4


def test_the_same_key_on_another_quota_is_another_charge() -> None:
    parent, one, other = make_family()
    for quota in (one, other, parent):
        assert not spend(quota, 3, idempotency_key="step 1").repeated
    assert now_is(parent).used == 9
    audit()


@pytest.mark.parametrize("key", ["", "x" * 251, "a\0b", "tideline:reservation:1"])
def test_a_key_that_cannot_be_kept_is_refused_in_a_sentence(key: str) -> None:
    quota = make_quota(10)
    with pytest.raises(BadKey):
        spend(quota, 1, idempotency_key=key)
    with pytest.raises(BadKey):
        spend(quota, 1, owner="x" * 201)
    assert entries_of(quota) == [("limit", 10)]


# --- resets ------------------------------------------------------------------------------------------------------


def test_a_charge_at_the_reset_counts_in_the_new_period_whether_a_scan_ran_or_not() -> None:
    """B22: half-open periods."""
    quota = make_daily(100)
    spend(quota, 60, now=NOW + 12 * HOUR - SECOND)
    spend(quota, 50, now=NOW + 12 * HOUR)
    assert now_is(quota).used == 50
    assert entries_of(quota)[1:] == [("charge", -60), ("reset", 60), ("charge", -50)]
    audit()


def test_however_many_resets_were_missed_it_is_one_entry() -> None:
    quota = make_daily(100)
    spend(quota, 60)
    spend(quota, 1, now=NOW + 40 * DAY)
    assert [kind for kind, _ in entries_of(quota)].count("reset") == 1
    assert now_is(quota).used == 1


def test_who_asked_before_the_reset_and_got_the_lock_after_it_counts_in_the_new_period_and_is_refunded_there() -> None:
    """B22: a late snapshot neither turns the period back nor is lost."""
    quota = make_daily(100)
    midnight = NOW + 12 * HOUR
    spend(quota, 10, now=midnight)
    spend(quota, 20, now=midnight - SECOND, idempotency_key="late")
    assert (now_is(quota).used, now_is(quota).period_start) == (30, midnight)
    assert charging.refund(quota.key, "late", now=midnight + SECOND) == 20
    audit()


# --- the ledger --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("statement", ["UPDATE quotas_ledgerentry SET amount = 0", "DELETE FROM quotas_ledgerentry"])
def test_the_database_refuses_to_change_what_was_entered(statement: str) -> None:
    spend(make_quota(10), 1)
    with pytest.raises(DatabaseError, match="only ever added to"), transaction.atomic():
        connection.cursor().execute(statement)


def test_an_entry_is_written_by_the_books_only() -> None:
    with pytest.raises(TypeError):
        LedgerEntry().save()


def test_a_quota_cannot_be_deleted_for_its_entries_stay() -> None:
    quota = make_quota(10)
    with pytest.raises(ProtectedError):
        quota.delete()


@pytest.mark.parametrize("statement", ["DELETE FROM quotas_quota", "UPDATE quotas_quota SET id = -id"])
def test_the_database_refuses_what_would_leave_entries_without_their_quota(statement: str) -> None:
    """No foreign key of the ledger would notice."""
    spend(make_quota(10), 1)
    with pytest.raises(IntegrityError, match="a quota is kept"), transaction.atomic():
        connection.cursor().execute(statement)


# --- the quick way -----------------------------------------------------------------------------------------------


def test_a_charge_that_changes_no_verdict_and_no_warning_takes_one_statement(
    django_assert_num_queries: Any,
) -> None:
    parent, leaf, _ = make_family(root=1000, leaves=1000)
    spend(leaf, 1)
    with django_assert_num_queries(3), only_the_quick_way():  # with the savepoint of the test's transaction
        spend(leaf, 1)
    assert now_is(parent).used == 2


@pytest.mark.parametrize(
    "row",
    [
        {"verdict": "insufficient"},
        {"quiet_below": 5},
        {"provider_remaining": 100},
        {"blocked_until": NOW - HOUR},
        {"kind": Kind.RATE, "refill_amount": 1, "refill_seconds": 1, "refilled_at": NOW},
    ],
)
def test_the_quick_way_is_not_taken_where_the_quota_or_its_parent_has_to_be_judged(row: dict[str, Any]) -> None:
    parent, leaf, _ = make_family()
    for changed in (parent, leaf):
        change_row(changed, **row)
        with pytest.raises(AssertionError, match="it was judged"), only_the_quick_way():
            spend(leaf, 5)
        change_row(changed, **{name: getattr(changed, name) for name in row})
    with only_the_quick_way():
        spend(leaf, 5)


def test_the_quick_way_is_not_taken_after_the_end_of_the_period_nor_before_its_start() -> None:
    quota = make_daily(100)
    for now in (NOW + 12 * HOUR, NOW - 13 * HOUR):
        with pytest.raises(AssertionError, match="it was judged"), only_the_quick_way():
            spend(quota, 1, now=now)


def test_the_quick_way_in_the_callers_transaction_leaves_it_usable_after_a_key_that_was_seen() -> None:
    quota = make_quota(100)
    with transaction.atomic():
        spend(quota, 1, idempotency_key="step 1")
        assert spend(quota, 1, idempotency_key="step 1").repeated
        spend(quota, 1, idempotency_key="step 2")
    assert now_is(quota).used == 2


def test_the_slow_way_alone_charges_the_same() -> None:
    quota = make_quota(100)
    with no_quick_way():
        spend(quota, 7, idempotency_key="step 1")
        assert spend(quota, 7, idempotency_key="step 1").repeated
    assert now_is(quota).used == 7
    audit()
