"""The forecast of a quota, from what its ledger says was spent in the last hours."""

import pytest

from quotas import charging, outlook
from quotas.models import Quota
from tests.quotas.factories import DAY, HOUR, MINUTE, NOW, make_daily, make_quota, make_rate, now_is, spend

pytestmark = pytest.mark.django_db


def spend_hourly(quota: Quota, units: int, *, hours: int = 6) -> None:
    """Charge so much at the beginning of each of the last hours."""
    for hour in range(hours, 0, -1):
        spend(quota, units, now=NOW - hour * HOUR, idempotency_key=f"{hour} h ago")


def test_what_was_spent_in_the_last_hours_is_the_rate() -> None:
    quota = make_quota(1000, now=NOW - DAY)
    spend(quota, 400, now=NOW - 7 * HOUR)
    spend_hourly(quota, 60)
    known = outlook.outlook(now_is(quota), now=NOW)
    assert known is not None
    assert (known.per_hour, known.runs_out_at, known.resets_at) == (60, NOW + 4 * HOUR, None)


def test_what_was_refunded_was_not_spent() -> None:
    quota = make_quota(1000, now=NOW - DAY)
    spend_hourly(quota, 60)
    charging.refund(quota.key, "3 h ago", now=NOW)
    known = outlook.outlook(now_is(quota), now=NOW)
    assert known is not None
    assert known.per_hour == 50


def test_a_period_ends_with_its_reset_also_where_no_scan_has_noticed_it() -> None:
    quota = make_daily(1000, now=NOW - DAY)
    spend_hourly(quota, 10)
    known = outlook.outlook(now_is(quota), now=NOW)
    assert known is not None
    assert (known.lasts, known.resets_at) == (True, NOW + 12 * HOUR)
    assert outlook.next_reset(now_is(quota), NOW + 13 * HOUR) == NOW + 36 * HOUR


def test_little_is_known_of_a_quota_that_is_new_idle_or_a_rate() -> None:
    new, idle, rate = make_quota(100), make_quota(100, now=NOW - DAY), make_rate(1000, now=NOW - DAY)
    for _ in range(9):
        spend(new, 1, now=NOW - MINUTE)
    spend(idle, 50, now=NOW - 7 * HOUR)
    spend_hourly(rate, 10)
    assert [outlook.outlook(now_is(quota), now=NOW) for quota in (new, idle, rate)] == [None] * 3


def test_of_a_busy_quota_the_latest_charges_are_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlook, "MOST_ENTRIES", 5)
    quota = make_quota(10_000, now=NOW - DAY)
    spend(quota, 5000, now=NOW - 6 * HOUR)
    spend_hourly(quota, 60, hours=5)
    known = outlook.outlook(now_is(quota), now=NOW)
    assert known is not None
    assert known.per_hour == 60
