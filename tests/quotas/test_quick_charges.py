"""One statement charges where nothing but what was spent changes, for a quota by itself and for one that is a part."""

import pytest
from django.db import transaction

from quotas import quick_charges, reserving
from quotas.books import open_books_of_all
from quotas.models import Quota
from quotas.reserving import Need
from quotas.states import Cause
from tests.quotas.factories import (
    HOUR,
    NOW,
    audit,
    change_row,
    charged_to,
    make_family,
    make_quota,
    now_is,
    only_the_quick_way,
    spend,
)

pytestmark = pytest.mark.django_db


def test_a_quota_by_itself_and_a_part_of_one_are_both_charged_in_one_statement() -> None:
    alone, (parent, leaf, other) = make_quota(100), make_family()
    with only_the_quick_way():
        for quota in (alone, leaf, alone, leaf):
            spend(quota, 3)
    assert [now_is(quota).used for quota in (alone, parent, leaf, other)] == [6, 6, 6, 0]
    assert (charged_to(alone), charged_to(parent)) == (6, 6)
    audit()


def test_a_quota_that_became_a_part_meanwhile_is_charged_in_all_that_it_is_part_of() -> None:
    quota, parent = make_quota(100), make_quota(100)
    assert quick_charges._stands_alone(quota.key)
    change_row(quota, parent=parent, ancestors=[parent.pk])
    spend(quota, 3)
    assert [now_is(one).used for one in (quota, parent)] == [3, 3]
    audit()


def test_one_that_stands_alone_by_now_is_charged_as_well() -> None:
    _, leaf, _ = make_family()
    assert not quick_charges._stands_alone(leaf.key)
    change_row(leaf, parent=None, ancestors=[])
    with only_the_quick_way():
        spend(leaf, 3)
    assert now_is(leaf).used == 3


def test_only_what_the_owner_itself_still_holds_of_an_admission_keeps_it_from_the_quick_way() -> None:
    quota = make_quota(100)
    reserving.reserve(quota.key, 5, now=NOW, owner="run:1")  # no admission
    admit(quota, "run:1")
    spend(quota, 2, owner="run:1")  # uses what it was admitted for
    admit(quota, "run:2")
    with only_the_quick_way():
        spend(quota, 3, owner="run:1")
    with only_the_quick_way(), pytest.raises(AssertionError, match="it was judged"):
        spend(quota, 3, owner="run:2")
    audit()


def admit(quota: Quota, owner: str) -> None:
    """Hold two units for the owner, as he goes on."""
    with transaction.atomic():
        books = open_books_of_all([quota.pk], NOW)
        reserving.reserve_for_admission(books, [Need(owner, quota.pk, 2)], key="edge", lease=HOUR)
        books.save(Cause.SPENDING)
