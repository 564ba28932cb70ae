"""What a charge took is given back: once, never more than it was, and to whom it was charged."""

import pytest

from quotas import charging, reserving
from quotas.models import LedgerEntry
from quotas.refusals import BadAmount, Conflict, QuotaError, Refused
from quotas.states import EntryKind
from tests.quotas.factories import (
    DAY,
    HOUR,
    NOW,
    SECOND,
    audit,
    entries_of,
    make_daily,
    make_family,
    make_quota,
    make_rate,
    now_is,
    say_remaining,
    spend,
)

pytestmark = pytest.mark.django_db


def test_a_refund_gives_back_in_each_link_once() -> None:
    """B18."""
    parent, leaf, _ = make_family()
    spend(leaf, 30, idempotency_key="step 1")
    given = [charging.refund(leaf.key, "step 1", now=NOW, actor="ann") for _ in range(3)]
    assert given == [30, 30, 30]
    assert [now_is(quota).used for quota in (parent, leaf)] == [0, 0]
    assert entries_of(parent) == [("limit", 100), ("charge", -30), ("refund", 30)]
    audit()


def test_a_part_can_be_refunded_and_no_more_than_was_charged() -> None:
    quota = make_quota(100)
    spend(quota, 30, idempotency_key="step 1")
    with pytest.raises(BadAmount, match="at most 30"):
        charging.refund(quota.key, "step 1", amount=31, now=NOW)
    assert charging.refund(quota.key, "step 1", amount=10, now=NOW) == 10
    with pytest.raises(Conflict):
        charging.refund(quota.key, "step 1", amount=20, now=NOW)
    assert now_is(quota).used == 20
    audit()


def test_what_was_never_charged_cannot_be_refunded() -> None:
    quota = make_quota(100)
    with pytest.raises(QuotaError, match="no charge with the key “step 1”"):
        charging.refund(quota.key, "step 1", now=NOW)


def test_what_an_earlier_period_was_charged_gives_the_new_one_nothing() -> None:
    root = make_quota(100)
    leaf = make_daily(100, parent=root)
    spend(leaf, 30, idempotency_key="step 1")
    tomorrow = NOW + DAY
    spend(leaf, 5, now=tomorrow)
    assert charging.refund(leaf.key, "step 1", now=tomorrow) == 0
    assert [now_is(quota).used for quota in (root, leaf)] == [5, 5]  # the capacity gets it back
    audit()


def test_a_refund_to_a_rate_gives_what_has_not_refilled_meanwhile() -> None:
    quota = make_rate(10, amount=1, seconds=1)
    spend(quota, 10, idempotency_key="step 1")
    assert charging.refund(quota.key, "step 1", now=NOW + 4 * SECOND) == 6
    assert now_is(quota).used == 0
    audit()


def test_the_charge_of_a_settlement_can_be_refunded() -> None:
    quota = make_quota(100)
    held = reserving.reserve(quota.key, 50, now=NOW)
    reserving.settle(held.pk, 40, now=NOW)
    key = LedgerEntry.objects.get(kind=EntryKind.CHARGE).idempotency_key
    assert charging.refund(quota.key, key, now=NOW) == 40
    assert not reserving.settle(held.pk, 40, now=NOW)
    assert now_is(quota).used == 0
    audit()


def test_a_refund_of_what_was_spent_before_the_provider_spoke_does_not_add_to_what_it_said() -> None:
    quota = make_quota(100)
    spend(quota, 50, idempotency_key="before")
    say_remaining(quota, 10, NOW + HOUR, now=NOW + SECOND)
    charging.refund(quota.key, "before", now=NOW + 2 * SECOND)
    spend(quota, 8, now=NOW + 3 * SECOND, idempotency_key="after")
    with pytest.raises(Refused, match="has 2 left of the 3"):
        spend(quota, 3, now=NOW + 3 * SECOND)
    charging.refund(quota.key, "after", now=NOW + 4 * SECOND)
    with pytest.raises(Refused, match="has 10 left of the 11"):
        spend(quota, 11, now=NOW + 4 * SECOND)
    audit()


def test_what_an_attempt_did_not_use_is_given_back_once() -> None:
    parent, leaf, other = make_family()
    at = [NOW + number * SECOND for number in range(4)]
    spend(leaf, 5, owner="run:1", attempt=1, refund_on_failure=True, now=at[0])
    spend(leaf, 5, owner="run:1", attempt=1, refund_on_failure=True, now=at[1])
    spend(leaf, 20, owner="run:1", attempt=1, refund_on_failure=True, now=at[2])
    spend(other, 5, owner="run:1", attempt=1, refund_on_failure=True, now=at[3])
    spend(leaf, 30, owner="run:1", attempt=1, now=at[3])  # not to be given back
    spend(leaf, 1, owner="run:1", attempt=2, refund_on_failure=True, now=at[3])
    spend(leaf, 2, owner="run:2", attempt=1, refund_on_failure=True, now=at[3])
    ended = [("run:1", 1, at[1])]  # its last checkpoint: what came until then is used
    assert [charging.refund_unused(ended, now=at[3]) for _ in range(3)] == [2, 0, 0]
    assert [now_is(quota).used for quota in (parent, leaf, other)] == [43, 43, 0]
    audit()


def test_nothing_is_given_back_to_an_attempt_that_charged_nothing() -> None:
    assert charging.refund_unused([("run:1", 1, None)], now=NOW) == 0
