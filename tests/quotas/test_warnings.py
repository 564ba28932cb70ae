"""People are warned once a period, before a quota is used up."""

from typing import Any

import pytest

from alerts.attention import Attention, attention_needed
from quotas import charging, scans
from tests.quotas.factories import (
    DAY,
    NOW,
    audit,
    make_daily,
    make_quota,
    make_rate,
    now_is,
    spend,
)

pytestmark = pytest.mark.django_db


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
