"""One statement charges where nothing but what was spent changes, for a quota by itself and for one that is a part."""

import pytest

from quotas import quick_charges
from tests.quotas.factories import (
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
