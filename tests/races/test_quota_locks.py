"""Whoever changes chains of quotas at once waits for the others, but never in a circle, at any isolation level."""

import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from unittest import mock

import pytest
from django.db import OperationalError, connection, transaction
from django.db.models import F
from psycopg.errors import SerializationFailure

from quotas import charging, defining, reserving, scans
from quotas.books import open_books_of_all
from quotas.models import Quota, Reservation
from quotas.refusals import QuotaError
from quotas.reserving import Need
from quotas.states import Cause, Kind
from tests.quotas.factories import (
    HOUR,
    NOW,
    audit,
    change_row,
    charged_to,
    granted,
    make_family,
    make_quota,
    no_quick_way,
    now_is,
    spend,
)
from tests.races.helpers import Background, all_at_once, do_elsewhere, winner_holding

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("unheeded_edges")]


# --- chains and deadlocks ----------------------------------------------------------------------------------------


def test_siblings_under_one_parent_share_exactly_what_it_has() -> None:
    parent, one, other = make_family(root=50, leaves=40)

    def many(quota: Quota) -> int:
        return sum(granted(partial(spend, quota, 1)) for _ in range(40))

    assert sum(all_at_once(*[partial(many, quota) for quota in (one, other, one, other)])) == 50
    assert now_is(parent).used == 50 == charged_to(one) + charged_to(other)
    audit()


def test_charges_admissions_scans_and_releases_in_all_orders_never_wait_for_each_other_for_ever() -> None:
    parent, one, other = make_family(root=10_000, leaves=10_000)
    grandchild = make_quota(10_000, parent=other)
    quotas = [parent, one, other, grandchild]

    def spending(seed: int) -> None:
        dice = random.Random(seed)
        for number in range(25):
            quota, owner = dice.choice(quotas), f"run:{dice.randrange(6)}"
            spend(quota, dice.randint(1, 5), owner=owner, idempotency_key=f"{seed} {number}")
            held = reserving.reserve(quota.key, 3, now=NOW, owner=owner)
            with suppress(QuotaError):  # whoever looks after the owners has released it
                reserving.settle(held.pk, dice.randint(0, 4), now=NOW)

    def admitting(seed: int) -> None:
        dice = random.Random(seed)
        for number in range(25):
            leaves = dice.sample(quotas, 3)
            with transaction.atomic():
                books = open_books_of_all({pk for leaf in leaves for pk in leaf.chain}, NOW)
                needs = [Need(f"run:{dice.randrange(6)}", leaf.pk, 2) for leaf in leaves]
                reserving.reserve_for_admission(books, needs, key=f"edge {seed} {number}", lease=HOUR)
                books.save(Cause.SPENDING)

    def looking_after(seed: int) -> None:
        dice = random.Random(seed)
        for _ in range(25):
            owners = [f"run:{number}" for number in dice.sample(range(6), 3)]
            reserving.renew(owners, now=NOW)
            reserving.release_all_of(owners, now=NOW)
            scans.evaluate(dice.choice(quotas).pk, now=NOW)
            charging.refund_unused([(owner, 1, None) for owner in owners], now=NOW)

    with no_retry():
        tasks = (spending, spending, admitting, admitting, looking_after, looking_after)
        all_at_once(*[partial(task, seed) for seed, task in enumerate(tasks)])
    reserving.release_all_of([f"run:{number}" for number in range(6)], now=NOW)
    assert {now_is(quota).reserved for quota in quotas} == {0}
    audit()


def test_a_heartbeat_and_a_charge_of_the_same_owner_lock_its_admissions_in_the_same_order() -> None:
    quota = make_quota(100)
    with transaction.atomic():
        books = open_books_of_all([quota.pk], NOW)
        for number in range(2):
            need = Need("run:1", quota.pk, 10)
            reserving.reserve_for_admission(books, [need], key=f"edge {number}", lease=HOUR)
        books.save(Cause.SPENDING)
    first = Reservation.objects.earliest("pk")
    renew = partial(reserving.renew, ["run:1"], now=NOW)
    with no_retry(), winner_holding(first, then=renew) as go_on:
        charge = Background(partial(spend, quota, 15, owner="run:1"))
        charge.wait_until_it_waits()
        go_on.set()
        charge.result()
    assert (now_is(quota).used, now_is(quota).reserved) == (15, 0)
    audit()


@pytest.mark.parametrize("way", [nullcontext, no_quick_way])
def test_a_charge_locks_the_links_of_its_chain_in_the_order_of_their_ids_wherever_they_lie(
    way: Callable[[], AbstractContextManager[None]],
) -> None:
    parent, leaf, _ = make_family()
    while not _lies_behind(parent, leaf):
        Quota.objects.filter(pk=parent.pk).update(patience_seconds=F("patience_seconds") + 1)  # written anew elsewhere
    with way(), winner_holding(leaf):
        charge = Background(partial(spend, leaf, 1))
        charge.wait_until_it_waits()
        with transaction.atomic(), pytest.raises(OperationalError, match="could not obtain lock"):
            Quota.objects.select_for_update(nowait=True).get(pk=parent.pk)
    charge.result()
    assert charged_to(parent) == 1


def _lies_behind(one: Quota, other: Quota) -> bool:
    """Tell whether a row is read after the other one where the table is read as it lies."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM quotas_quota WHERE id IN (%s, %s) ORDER BY ctid", [one.pk, other.pk])
        return bool(cursor.fetchall()[1] == (one.pk,))


@contextmanager
def no_retry() -> Iterator[None]:
    """Let nothing be tried twice, so that a deadlock is seen."""
    with mock.patch("quotas.retrying.TRIES", 1):
        yield


def test_a_charge_that_meets_a_quota_that_has_just_become_part_of_another_is_entered_there_too() -> None:
    for quick in (True, False):
        parent, quota = make_quota(100), make_quota(100)
        edited = now_is(quota)
        edited.parent = parent
        adopt = partial(defining.save_changes, edited, expected_version=edited.version, now=NOW)
        with winner_holding(quota, then=adopt) as go_on:
            charge = Background(lambda quota=quota, quick=quick: _spend(quota, quick))  # type: ignore[misc]
            charge.wait_until_it_waits()
            go_on.set()
            charge.result()
        assert now_is(parent).used == now_is(quota).used == 5
    audit()


def test_a_quick_charge_that_waited_for_a_quota_that_has_another_parent_by_now_is_entered_there() -> None:
    parent, leaf, _ = make_family()
    another = make_quota(100)
    with winner_holding(leaf, then=partial(change_row, leaf, parent=another, ancestors=[another.pk])) as go_on:
        charge = Background(partial(spend, leaf, 5))
        charge.wait_until_it_waits()
        go_on.set()
        charge.result()
    assert [now_is(quota).used for quota in (parent, another, leaf)] == [0, 5, 5]
    audit()


def _spend(quota: Quota, quick: bool) -> None:
    if quick:
        spend(quota, 5)
        return
    with no_quick_way():
        spend(quota, 5)


def test_a_parent_that_becomes_part_of_another_while_it_gets_a_child_tells_the_child_or_is_refused() -> None:
    root, parent = make_quota(100), make_quota(100)
    edited = now_is(parent)
    edited.parent = root
    adopt = partial(defining.save_changes, edited, expected_version=edited.version, now=NOW)
    with winner_holding(parent, then=adopt) as go_on:
        birth = Background(
            lambda: defining.create(key="child", kind=Kind.CAPACITY, limit=10, parent_id=parent.pk, now=NOW)
        )
        birth.wait_until_it_waits()
        go_on.set()
        child = birth.result()
    assert child.chain == [root.pk, parent.pk, child.pk]
    audit()


# --- other isolation levels --------------------------------------------------------------------------------------


@contextmanager
def repeatable_read() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        yield


def test_twenty_callers_that_read_repeatably_lose_nothing() -> None:
    """B44: whoever was slower tries again."""
    quota = make_quota(1000)
    held = [reserving.reserve(quota.key, 10, now=NOW, owner=f"run:{number}") for number in range(10)]

    def repeatably(act: Callable[[], object]) -> Callable[[], object]:
        def acting() -> object:
            with repeatable_read():
                return act()

        return acting

    releases = [repeatably(partial(reserving.release, one.pk, now=NOW)) for one in held]
    charges = [repeatably(partial(spend, quota, 3)) for _ in range(10)]
    with many_tries():
        all_at_once(*releases, *charges)
    assert (now_is(quota).used, now_is(quota).reserved) == (30, 0)
    audit()


@contextmanager
def many_tries() -> Iterator[None]:
    """On two cores twenty callers may lose more often than the usual patience bears."""
    with mock.patch("quotas.retrying.TRIES", 200):
        yield


def test_within_a_callers_transaction_it_is_for_him_to_try_again() -> None:
    """B44: what he did before is undone as well, so that nothing is half done."""
    quota, other = make_quota(100), make_quota(100)

    def work() -> None:
        with repeatable_read(), transaction.atomic():
            spend(other, 1)
            do_elsewhere(lambda: spend(quota, 1))
            spend(quota, 1)

    with pytest.raises(OperationalError) as error:
        do_elsewhere(work)
    assert isinstance(error.value.__cause__, SerializationFailure)
    assert (now_is(quota).used, now_is(other).used) == (1, 0)
    audit()
