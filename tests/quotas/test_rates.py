"""A rate refills with time, unit by unit, and never beyond its limit."""

from datetime import timedelta

import pytest

from quotas.refusals import Refused
from quotas.states import WaitReason
from tests.quotas.factories import (
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    audit,
    make_rate,
    spend,
)

pytestmark = pytest.mark.django_db


def test_a_drained_rate_gives_a_token_each_second_however_often_it_is_asked() -> None:
    """B27, B40: a refused call does not turn the clock of the refill."""
    quota = make_rate(5, amount=1, seconds=1)
    spend(quota, 5)
    granted = 0
    for half_second in range(1, 41):
        try:
            spend(quota, 1, now=NOW + half_second * SECOND / 2)
        except Refused:
            continue
        granted += 1
    assert granted == 20
    audit()


def test_a_caller_whose_clock_is_behind_gains_nothing() -> None:
    """B30."""
    quota = make_rate(1, amount=1, seconds=1)
    spend(quota, 1, now=NOW)
    spend(quota, 1, now=NOW + SECOND)
    for late in (0, -1, 1, 0):
        with pytest.raises(Refused):
            spend(quota, 1, now=NOW + late * SECOND)
    spend(quota, 1, now=NOW + 2 * SECOND)
    audit()


@pytest.mark.parametrize(("amount", "seconds"), [(2000, 1), (6000, 1), (3, 1), (7, 300), (1, 3600)])
@pytest.mark.slow
def test_over_a_long_time_a_rate_never_gives_more_and_hardly_less(amount: int, seconds: int) -> None:
    """B26, B32: microseconds, and no drift."""
    quota = make_rate(10, amount=amount, seconds=seconds)
    interval = timedelta(seconds=seconds) / amount
    spend(quota, 10)
    granted, asked = 0, 300
    for step in range(1, asked + 1):
        try:
            spend(quota, 1, now=NOW + step * interval)
            granted += 1
        except Refused:
            continue
    assert asked * 0.99 - 1 <= granted <= asked


def test_a_full_bucket_gathers_nothing() -> None:
    quota = make_rate(3, amount=1, seconds=60)
    spend(quota, 1, now=NOW + HOUR)
    with pytest.raises(Refused) as refusal:
        spend(quota, 3, now=NOW + HOUR + 59 * SECOND)
    assert refusal.value.expected_at == NOW + HOUR + MINUTE
    spend(quota, 3, now=NOW + HOUR + MINUTE)


def test_the_next_token_is_announced_to_the_second() -> None:
    """B32, B35: the earliest instant at which the asked amount passes, and at that instant it does."""
    quota = make_rate(5, amount=5, seconds=300)
    spend(quota, 5)
    for amount in (1, 2, 5):
        with pytest.raises(Refused) as refusal:
            spend(quota, amount, now=NOW + 59 * SECOND)
        assert refusal.value.why == WaitReason.RATE
        assert refusal.value.expected_at == NOW + amount * MINUTE
    spend(quota, 1, now=NOW + MINUTE)
