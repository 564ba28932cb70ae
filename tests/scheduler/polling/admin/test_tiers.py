"""Tiers are shown in their order, counted on demand by the polling's own rule, and saved with a version lock."""

from typing import Any

import pytest
from django.test import Client

from scheduler.polling import defining
from scheduler.polling.models import PollingTier
from tests.panel import chief, errors_of, listed, posted_by, text_of
from tests.scheduler.polling.admin.desk import confirm, list_of, page_of, viewer
from tests.scheduler.polling.factories import make_account, make_cards, make_tier

pytestmark = pytest.mark.django_db

ADD = list_of("pollingtier", "add/")
PREVIEW = list_of("pollingtier", "preview/")
FORM = "pollingtier_form"


def opened(client: Client, address: str, **values: Any) -> dict[str, Any]:
    """Open a form, and return what the browser would post back with these values."""
    return posted_by(client.get(address), FORM) | values


def test_the_list_is_in_the_order_in_which_tiers_count_and_tells_them_in_words() -> None:
    last = make_tier(position=9, name="All others", usage_seconds=6 * 3600)
    first = make_tier(
        position=2, name="Nearly", states=["active"], real_name_states=["verified"], usage_from_percent=80
    )
    response = chief().get(list_of("pollingtier"))
    assert listed(response) == [first.pk, last.pk]
    text = text_of(response)
    assert (
        "2 Nearly state: active · real name: verified · 80 % used or more real name – usage 1 h card status 1 d" in text
    )
    assert "9 All others every card real name – usage 6 h card status 1 d" in text


def test_the_preview_counts_each_polled_card_once_at_the_first_tier_that_matches() -> None:
    make_tier(position=1, name="Active", states=["active"], usage_seconds=3600, card_status_seconds=None)
    make_tier(position=2, name="Stopped", states=["stopped", "active"], card_status_seconds=None)
    account = make_account()
    make_cards(account, 3, state="active")
    make_cards(account, 2, state="stopped")
    make_cards(account, 1, state="expired")
    make_cards(account, 5, state="active", polling_enabled=False)
    text = text_of(chief().get(PREVIEW))
    assert "6 cards are polled. By the tiers that makes 120 checks a day." in text
    assert "Active state: active 3 50 % 72" in text
    assert "Stopped state: stopped, active 2 33 % 48" in text
    assert "No tier matches 1 of them" in text


def test_only_who_may_look_may_count() -> None:
    assert viewer().get(PREVIEW).status_code == 200
    assert Client().get(PREVIEW).status_code == 302


def test_a_tier_is_added_behind_the_others() -> None:
    make_tier(position=30)
    client = chief()
    form = opened(client, ADD, name="New", states=["active", "stopped"], packages="A\nB\n A ", usage_seconds="600")
    assert form["position"] == "40"
    client.post(ADD, form)
    tier = PollingTier.objects.get(name="New")
    assert (tier.position, tier.states, tier.packages) == (40, ["active", "stopped"], ["A", "B"])
    assert (tier.usage_seconds, tier.package_seconds) == (600, None)


@pytest.mark.parametrize(
    ("field", "values", "says"),
    [
        ("usage_seconds", {"usage_seconds": "0"}, "Write seconds from 1 to a year of them"),
        ("usage_below_percent", {"usage_from_percent": "80", "usage_below_percent": "50"}, "Write more than 80."),
        ("packages", {"packages": "a\x00b"}, "Null characters are not allowed."),
        ("states", {"states": ["asleep"]}, "Select a valid choice."),
        ("position", {"position": "30"}, "already exists"),
        ("name", {"name": ""}, "This field is required."),
    ],
)
def test_what_is_wrong_stands_on_its_field(field: str, values: dict[str, Any], says: str) -> None:
    make_tier(position=30)
    client = chief()
    errors = errors_of(client.post(ADD, opened(client, ADD, name="New") | values))
    assert list(errors) == [field]
    assert says in errors[field][0]
    assert PollingTier.objects.count() == 1


def test_a_form_that_is_posted_back_changes_nothing_and_a_change_counts_the_version() -> None:
    tier, client = make_tier(states=["active"], packages=["A"]), chief()
    address = page_of(tier, "edit")
    response = client.post(address, opened(client, address, states=["active"]))
    assert response.headers["Location"] == page_of(tier)
    tier.refresh_from_db()
    assert (tier.version, tier.states) == (1, ["active"])
    client.post(address, opened(client, address, states=["active", "testing"], usage_seconds="60"))
    tier.refresh_from_db()
    assert (tier.version, tier.states, tier.usage_seconds) == (2, ["active", "testing"], 60)


def test_who_saves_over_a_newer_version_is_shown_both() -> None:
    tier, client = make_tier(states=["active"], usage_seconds=600), chief()
    form = opened(client, page_of(tier, "edit"), states=["active", "testing"], usage_seconds="60")
    tier.states, tier.usage_seconds = ["stopped"], 900
    defining.save_tier(tier, expected_version=1)
    text = text_of(client.post(page_of(tier, "edit"), form))
    assert "States active, testing stopped you and them" in text
    assert "60 900 you and them" in text
    tier.refresh_from_db()
    assert tier.usage_seconds == 900


def test_a_tier_is_deleted_with_a_reason_by_who_may() -> None:
    tier, following = make_tier(position=1), make_tier(position=2, name="The next")
    assert viewer().post(page_of(tier, "action", "delete-tier"), {}).status_code == 403
    client = viewer("delete_pollingtier")
    assert "“The next” is the next." in text_of(client.get(page_of(tier, "action", "delete-tier")))
    response = confirm(client, tier, "delete-tier", reason="Not needed.")
    assert response.headers["Location"] == list_of("pollingtier")
    assert list(PollingTier.objects.all()) == [following]


def test_the_page_tells_how_often_its_cards_are_checked() -> None:
    tier = make_tier(states=["active"], usage_seconds=600)
    text = text_of(viewer().get(page_of(tier)))
    assert "for state: active" in text
    assert "Usage 10 min" in text
