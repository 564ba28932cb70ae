"""Reservations: held, settled or freed once, and leased to whoever lives."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from quotas import charging, reserving
from quotas.books import open_books_of_all
from quotas.models import LedgerEntry, Quota, Reservation
from quotas.refusals import BadAmount, BadKey, Conflict, NeverSatisfiable, QuotaError, Refused, UnknownQuota
from quotas.reserving import Need
from quotas.states import Cause, EntryKind
from tests.quotas.factories import (
    DAY,
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    audit,
    edges_of,
    make_daily,
    make_family,
    make_quota,
    make_rate,
    now_is,
    spend,
)

pytestmark = pytest.mark.django_db


def reserve(quota: Quota, amount: int, *, now: Any = NOW, **said: Any) -> Reservation:
    return reserving.reserve(quota.key, amount, now=now, **said)


def admit(owner: str, quota: Quota, amount: int, *, lease: timedelta = HOUR) -> None:
    """Reserve for a run that is resumed, as an admission does."""
    with transaction.atomic():
        books = open_books_of_all(quota.chain, NOW)
        reserving.reserve_for_admission(books, [Need(owner, quota.pk, amount)], key=f"edge of {owner}", lease=lease)
        books.save(Cause.SPENDING)


def state_of(reservation: Reservation) -> str:
    return Reservation.objects.get(pk=reservation.pk).state


# --- held --------------------------------------------------------------------------------------------------------


def test_what_is_reserved_is_held_in_all_that_the_quota_is_part_of() -> None:
    parent, leaf, other = make_family(root=100, leaves=100)
    reserve(leaf, 60)
    with pytest.raises(Refused, match="has 40 left of the 41"):
        spend(other, 41)
    spend(other, 40)
    assert [now_is(quota).reserved for quota in (parent, leaf, other)] == [60, 60, 0]
    audit()


def test_a_reservation_that_does_not_fit_changes_nothing() -> None:
    quota = make_quota(100)
    reserve(quota, 60)
    with pytest.raises(Refused):
        reserve(quota, 41)
    with pytest.raises(NeverSatisfiable):
        reserve(quota, 101)
    with pytest.raises(UnknownQuota):
        reserving.reserve("nobody", 1, now=NOW)
    assert Reservation.objects.count() == 1
    assert now_is(quota).reserved == 60


def test_the_same_key_returns_the_first_reservation_and_holds_nothing_more() -> None:
    quota = make_quota(100)
    first = reserve(quota, 60, idempotency_key="step 1")
    assert reserve(quota, 60, idempotency_key="step 1").pk == first.pk
    with pytest.raises(Conflict):
        reserve(quota, 61, idempotency_key="step 1")
    assert now_is(quota).reserved == 60
    reserving.release(first.pk, now=NOW)
    assert reserve(quota, 60, idempotency_key="step 1").state == "released"
    audit()


def test_a_lease_that_does_not_last_or_a_key_that_cannot_be_kept_is_refused() -> None:
    quota = make_quota(100)
    with pytest.raises(BadAmount, match="A lease lasts"):
        reserve(quota, 1, lease=timedelta(0))
    with pytest.raises(BadKey):
        reserve(quota, 1, owner="x" * 201)
    with pytest.raises(BadKey):
        reserve(quota, 1, idempotency_key="")


def test_a_reservation_lasts_over_a_reset() -> None:
    quota = make_daily(100)
    held = reserve(quota, 60, lease=2 * DAY)
    spend(quota, 40)
    tomorrow = NOW + DAY
    with pytest.raises(Refused, match="has 40 left"):
        spend(quota, 41, now=tomorrow)
    assert reserving.settle(held.pk, 50, now=tomorrow)
    assert (now_is(quota).used, now_is(quota).reserved) == (50, 0)
    audit()


# --- settled -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("actual", "left"), [(0, 100), (40, 60), (60, 40), (75, 25), (150, 0)])
def test_a_settlement_charges_what_it_really_took_and_frees_the_rest(actual: int, left: int) -> None:
    """What was spent counts, also if it is more than was held or than there is."""
    parent, leaf, _ = make_family(root=100, leaves=100)
    held = reserve(leaf, 60)
    assert reserving.settle(held.pk, actual, now=NOW)
    for quota in (parent, leaf):
        assert (now_is(quota).used, now_is(quota).reserved) == (actual, 0)
    if left:
        spend(leaf, left)
    with pytest.raises(Refused, match="has 0 left"):
        spend(leaf, 1)
    audit()


def test_settling_again_is_no_second_charge() -> None:
    """B18, B46: one ledger row, keyed by the reservation."""
    quota = make_quota(100)
    held = reserve(quota, 60)
    assert [reserving.settle(held.pk, actual, now=NOW) for actual in (45, 45, 20)] == [True, False, False]
    assert list(LedgerEntry.objects.filter(kind=EntryKind.CHARGE).values_list("units", flat=True)) == [45]
    assert now_is(quota).used == 45
    audit()


def test_nobody_elses_key_can_meet_that_of_a_settlement() -> None:
    quota = make_quota(100)
    held = reserve(quota, 60)
    with pytest.raises(BadKey, match="take another one"):
        spend(quota, 1, idempotency_key=f"tideline:reservation:{held.pk}")
    assert reserving.settle(held.pk, 45, now=NOW)


@pytest.mark.parametrize("actual", [-1, 1.5, None, "3"])
def test_a_settlement_by_no_amount_is_refused(actual: Any) -> None:
    held = reserve(make_quota(100), 60)
    with pytest.raises(BadAmount):
        reserving.settle(held.pk, actual, now=NOW)
    assert state_of(held) == "held"


def test_what_was_released_cannot_be_settled_and_what_was_settled_is_not_released() -> None:
    quota = make_quota(100)
    released, settled = reserve(quota, 10), reserve(quota, 10)
    assert reserving.release(released.pk, now=NOW)
    assert reserving.settle(settled.pk, 10, now=NOW)
    with pytest.raises(QuotaError, match="was released"):
        reserving.settle(released.pk, 10, now=NOW)
    assert not reserving.release(settled.pk, now=NOW)
    assert not reserving.release(released.pk, now=NOW)
    audit()


def test_an_unknown_reservation_is_named() -> None:
    with pytest.raises(QuotaError, match="no reservation #7"):
        reserving.settle(7, 1, now=NOW)


# --- leases ------------------------------------------------------------------------------------------------------


def test_what_a_dead_owner_held_is_freed_once() -> None:
    """B41, B16."""
    parent, leaf, _ = make_family()
    held = reserve(leaf, 60, lease=5 * MINUTE)
    assert reserving.free_expired(now=NOW + 5 * MINUTE - SECOND) == 0
    assert [reserving.free_expired(now=NOW + 5 * MINUTE) for _ in range(2)] == [1, 0]
    assert state_of(held) == "expired"
    assert now_is(parent).reserved == 0
    audit()


def test_an_owner_that_lives_keeps_what_it_holds() -> None:
    """B16: a call of 10 minutes under a lease of 4."""
    quota = make_quota(100)
    held = reserve(quota, 60, lease=4 * MINUTE, owner="run:1")
    other = reserve(quota, 10, lease=4 * MINUTE, owner="run:2")
    for minute in (3, 6, 9):
        assert reserving.renew(["run:1"], now=NOW + minute * MINUTE) == 1
        reserving.free_expired(now=NOW + minute * MINUTE)
    assert (state_of(held), state_of(other)) == ("held", "expired")
    assert reserving.free_expired(now=NOW + 13 * MINUTE) == 1


def test_a_heartbeat_that_comes_late_renews_what_nobody_has_freed_yet() -> None:
    """B16."""
    held = reserve(make_quota(100), 60, lease=4 * MINUTE, owner="run:1")
    assert reserving.renew(["run:1"], now=NOW + 5 * MINUTE) == 1
    assert reserving.free_expired(now=NOW + 5 * MINUTE) == 0
    reserving.free_expired(now=NOW + 9 * MINUTE)
    assert reserving.renew(["run:1"], now=NOW + 9 * MINUTE) == 0
    assert state_of(held) == "expired"


def test_what_was_spent_counts_although_the_lease_had_ended() -> None:
    quota = make_quota(100)
    held = reserve(quota, 60, lease=MINUTE)
    reserving.free_expired(now=NOW + HOUR)
    assert [reserving.settle(held.pk, 45, now=NOW + HOUR) for _ in range(2)] == [True, False]
    assert (now_is(quota).used, now_is(quota).reserved) == (45, 0)
    audit()


def test_ten_aborted_calls_leave_nothing_reserved() -> None:
    """B15, B47."""
    parent, leaf, other = make_family()
    for number in range(10):
        reserve(leaf if number % 2 else other, 5, owner=f"run:{number}")
    owners = [f"run:{number}" for number in range(10)]
    assert [reserving.release_all_of(owners, now=NOW) for _ in range(2)] == [10, 0]
    assert {now_is(quota).reserved for quota in (parent, leaf, other)} == {0}
    assert entries_are_only_limits()
    audit()


def entries_are_only_limits() -> bool:
    return set(LedgerEntry.objects.values_list("kind", flat=True)) == {"limit"}


def test_a_freed_reservation_lets_a_quota_rise_that_it_had_emptied() -> None:
    quota = make_quota(10, stable_seconds=0)
    held = reserve(quota, 10)
    assert now_is(quota).verdict == "insufficient"
    reserving.release(held.pk, now=NOW)
    assert edges_of(quota) == ["reservation_freed"]


# --- admissions --------------------------------------------------------------------------------------------------


def test_what_was_reserved_for_a_resumed_run_is_its_own_and_nobody_elses() -> None:
    parent, leaf, other = make_family(root=10, leaves=10)
    admit("run:1", leaf, 10)
    for quota in (leaf, other):
        with pytest.raises(Refused):
            spend(quota, 1, owner="run:2")
    assert spend(leaf, 10, owner="run:1").amount == 10
    assert [(now_is(quota).used, now_is(quota).reserved) for quota in (parent, leaf)] == [(10, 0)] * 2
    audit()


def test_a_resumed_run_that_charges_less_gives_the_rest_back_and_one_that_needs_more_may_be_refused() -> None:
    quota = make_quota(10, stable_seconds=0)
    admit("run:1", quota, 10)
    with pytest.raises(NeverSatisfiable):
        spend(quota, 11, owner="run:1")
    assert now_is(quota).reserved == 10  # a refused charge changes nothing
    spend(quota, 3, owner="run:1")
    assert (now_is(quota).used, now_is(quota).reserved) == (3, 0)
    assert edges_of(quota) == ["reservation_freed"]
    audit()


def test_a_reservation_uses_what_its_owner_was_admitted_for() -> None:
    quota = make_quota(10)
    admit("run:1", quota, 10)
    held = reserve(quota, 8, owner="run:1")
    assert now_is(quota).reserved == 8
    assert reserving.settle(held.pk, 8, now=NOW)
    audit()


def test_a_charge_for_an_owner_without_a_name_uses_nobodys_admission() -> None:
    quota = make_quota(10)
    admit("run:1", quota, 6)
    with pytest.raises(Refused):
        spend(quota, 5)


def test_an_admission_that_nobody_used_is_freed_at_the_end_of_its_lease() -> None:
    quota = make_quota(10)
    admit("run:1", quota, 6, lease=MINUTE)
    assert reserving.free_expired(now=NOW + MINUTE) == 1
    audit()


def test_a_repeated_charge_leaves_the_admission_alone() -> None:
    quota = make_quota(10)
    spend(quota, 1, owner="run:1", idempotency_key="step 1")
    admit("run:1", quota, 6)
    assert spend(quota, 1, owner="run:1", idempotency_key="step 1").repeated
    assert now_is(quota).reserved == 6


# --- kinds -------------------------------------------------------------------------------------------------------


def test_a_settlement_takes_its_tokens_of_a_rate_when_it_is_settled() -> None:
    quota = make_rate(10, amount=1, seconds=1)
    held = reserve(quota, 10)
    with pytest.raises(Refused):
        spend(quota, 1, now=NOW + MINUTE)  # nothing refills what is held
    reserving.settle(held.pk, 10, now=NOW + MINUTE)
    spend(quota, 2, now=NOW + MINUTE + 2 * SECOND)
    audit()


def test_a_settlement_and_a_refund_may_come_in_any_order_of_owners() -> None:
    quota = make_quota(100)
    held = reserve(quota, 60, owner="run:1", attempt=1)
    reserving.settle(held.pk, 45, now=NOW)
    assert charging.refund_unused([("run:1", 1, None)], now=NOW) == 0  # a settlement says what was really used
    assert now_is(quota).used == 45
