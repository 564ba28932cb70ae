"""The queue of what waits for a quota: its order, when each is expected back, and who would go on with more."""

from datetime import datetime
from typing import Any

import pytest

from quotas import charging, prospects, scans, waiting
from quotas.admission import Waiting
from quotas.models import Quota, TenantTurn
from quotas.prospects import Place
from quotas.waiting import WaitingWork
from tests.quotas.factories import DAY, HOUR, MINUTE, NOW, SECOND, make_daily, make_quota, make_rate, now_is, spend

pytestmark = pytest.mark.django_db

MIDNIGHT = NOW + 12 * HOUR


class Queue:
    """Who waits in a test."""

    def __init__(self) -> None:
        self.works: list[WaitingWork] = []

    def add(self, name: str, *needs: tuple[Quota, int], since: datetime = NOW - HOUR, **said: Any) -> None:
        """Let somebody wait, under its name as its tenant too unless another is said."""
        units = {link: amount for quota, amount in needs for link in quota.chain}
        who = Waiting(name, said.pop("tenant", name), said.pop("priority", 0), since, units)
        self.works.append(WaitingWork(who, name, f"/{name}/", "It was refused.", **said))

    def source(self, quota: Quota, limit: int) -> list[WaitingWork]:
        """Return who waits for the quota."""
        return [work for work in self.works if quota.pk in work.waiting.needs][:limit]


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Queue:
    """The only queue that is asked."""
    monkeypatch.setattr(waiting, "_sources", [])
    monkeypatch.setattr(waiting, "_counts", [])
    queue = Queue()
    waiting.register(queue.source)
    return queue


def names(places: list[Place]) -> list[str]:
    """Return who stands where."""
    return [place.work.title for place in places]


def going(places: list[Place]) -> list[str]:
    """Return who goes on."""
    return [place.work.title for place in places if place.goes_on]


def expected(quota: Quota, *, now: datetime = NOW) -> dict[str, datetime | None]:
    """Return when each is expected back."""
    return {place.work.title: place.expected_at for place in prospects.queue(now_is(quota), now=now)}


# --- the order -----------------------------------------------------------------------------------------------------


def test_who_fits_stands_first_and_the_others_as_they_go_on_later(queue: Queue) -> None:
    quota = make_quota(100)
    spend(quota, 70)
    queue.add("big", (quota, 50), since=NOW - 5 * MINUTE)
    queue.add("small", (quota, 20), since=NOW - 4 * MINUTE)
    queue.add("urgent", (quota, 60), since=NOW - 3 * MINUTE, priority=5)
    places = prospects.queue(now_is(quota), now=NOW)
    assert (going(places), names(places)) == (["small"], ["small", "urgent", "big"])
    assert places[1].obstacle == f"“{quota.key}” lacks 30 of the 60 that it needs."


def test_the_tenant_that_was_served_least_recently_goes_first(queue: Queue) -> None:
    quota = make_quota(10)
    TenantTurn.objects.create(quota=quota, tenant="one", served_at=NOW)
    queue.add("one", (quota, 10), since=NOW - 3 * MINUTE)
    queue.add("two", (quota, 10), since=NOW - 2 * MINUTE)
    assert names(prospects.queue(quota, now=NOW)) == ["two", "one"]


def test_while_the_verdict_is_insufficient_nobody_goes_on_though_something_is_left(queue: Queue) -> None:
    quota = make_quota(100)
    spend(quota, 100, idempotency_key="all")
    charging.refund(quota.key, "all", now=NOW, amount=8)
    queue.add("small", (quota, 2))
    (place,) = prospects.queue(now_is(quota), now=NOW)
    assert not place.goes_on
    assert place.obstacle == f"Of “{quota.key}” more than 10 has to be there again; it has 8."


def test_whoever_waits_for_several_goes_on_when_all_of_them_allow_it(queue: Queue) -> None:
    full, used_up = make_quota(100), make_daily(50)
    spend(used_up, 50)
    queue.add("both", (full, 5), (used_up, 5))
    (place,) = prospects.queue(full, now=NOW)
    assert (place.goes_on, place.expected_at) == (False, MIDNIGHT)
    assert place.obstacle == f"“{used_up.key}” lacks 5 of the 5 that it needs."


def test_an_older_need_beyond_its_patience_keeps_what_is_left_of_a_capacity(queue: Queue) -> None:
    quota = make_quota(100, patience_seconds=600)
    spend(quota, 70)
    queue.add("big", (quota, 50), since=NOW - HOUR)
    queue.add("small", (quota, 20), since=NOW - MINUTE)
    places = prospects.queue(now_is(quota), now=NOW)
    assert going(places) == []
    kept = {place.work.title: place.obstacle for place in places}["small"]
    assert kept == f"What is left of “{quota.key}” is kept for big, which has waited for too long."


def test_what_is_left_of_a_period_is_kept_for_nobody(queue: Queue) -> None:
    quota = make_daily(100, patience_seconds=600)
    spend(quota, 70)
    queue.add("big", (quota, 50), since=NOW - HOUR)
    queue.add("small", (quota, 20), since=NOW - MINUTE)
    assert going(prospects.queue(now_is(quota), now=NOW)) == ["small"]


def test_who_is_held_stands_last_and_who_has_to_wait_for_its_time_does_not_go_on(queue: Queue) -> None:
    quota = make_quota(100)
    queue.add("held", (quota, 1), held="A person has to agree.")
    queue.add("later", (quota, 1), not_before=NOW + MINUTE)
    queue.add("now", (quota, 1), not_before=NOW)
    places = prospects.queue(quota, now=NOW)
    assert [(place.work.title, place.goes_on, place.expected_at) for place in places] == [
        ("now", True, NOW),
        ("later", False, NOW + MINUTE),
        ("held", False, None),
    ]
    assert places[2].obstacle == "A person has to agree."


def test_in_shadow_mode_everybody_goes_on(queue: Queue) -> None:
    quota = make_quota(10, shadow=True)
    spend(quota, 10)
    queue.add("one", (quota, 5))
    assert going(prospects.queue(now_is(quota), now=NOW)) == ["one"]


# --- when ----------------------------------------------------------------------------------------------------------


def test_behind_those_who_take_all_of_a_period_one_waits_for_the_next(queue: Queue) -> None:
    quota = make_daily(100)
    spend(quota, 100)
    for number in range(4):
        queue.add(f"run {number}", (quota, 60), since=NOW - HOUR + number * SECOND)
    assert list(expected(quota).values()) == [MIDNIGHT + number * DAY for number in range(4)]


def test_behind_those_who_take_all_of_a_fresh_period_one_waits_for_the_next(queue: Queue) -> None:
    quota = make_daily(100)
    for number in range(3):
        queue.add(f"run {number}", (quota, 60), since=NOW - HOUR + number * SECOND)
    assert list(expected(quota).values()) == [NOW, MIDNIGHT, MIDNIGHT + DAY]


def test_behind_those_who_take_all_of_a_full_rate_one_waits_until_it_has_refilled(queue: Queue) -> None:
    quota = make_rate(10, amount=1, seconds=60)
    for number in range(3):
        queue.add(f"run {number}", (quota, 8), since=NOW - HOUR + number * SECOND)
    assert list(expected(quota).values()) == [NOW, NOW + 6 * MINUTE, NOW + 14 * MINUTE]


def test_two_that_fit_into_one_period_are_expected_together(queue: Queue) -> None:
    quota = make_daily(100)
    spend(quota, 100)
    for number in range(5):
        queue.add(f"run {number}", (quota, 50), since=NOW - HOUR + number * SECOND)
    days = [(instant - MIDNIGHT).days for instant in expected(quota).values() if instant]
    assert days == [0, 0, 1, 1, 2]


def test_what_a_rate_lacks_trickles_in(queue: Queue) -> None:
    quota = make_rate(10, amount=1, seconds=60)
    spend(quota, 10)
    queue.add("first", (quota, 3), since=NOW - 2 * SECOND)
    queue.add("second", (quota, 4), since=NOW - SECOND)
    assert expected(quota) == {"first": NOW + 3 * MINUTE, "second": NOW + 7 * MINUTE}


def test_nobody_knows_when_a_capacity_is_topped_up_or_a_limit_of_nothing_is_raised(queue: Queue) -> None:
    capacity, blocked = make_quota(100), make_daily(0)
    spend(capacity, 100)
    queue.add("one", (capacity, 5))
    queue.add("two", (blocked, 5))
    assert expected(capacity) == {"one": None}
    assert expected(blocked) == {"two": None}


def test_what_has_to_be_stable_first_is_expected_when_it_is(queue: Queue) -> None:
    quota = make_quota(100, stable_after_reset_seconds=60)
    spend(quota, 100)
    queue.add("first", (quota, 20), since=NOW - 2 * SECOND)
    queue.add("second", (quota, 120), since=NOW - SECOND)
    charging.top_up(quota.key, 50, now=NOW)
    assert expected(quota) == {"first": NOW + MINUTE, "second": None}
    first, _ = prospects.queue(now_is(quota), now=NOW)
    assert first.obstacle == f"“{quota.key}” has 50 again, and has to keep that for a while."


def test_a_reset_that_no_scan_has_noticed_counts_already(queue: Queue) -> None:
    quota = make_daily(100)
    spend(quota, 100)
    for number in range(3):
        queue.add(f"run {number}", (quota, 60), since=NOW - HOUR + number * SECOND)
    later = MIDNIGHT + SECOND
    assert going(prospects.queue(now_is(quota), now=later)) == ["run 0"]
    assert expected(quota, now=later) == {"run 0": later, "run 1": MIDNIGHT + DAY, "run 2": MIDNIGHT + 2 * DAY}


def test_while_the_provider_refuses_it_is_the_provider_who_decides(queue: Queue) -> None:
    quota = make_daily(100)
    Quota.objects.filter(pk=quota.pk).update(blocked_until=NOW + HOUR)
    scans.evaluate(quota.pk, now=NOW)
    queue.add("one", (quota, 5))
    (place,) = prospects.queue(now_is(quota), now=NOW)
    assert (place.expected_at, place.obstacle) == (
        NOW + HOUR,
        f"The provider of “{quota.key}” refuses for the present.",
    )
    scans.evaluate(quota.pk, now=NOW + 2 * HOUR)
    (place,) = prospects.queue(now_is(quota), now=NOW + 2 * HOUR)
    assert not place.goes_on
    assert "one run at a time tries" in place.obstacle


# --- what if -------------------------------------------------------------------------------------------------------


def test_with_more_those_go_on_who_would_then_fit_and_nothing_is_changed(queue: Queue) -> None:
    quota = make_quota(100)
    spend(quota, 100)
    queue.add("first", (quota, 60), since=NOW - 2 * MINUTE)
    queue.add("second", (quota, 60), since=NOW - MINUTE)
    before = Quota.objects.filter(pk=quota.pk).values().get()
    stored = now_is(quota)
    assert going(prospects.queue_if(stored, 180, now=NOW)) == ["first"]
    assert going(prospects.queue_if(stored, 220, now=NOW)) == ["first", "second"]
    assert going(prospects.queue_if(stored, None, now=NOW)) == ["first", "second"]
    assert going(prospects.queue_if(stored, 0, now=NOW)) == []
    assert (stored.limit, stored.verdict) == (100, "insufficient")
    assert Quota.objects.filter(pk=quota.pk).values().get() == before


@pytest.mark.parametrize(("limit", "goes_on"), [(110, False), (111, False), (112, True)])
def test_below_the_threshold_nobody_would_go_on(queue: Queue, limit: int, goes_on: bool) -> None:
    quota = make_quota(100)
    spend(quota, 100)
    queue.add("one", (quota, 1))
    (place,) = prospects.queue_if(now_is(quota), limit, now=NOW)
    assert place.goes_on == goes_on


def test_what_would_go_on_is_what_goes_on_once_the_limit_is_really_set(queue: Queue) -> None:
    parent = make_quota(500)
    quota = make_quota(100, parent=parent)
    spend(quota, 100)
    for number, need in enumerate((30, 90, 10, 45, 5)):
        queue.add(f"run {number}", (quota, need), since=NOW - MINUTE + number * SECOND, tenant=f"t{number % 2}")
    supposed = prospects.queue_if(now_is(quota), 200, now=NOW)
    charging.set_limit(quota.key, 200, now=NOW)
    real = prospects.queue(now_is(quota), now=NOW)
    assert (going(supposed), names(supposed)) == (going(real), names(real))
    assert going(real)


# --- counting ------------------------------------------------------------------------------------------------------


def test_whoever_counts_is_asked_for_many_quotas_at_once(queue: Queue) -> None:
    asked = []

    def count(quota_ids: Any) -> dict[int, int]:
        asked.append(list(quota_ids))
        return {7: 2}

    waiting.register(queue.source, count)
    waiting.register(queue.source, count)
    assert waiting.count_waiting([7, 8]) == {7: 2}
    assert waiting.count_waiting([7, 8])[8] == 0
    assert asked == [[7, 8]] * 2
