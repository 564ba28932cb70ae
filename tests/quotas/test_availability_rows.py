"""Why a row refuses and until when, by its columns alone: rows that no database knows."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from quotas.availability import Refill, available, expected_at, fits, refilled, refills_at, used_at, why, word_ends
from quotas.models import Quota
from quotas.states import Kind, WaitReason
from tests.quotas.factories import A_MOMENT, DAY, HOUR, MINUTE, NOW

MIDNIGHT = NOW + 12 * HOUR


def a_row(**fields: Any) -> Quota:
    """Return a quota of 100 a day of which 90 are used."""
    row = {"kind": Kind.PERIODIC, "limit": 100, "used": 90, "period_start": NOW - DAY, "period_end": MIDNIGHT}
    return Quota(key="row", **row | fields)


def a_rate(**fields: Any) -> Quota:
    """Return a drained rate of one a second."""
    row = {"kind": Kind.RATE, "limit": 10, "used": 10, "refill_amount": 1, "refill_seconds": 1, "refilled_at": NOW}
    return Quota(key="rate", **row | fields)


def said(remaining: int, resets_at: datetime | None = NOW + HOUR) -> dict[str, Any]:
    """Return the columns of a provider that said just now how much is left."""
    return {"provider_remaining": remaining, "provider_resets_at": resets_at, "provider_observed_at": NOW}


# --- what fits ---------------------------------------------------------------------------------------------------


def test_exactly_what_is_left_fits_and_one_more_does_not() -> None:
    assert fits(a_row(), 10, NOW)
    assert not fits(a_row(), 11, NOW)


def test_in_shadow_mode_and_without_a_limit_everything_fits() -> None:
    assert fits(a_row(shadow=True), 11, NOW)
    assert fits(a_row(limit=None), 10**15, NOW)


def test_what_is_used_counts_until_the_moment_at_which_the_period_ends() -> None:
    assert [used_at(a_row(), at) for at in (MIDNIGHT - A_MOMENT, MIDNIGHT)] == [90, 0]
    assert used_at(a_row(period_end=None), MIDNIGHT) == 90
    assert used_at(a_row(kind=Kind.CAPACITY), MIDNIGHT) == 90


def test_a_rate_never_refills_to_more_than_its_limit() -> None:
    assert used_at(a_rate(), NOW + DAY) == 0
    assert available(a_rate(), NOW + DAY) == 10


def test_what_was_spent_or_reserved_since_the_provider_spoke_is_taken_off_its_word() -> None:
    row = a_row(used=0, reserved=5, spent_total=20, provider_spent_at_observation=10, **said(50))
    assert available(row, NOW) == 50 - 10 - 5
    assert available(row, NOW + HOUR - A_MOMENT) == 35
    assert available(row, NOW + HOUR) == 95


# --- whose word counts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "amount", "reason"),
    [
        (a_row(), 11, WaitReason.OWN_BUDGET),
        (a_rate(), 1, WaitReason.RATE),
        (a_row(**said(10)), 11, WaitReason.PROVIDER_WINDOW),
        (a_row(**said(11)), 11, WaitReason.OWN_BUDGET),  # the provider would let it pass
        (a_row(blocked_until=NOW + MINUTE), 1, WaitReason.PROVIDER_WINDOW),
        (a_row(blocked_until=NOW + MINUTE, blocked_without_reset=True), 1, WaitReason.UNKNOWN_RESET),
        (a_row(blocked_until=NOW, blocked_without_reset=True), 11, WaitReason.OWN_BUDGET),  # it is over
    ],
)
def test_the_reason_is_the_one_that_stands_in_the_way(row: Quota, amount: int, reason: WaitReason) -> None:
    assert why(row, amount, NOW) == reason


# --- until when --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "amount", "expected"),
    [
        (a_row(), 11, MIDNIGHT),
        (a_row(), 100, MIDNIGHT),
        (a_row(), 101, None),  # more than a whole period gives
        (a_row(kind=Kind.CAPACITY, period_end=None), 11, None),  # a person tops up
        (a_row(kind=Kind.CAPACITY), 11, None),  # it was periodic once
        (a_rate(), 1, NOW + timedelta(seconds=1)),
        (a_rate(), 10, NOW + timedelta(seconds=10)),
        (a_rate(), 11, None),
        (a_row(limit=None, **said(10)), 11, NOW + HOUR),
        (a_row(used=0, **said(10)), 11, NOW + HOUR),
        (a_row(**said(10)), 11, MIDNIGHT),  # both have to let it pass: the later one
        (a_row(**said(10, NOW + DAY)), 11, NOW + DAY),
        (a_row(**said(11)), 11, MIDNIGHT),  # the provider would let it pass
        (a_row(**said(10)), 101, None),  # one of the two is a person
        (a_row(used=0, blocked_until=NOW + MINUTE, **said(500)), 1, NOW + MINUTE),
        (a_row(blocked_until=NOW + DAY), 11, NOW + DAY),
    ],
)
def test_it_may_fit_when_all_that_stands_in_the_way_has_gone(
    row: Quota, amount: int, expected: datetime | None
) -> None:
    assert expected_at(row, amount, NOW) == expected


def test_what_is_there_and_kept_is_looked_at_again_when_the_row_says() -> None:
    assert expected_at(a_row(evaluate_at=NOW + MINUTE), 10, NOW) == NOW + MINUTE
    assert expected_at(a_row(evaluate_at=NOW + MINUTE, used=0, **said(10)), 10, NOW) == NOW + MINUTE


def test_a_rate_that_should_have_refilled_by_now_is_expected_now_and_not_in_the_past() -> None:
    late = NOW + 20 * timedelta(seconds=1)
    held_back = a_rate(provider_remaining=0, provider_resets_at=NOW + HOUR)
    assert expected_at(held_back, 1, late) == NOW + HOUR
    assert expected_at(a_rate(reserved=5), 6, late) == late


def test_a_rate_has_at_once_what_is_there_and_for_the_rest_it_fills_up_what_is_used_and_reserved() -> None:
    assert refills_at(a_rate(used=5), 5) == NOW
    assert refills_at(a_rate(used=0), 5) == NOW
    assert refills_at(a_rate(used=5, reserved=3), 5) == NOW + timedelta(seconds=3)


@pytest.mark.parametrize("lacking", ["refill_amount", "refill_seconds", "refilled_at"])
def test_a_row_that_lacks_part_of_its_refill_is_no_rate(lacking: str) -> None:
    with pytest.raises(ValueError, match="is no rate"):
        refills_at(a_rate(**{lacking: None}), 1)
    with pytest.raises(ValueError, match="is no rate"):
        refilled(a_rate(**{lacking: None}), NOW)


def test_a_refill_counts_whole_units_and_up_to_the_moment_at_which_the_last_of_them_was_there() -> None:
    assert refilled(a_rate(refill_amount=3), NOW + 400_000 * A_MOMENT) == Refill(1, NOW + 333_334 * A_MOMENT)


def test_a_clock_that_is_set_back_refills_nothing_however_quick_the_rate() -> None:
    assert refilled(a_rate(refill_amount=10**9), NOW - DAY) == Refill(0, NOW)


def test_a_refill_is_exact_beyond_what_a_float_can_hold() -> None:
    quick = a_rate(refill_amount=10**12 + 1)
    assert refilled(quick, NOW + 3650 * DAY).units == 3650 * 86_400 * (10**12 + 1)


# --- how long a provider's word counts ---------------------------------------------------------------------------


def test_the_word_of_a_provider_counts_until_its_reset_or_until_two_polls_were_missed() -> None:
    assert word_ends(a_row(**said(10))) == NOW + HOUR
    assert word_ends(a_row(poll_ceiling_seconds=60, **said(10, None))) == NOW + 2 * MINUTE


def test_where_the_provider_never_said_what_is_left_there_is_no_word_to_count() -> None:
    assert word_ends(a_row()) is None
    assert word_ends(a_row(provider_observed_at=NOW)) is None
    assert word_ends(a_row(provider_remaining=10)) is None
    assert available(a_row(provider_remaining=0), NOW) == 10
    assert available(a_row(provider_resets_at=NOW + HOUR), NOW) == 10
