"""Quotas come and change: what cannot work is refused in sentences, what can counts at once."""

from datetime import time
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from pytest_django import Settings

from project.kit.versions import StaleVersion
from quotas import charging, defining, reserving
from quotas.amounts import LARGEST
from quotas.defining import save_changes
from quotas.models import Quota
from quotas.states import Kind
from tests.quotas.factories import (
    DAY,
    HOUR,
    MINUTE,
    NOW,
    audit,
    edges_of,
    entries_of,
    make_daily,
    make_family,
    make_quota,
    make_rate,
    now_is,
    spend,
)

pytestmark = pytest.mark.django_db


def change(quota: Quota, *, now: Any = NOW, **fields: Any) -> list[str]:
    row = now_is(quota)
    for name, value in fields.items():
        setattr(row, name, value)
    return save_changes(row, expected_version=row.version, now=now, actor="ann")


def faults_of(**fields: Any) -> dict[str, list[str]]:
    with pytest.raises(ValidationError) as refusal:
        make_quota(**fields)
    return refusal.value.message_dict


# --- a new one ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [None, 0, 1, LARGEST])
def test_a_new_quota_begins_with_the_entry_of_its_limit(limit: int | None) -> None:
    quota = make_quota(limit)
    assert quota.limit == limit
    assert entries_of(quota) == [("limit", limit or 0)]
    audit()


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({"limit": -1}, "limit", "from 0"),
        ({"limit": 1.5}, "limit", "whole number"),
        ({"limit": LARGEST + 1}, "limit", "from 0"),
        ({"kind": Kind.RATE, "limit": None}, "limit", "A rate needs a limit"),
        ({"kind": Kind.RATE}, "refill_amount", "A rate needs both"),
        ({"kind": Kind.RATE, "refill_amount": 0, "refill_seconds": 1}, "refill_amount", "A rate needs both"),
        ({"kind": Kind.RATE, "refill_amount": 1}, "refill_seconds", "A rate needs both"),
        ({"kind": Kind.PERIODIC}, "reset_preset", "needs to know when it resets"),
        ({"kind": Kind.PERIODIC, "reset_preset": "year"}, "reset_preset", "one of hour, day"),
        ({"kind": Kind.PERIODIC, "reset_preset": "day", "timezone": "Mars/Base"}, "timezone", "is not known"),
        ({"kind": Kind.PERIODIC, "reset_preset": "month", "reset_day": 32}, "reset_day", "is in no month"),
        ({"kind": Kind.PERIODIC, "reset_preset": "week", "reset_weekday": 7}, "reset_weekday", "does not exist"),
        ({"kind": Kind.PERIODIC, "reset_preset": "cron", "reset_cron": "0 0"}, "reset_cron", "is not five fields"),
        ({"kind": Kind.PERIODIC, "reset_preset": "day", "reset_time": time(6, 30, 5)}, "reset_time", "plain hour"),
        ({"kind": "weekly"}, "kind", "not a valid choice"),
        ({"key": ""}, "key", "cannot be blank"),
        ({"resume_threshold": 1}, "resume_threshold", "less than or equal"),
        ({"probe_url": "https://example.org/", "probe_remaining": "a["}, "probe_remaining", "no JMESPath expression"),
        ({"probe_url": "https://example.org/", "probe_headers": {"a b": "c"}}, "probe_headers", "header"),
    ],
)
def test_what_cannot_work_is_refused_at_its_field(fields: dict[str, Any], field: str, sentence: str) -> None:
    """B24, B29, B62."""
    faults = faults_of(**fields)
    assert sentence in " ".join(faults[field])
    assert not Quota.objects.exists()


def test_a_key_is_given_once() -> None:
    make_quota(key="openai")
    assert "key" in faults_of(key="openai")


def test_a_child_knows_the_whole_way_up() -> None:
    root = make_quota()
    middle = make_quota(parent=root)
    leaf = make_quota(parent=middle)
    assert leaf.chain == [root.pk, middle.pk, leaf.pk]
    audit()


# --- changes -----------------------------------------------------------------------------------------------------


def test_a_whole_form_posted_back_changes_nothing() -> None:
    quota = make_daily(reset_time=time(6))
    before = Quota.objects.filter(pk=quota.pk).values().get()
    assert change(quota) == []
    assert Quota.objects.filter(pk=quota.pk).values().get() == before


def test_whoever_saves_what_somebody_else_has_changed_meanwhile_is_told() -> None:
    quota = make_quota(10)
    mine = now_is(quota)
    assert change(quota, title="Theirs") == ["title"]
    mine.title = "Mine"
    with pytest.raises(StaleVersion) as stale:
        save_changes(mine, expected_version=mine.version, now=NOW)
    assert stale.value.current.title == "Theirs"
    assert now_is(quota).title == "Theirs"


def test_a_changed_limit_counts_at_once_and_is_an_entry() -> None:
    quota = make_daily(10)
    spend(quota, 10)
    assert change(quota, limit=20, title="More") == ["title", "limit"]
    assert entries_of(quota) == [("limit", 10), ("charge", -10), ("limit", 10)]
    assert (edges_of(quota), now_is(quota).version) == (["limit_change"], 2)
    audit()


def test_a_lower_threshold_counts_at_once() -> None:
    quota = make_quota(100, stable_seconds=600)
    spend(quota, 100, idempotency_key="step 1")
    charging.refund(quota.key, "step 1", amount=5, now=NOW)
    change(quota, resume_threshold=Decimal("0.01"))
    assert edges_of(quota) == ["limit_change"]


def test_what_a_job_spends_while_the_form_is_open_stays_spent() -> None:
    quota = make_quota(100)
    form = now_is(quota)
    spend(quota, 30)
    form.limit = 200
    save_changes(form, expected_version=form.version, now=NOW)
    assert now_is(quota).used == 30
    audit()


@pytest.mark.parametrize(("preset", "ends"), [("hour", NOW + 2 * HOUR), ("month", NOW + 29 * DAY + 12 * HOUR)])
def test_another_rule_ends_the_period_by_its_own_next_reset_and_keeps_what_was_used(preset: str, ends: Any) -> None:
    quota = make_daily(100)
    spend(quota, 60, idempotency_key="step 1")
    change(quota, reset_preset=preset, now=NOW + HOUR + MINUTE)
    row = now_is(quota)
    assert (row.used, row.period_end) == (60, ends)
    assert charging.refund(quota.key, "step 1", amount=20, now=NOW + HOUR + MINUTE) == 20
    spend(quota, 100, now=ends)
    assert now_is(quota).used == 100
    audit()


def test_a_changed_rule_does_not_move_by_itself_later() -> None:
    """B68: the next reset is a function of the rule, the zone and the instant."""
    quota = make_daily(10, reset_time=time(6), timezone="Asia/Tokyo")
    end = now_is(quota).period_end
    assert end == NOW + 9 * HOUR
    for hours in (1, 5, 8):
        spend(quota, 1, now=NOW + hours * HOUR)
        assert now_is(quota).period_end == end


def test_a_rate_changes_its_pace_from_now_on() -> None:
    quota = make_rate(10, amount=1, seconds=1)
    spend(quota, 10)
    change(quota, refill_seconds=3600, now=NOW + 5 * MINUTE / 100)
    assert now_is(quota).used == 7
    spend(quota, 1, now=NOW + HOUR)
    assert now_is(quota).used == 8
    audit()


def test_the_kind_and_the_key_stay() -> None:
    quota = make_quota()
    with pytest.raises(ValidationError, match="stay"):
        change(quota, key="another")
    with pytest.raises(ValidationError, match="stay"):
        change(quota, kind=Kind.PERIODIC, reset_preset="day")


# --- the parent --------------------------------------------------------------------------------------------------


def test_a_quota_that_nobody_charged_may_become_part_of_another() -> None:
    parent, quota = make_quota(10), make_quota(100)
    change(quota, parent=parent)
    spend(quota, 4)
    assert now_is(parent).used == 4
    audit()


def test_a_quota_that_was_charged_stays_where_it_is() -> None:
    parent, charged, holding = make_quota(10), make_quota(100), make_quota(100)
    spend(charged, 4)
    reserving.reserve(holding.key, 4, now=NOW)
    for quota in (charged, holding):
        with pytest.raises(ValidationError, match="What a quota is part of stays"):
            change(quota, parent=parent)


def test_no_quota_is_part_of_itself_or_of_its_own_parts() -> None:
    parent, leaf, _ = make_family()
    with pytest.raises(ValidationError, match="no part of itself"):
        change(leaf, parent=leaf)
    with pytest.raises(ValidationError, match="What a quota is part of stays"):
        change(parent, parent=leaf)
    audit()


def test_a_parent_that_does_not_exist_is_refused() -> None:
    quota = make_quota()
    with pytest.raises(ValidationError, match="is not a valid choice"):
        change(quota, parent_id=quota.pk + 1000)
    with pytest.raises(ValidationError, match="is not a valid choice"):
        defining.create(key="orphan", kind=Kind.CAPACITY, limit=1, parent_id=quota.pk + 1000, now=NOW)


def test_a_change_of_the_child_is_no_decision_about_the_parent() -> None:
    parent, quota = make_quota(10), make_quota(100)
    spend(parent, 10)
    change(quota, parent=parent)
    assert now_is(parent).warned_percent == 100


def test_the_headers_of_a_usage_endpoint_are_encrypted_at_rest(settings: Settings) -> None:
    settings.TIDELINE_SECRETS_KEYS = ["a key that is long enough for this"]
    quota = make_quota(probe_url="https://example.org/", probe_headers={"Authorization": "Bearer very-secret"})
    with connection.cursor() as cursor:
        cursor.execute("SELECT probe_headers FROM quotas_quota WHERE id = %s", [quota.pk])
        assert "secret" not in str(cursor.fetchone())
    assert Quota.objects.get(pk=quota.pk).revealed_headers() == {"Authorization": "Bearer very-secret"}
    settings.TIDELINE_SECRETS_KEYS = ["another key that is long enough too"]
    quota.refresh_from_db()
    quota.title = "new"
    with pytest.raises(ValidationError, match="TIDELINE_SECRETS_KEYS"):
        defining.save_changes(quota, expected_version=quota.version, now=NOW)
