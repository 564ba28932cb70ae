"""Tiers and devices over the API: made, changed by version, and how many cards each tier is for."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry

from scheduler.polling.models import Device, PollingTier
from scheduler.polling.states import CardState
from tests.kit.api.caller import chiefs_program, problem_of
from tests.scheduler.polling.factories import make_account, make_card, make_cards, make_tier

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

ACTIVE = {"position": 10, "name": "active", "states": ["active"], "usage_seconds": 3600}


def test_a_tier_is_made_and_changed_by_version() -> None:
    made = chiefs_program().post("polling-tiers/", ACTIVE)
    assert (made.status_code, made["ETag"]) == (201, '"1"')
    address = f"polling-tiers/{made.json()['id']}/"
    changed = chiefs_program().patch(address, {"usage_seconds": 60, "package_seconds": None}, if_match='"1"')
    assert (changed.json()["usage_seconds"], changed.json()["version"]) == (60, 2)
    assert LogEntry.objects.latest("id").change_message.startswith("Changed through the API: usage_seconds.")
    problem = problem_of(chiefs_program().patch(address, {"name": "mine"}, if_match='"1"'), 409)
    assert problem["current"]["usage_seconds"] == 60


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"usage_seconds": 0}, "usage_seconds"),
        ({"usage_seconds": 10**9}, "usage_seconds"),
        ({"usage_from_percent": 80, "usage_below_percent": 80}, "usage_below_percent"),
        ({"states": ["asleep"]}, "states.0"),
        ({"states": "active"}, "states"),
        ({"position": 5}, "position"),
        ({"name": ""}, "name"),
    ],
)
def test_what_is_wrong_with_a_tier_is_said_of_its_field(said: dict[str, Any], field: str) -> None:
    make_tier(position=5)
    problem = problem_of(chiefs_program().post("polling-tiers/", ACTIVE | said), 400)
    assert [error["field"] for error in problem["errors"]] == [field]
    assert PollingTier.objects.count() == 1


def test_a_tier_is_deleted_with_a_reason() -> None:
    tier = make_tier()
    problem_of(chiefs_program().post(f"polling-tiers/{tier.pk}/delete-tier/", {}), 400)
    answer = chiefs_program().post(f"polling-tiers/{tier.pk}/delete-tier/", {"reason": "Not used"})
    assert answer.status_code == 204
    assert not PollingTier.objects.exists()
    assert "Delete: Not used" in LogEntry.objects.get().change_message


def test_it_is_counted_how_many_cards_each_tier_is_for() -> None:
    active, rest = make_tier(position=1, states=["active"], card_status_seconds=None), make_tier(position=2, states=[])
    account = make_account()
    make_cards(account, 2, state=CardState.ACTIVE)
    make_card(account)
    make_card(account, polling_enabled=False)
    told = chiefs_program().get("polling-tiers/cards/").json()
    assert [(tier["id"], tier["cards"], tier["calls_a_day"]) for tier in told["tiers"]] == [
        (active.pk, 2, 48),
        (rest.pk, 1, 25),
    ]
    assert told["cards_without_tier"] == 0


# --- devices ---------------------------------------------------------------------------------------------------------


def test_a_device_is_made_found_and_changed_by_what_it_said() -> None:
    made = chiefs_program().post("iot-devices/", {"code": "tracker-17"})
    assert made.status_code == 201
    [found] = chiefs_program().get("iot-devices/?code=tracker-17").json()["results"]
    address, tag = f"iot-devices/{found['id']}/", made["ETag"]
    changed = chiefs_program().patch(address, {"name": "Tracker 17"}, if_match=tag)
    assert (changed.json()["name"], changed["ETag"] != tag) == ("Tracker 17", True)
    assert problem_of(chiefs_program().patch(address, {"name": "mine"}, if_match=tag), 409)["current"]["name"]
    assert LogEntry.objects.count() == 2


def test_codes_of_devices_are_unique_and_devices_are_not_deleted() -> None:
    device = Device.objects.create(code="tracker-17")
    problem = problem_of(chiefs_program().post("iot-devices/", {"code": "tracker-17"}), 400)
    assert problem["errors"][0]["field"] == "code"
    problem_of(chiefs_program().send("delete", f"iot-devices/{device.pk}/"), 405)
