"""What comes of a quota over the API: how long it lasts, who waits for it, and who would go on with more."""

import pytest

from project.kit.clock import database_now
from quotas.models import Quota
from tests.kit.api.caller import chiefs_program, problem_of
from tests.quotas.admin.desk import HOUR, charge, make_daily, make_quota, make_rate, wait_for
from tests.quotas.api.test_quotas import address_of

pytestmark = pytest.mark.django_db


def test_the_outlook_says_when_nothing_is_left() -> None:
    now = database_now()
    quota = make_quota(1000, now=now - 6 * HOUR)
    for hours in range(5, 0, -1):
        charge(quota, 100, now=now - hours * HOUR)
    told = chiefs_program().get(address_of(quota, "outlook")).json()
    assert (told["available"], told["per_hour"], told["next_reset"]) == (500, 100, None)
    assert told["runs_out_at"] > f"{now:%Y-%m-%dT%H:%M}"
    assert told["sentence"].startswith("Lasts until")


def test_where_little_was_spent_the_outlook_says_what_is_left_and_when_it_is_back() -> None:
    told = chiefs_program().get(address_of(make_daily(100, used=5), "outlook")).json()
    assert (told["available"], told["per_hour"], told["runs_out_at"], told["sentence"]) == (95, None, None, "")
    assert told["next_reset"].endswith("Z")


def test_who_waits_is_told_in_the_order_in_which_it_goes_on() -> None:
    quota = make_quota(100, used=100)
    first, second = wait_for(quota, 30, 20)
    told = chiefs_program().get(address_of(quota, "waiting")).json()
    assert told["count"] == 2
    assert [place["owner"] for place in told["places"]] == [first.waiting.key, second.waiting.key]
    place = told["places"][0]
    assert (place["need"], place["goes_on"], place["expected_at"], place["held"]) == (30, False, None, "")
    assert f"“{quota.key}” lacks 30 of the 30" in place["obstacle"]


def test_a_simulation_says_who_would_go_on_and_changes_nothing() -> None:
    quota = make_quota(100, used=100)
    wait_for(quota, 30, 20)
    before = Quota.objects.values().get()
    told = chiefs_program().get(address_of(quota, "simulate") + "?top_up=40").json()
    assert (told["limit"], told["going"]) == (140, 1)
    assert [place["goes_on"] for place in told["places"]] == [True, False]
    assert chiefs_program().get(address_of(quota, "simulate") + "?limit=150").json()["going"] == 2
    assert Quota.objects.values().get() == before


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("", ""),
        ("top_up=5&limit=5", ""),
        ("top_up=0", "top_up"),
        ("limit=-1", "limit"),
        ("limit=much", "limit"),
        ("colour=red", "colour"),
    ],
)
def test_what_cannot_be_supposed_is_said(query: str, field: str) -> None:
    problem = problem_of(chiefs_program().get(f"{address_of(make_quota(), 'simulate')}?{query}"), 400)
    assert [error["field"] for error in problem["errors"]] == [field]


def test_of_a_rate_only_another_limit_can_be_supposed() -> None:
    problem = problem_of(chiefs_program().get(address_of(make_rate(), "simulate") + "?top_up=5"), 400)
    assert "There are: limit." in problem["detail"]
