"""Many spend at once: nothing beyond the limit, nothing twice, nothing lost, and nobody waits for ever."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from quotas import charging, reserving, scans
from quotas.models import Edge, LedgerEntry, Quota, Reservation
from quotas.refusals import QuotaError
from tests.processes import Processes, cut_sessions
from tests.quotas.factories import (
    DAY,
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    audit,
    block,
    charged_to,
    edges_of,
    granted,
    make_daily,
    make_family,
    make_quota,
    make_rate,
    no_quick_way,
    now_is,
    spend,
)
from tests.races.helpers import Background, all_at_once, run_before, winner_holding

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("unheeded_edges")]


def attempts(quota: Quota, count: int, amount: int = 1, **said: Any) -> list[Callable[[], int]]:
    return [partial(granted, partial(spend, quota, amount, **said)) for _ in range(count)]


# --- the limit holds ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [make_quota, make_daily, make_rate])
def test_of_eight_that_charge_the_last_unit_one_gets_it(make: Callable[[int], Quota]) -> None:
    """B10: never checked now and charged later."""
    for _ in range(5):
        quota = make(10)
        spend(quota, 9)
        assert sum(all_at_once(*attempts(quota, 8))) == 1
        assert now_is(quota).used == 10
    audit()


def test_of_those_that_reserve_and_charge_at_once_exactly_what_fits_gets_it() -> None:
    """B13: a refused request keeps nothing that another one could have had."""
    quota = make_quota(100)
    spend(quota, 90)
    reserve = partial(granted, partial(reserving.reserve, quota.key, 5, now=NOW))
    outcomes = all_at_once(*attempts(quota, 4, 5), reserve, reserve, *attempts(quota, 2, 20))
    assert sum(outcomes) == 2
    row = now_is(quota)
    assert row.used + row.reserved == 100
    audit()


@pytest.mark.parametrize("rival_spends", [70, 79, 80, 90, 99, 100])
def test_a_quick_charge_that_waited_for_the_row_tests_the_row_that_it_got(rival_spends: int) -> None:
    """What changed between its snapshot and its lock: the limit holds, no unit is lost, and the verdict is right."""
    quota = make_quota(100)
    with winner_holding(quota, then=lambda: spend(quota, rival_spends)) as go_on:
        waiting = Background(lambda: granted(lambda: spend(quota, 10)))
        waiting.wait_until_it_waits()
        go_on.set()
        fits = waiting.result()
    assert fits == (rival_spends + 10 <= 100)
    row = now_is(quota)
    assert row.used == rival_spends + 10 * fits
    assert row.verdict == ("insufficient" if row.used == 100 else "sufficient")
    assert row.warned_percent == max(level for level in (0, 80, 95, 100) if row.used >= level)
    audit()


def test_a_quick_charge_that_waited_for_the_parent_tests_what_a_sibling_has_left_of_it() -> None:
    parent, leaf, sibling = make_family(root=100, leaves=100)
    with winner_holding(parent, then=lambda: spend(sibling, 95)) as go_on:
        waiting = Background(attempts(leaf, 1, 6)[0])
        waiting.wait_until_it_waits()
        go_on.set()
        assert waiting.result() == 0
    spend(leaf, 5)
    assert [now_is(quota).used for quota in (parent, leaf, sibling)] == [100, 5, 95]
    audit()


@pytest.mark.parametrize(
    "change",
    [
        lambda quota: charging.set_limit(quota.key, 7, now=NOW),
        lambda quota: charging.set_limit(quota.key, 0, now=NOW),
        lambda quota: reserving.reserve(quota.key, 95, now=NOW),
        lambda quota: spend(quota, 100, now=NOW + DAY),
        lambda quota: block(quota, NOW + HOUR),
    ],
)
def test_a_charge_that_waited_meets_the_quota_as_it_was_changed_meanwhile(change: Callable[[Quota], object]) -> None:
    quota = make_daily(100)
    spend(quota, 2)
    with winner_holding(quota, then=lambda: change(quota)) as go_on:
        waiting = Background(attempts(quota, 1, 6)[0])
        waiting.wait_until_it_waits()
        go_on.set()
        assert waiting.result() == 0
    audit()


# --- once --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quick", [True, False])
def test_one_key_from_eight_charges_once_and_all_are_told_the_same(quick: bool) -> None:
    """B18, B19."""
    quota = make_quota(100)
    charge = partial(charging.charge, quota.key, 7, now=NOW, idempotency_key="step 1")
    if quick:
        results = all_at_once(*[charge] * 8)
    else:
        with no_quick_way():
            results = all_at_once(*[charge] * 8)
    assert sorted(result.repeated for result in results) == [False] + [True] * 7
    assert {result.amount for result in results} == {7}
    assert now_is(quota).used == 7
    audit()


def test_a_key_whose_first_charge_is_about_to_be_committed_is_waited_for() -> None:
    quota = make_quota(100)
    charge = partial(charging.charge, quota.key, 7, now=NOW, idempotency_key="step 1")
    with transaction.atomic():
        assert not charge().repeated
        second = Background(charge)
        second.wait_until_it_waits()
    assert second.result().repeated
    assert now_is(quota).used == 7


def test_a_reservation_is_settled_once_by_eight_and_topped_up_refunded_and_freed_once() -> None:
    """B18, B19, B46."""
    quota = make_quota(100)
    held, dead = (reserving.reserve(quota.key, 20, now=NOW, owner=owner) for owner in ("run:1", "run:2"))
    spend(quota, 30, idempotency_key="step 1")
    settled = all_at_once(*[partial(reserving.settle, held.pk, 15, now=NOW)] * 8)
    assert sorted(settled) == [False] * 7 + [True]
    topped = all_at_once(*[partial(charging.top_up, quota.key, 50, now=NOW, idempotency_key="invoice")] * 8)
    assert topped == [150] * 8
    assert all_at_once(*[partial(charging.refund, quota.key, "step 1", now=NOW)] * 8) == [30] * 8
    freed = all_at_once(*[partial(reserving.free_expired, now=NOW + HOUR)] * 4)
    assert sum(freed) == 1
    assert Reservation.objects.get(pk=dead.pk).state == "expired"
    row = now_is(quota)
    assert (row.used, row.reserved, row.limit) == (15, 0, 150)
    audit()


def test_what_is_settled_freed_renewed_and_released_at_once_ends_once() -> None:
    """B15, B16: whoever is first, nothing stays reserved."""
    for _ in range(8):
        parent, leaf, _other = make_family()
        held = reserving.reserve(leaf.key, 20, now=NOW, lease=MINUTE, owner="run:1")
        all_at_once(
            partial(_settle_if_not_released, held),
            partial(reserving.free_expired, now=NOW + MINUTE),
            partial(reserving.release_all_of, ["run:1"], now=NOW),
            partial(reserving.renew, ["run:1"], now=NOW),
        )
        reserving.free_expired(now=NOW + HOUR)
        for quota in (parent, leaf):
            assert now_is(quota).reserved == 0
            assert now_is(quota).used in (0, 15)
    audit()


def _settle_if_not_released(held: Reservation) -> None:
    with suppress(QuotaError):  # it was released
        reserving.settle(held.pk, 15, now=NOW)


def test_a_reservation_that_is_renewed_right_before_it_would_be_freed_stays() -> None:
    """B16."""
    quota = make_quota(100)
    reserving.reserve(quota.key, 20, now=NOW, lease=MINUTE, owner="run:1")
    with run_before("quotas.reserving.open_books_of_all", partial(reserving.renew, ["run:1"], now=NOW + MINUTE)):
        assert reserving.free_expired(now=NOW + MINUTE) == 0
    assert now_is(quota).reserved == 20
    audit()


def test_who_deletes_a_quota_amid_its_charge_is_refused_and_the_charge_has_its_quota() -> None:
    """No foreign key of the ledger sees to it."""
    quota = make_quota(10)

    def delete() -> None:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM quotas_quota WHERE id = %s", [quota.pk])

    with winner_holding(quota, then=lambda: spend(quota, 3)) as go_on:
        deleting = Background(delete)
        deleting.wait_until_it_waits()
        go_on.set()
        with pytest.raises(IntegrityError, match="a quota is kept"):
            deleting.result()
    assert now_is(quota).used == 3 == charged_to(quota)
    audit()


# --- resets ------------------------------------------------------------------------------------------------------


def test_two_charges_exactly_at_the_reset_both_count_in_the_new_period_and_the_reset_once() -> None:
    """B22."""
    for _ in range(5):
        quota = make_daily(100)
        spend(quota, 100)
        midnight = NOW + 12 * HOUR
        scan = partial(scans.evaluate, quota.pk, now=midnight)
        all_at_once(partial(spend, quota, 30, now=midnight), partial(spend, quota, 20, now=midnight), scan, scan)
        assert now_is(quota).used == 50
        kinds = list(LedgerEntry.objects.filter(quota=quota).values_list("kind", flat=True))
        assert kinds.count("reset") == 1
        assert edges_of(quota) == ["reset"]
    audit()


def test_a_charge_from_before_the_reset_that_comes_after_it_is_not_lost() -> None:
    """B22: a backdated snapshot invalidates nothing."""
    quota = make_daily(100)
    spend(quota, 60)
    midnight = NOW + 12 * HOUR
    with winner_holding(quota, then=lambda: spend(quota, 10, now=midnight)) as go_on:
        late = Background(lambda: spend(quota, 20, now=midnight - SECOND))
        late.wait_until_it_waits()
        go_on.set()
        late.result()
    assert (now_is(quota).used, now_is(quota).period_start) == (30, midnight)
    audit()


# --- edges -------------------------------------------------------------------------------------------------------


def test_fifty_triggers_at_once_are_one_rising_edge() -> None:
    quota = make_daily(10)
    spend(quota, 10)
    midnight = NOW + 12 * HOUR
    look = [partial(scans.evaluate_due, now=midnight), partial(scans.evaluate, quota.pk, now=midnight)]
    raise_limit = partial(charging.set_limit, quota.key, 20, now=midnight)
    all_at_once(*look * 4, raise_limit, partial(spend, quota, 1, now=midnight))
    assert edges_of(quota) == ["reset"]
    assert Edge.objects.count() == 1


# --- killed ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_whatever_a_killed_process_was_at_the_sum_of_the_ledger_is_the_balance(processes: Processes) -> None:
    parent, leaf, _ = make_family(root=10**9, leaves=10**9)
    for entries in (1, 20, 45, 90):
        before = LedgerEntry.objects.count()
        spender = processes.run("spender", f"exec python -m tests.races.spender {leaf.key!r} {NOW.isoformat()}")
        processes.wait_until(lambda: LedgerEntry.objects.count() >= before + entries)  # noqa: B023 -- used at once
        spender.kill9()
    cut_sessions()  # what it had sent is committed or not; nobody else is at it
    assert charged_to(parent) > 0
    reserving.free_expired(now=NOW + HOUR)
    assert now_is(parent).reserved == 0
    audit()
