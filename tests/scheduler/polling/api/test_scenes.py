"""Scenes over the API: read by their codes, and changed by version."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry

from scheduler.polling.models import CheckScene
from tests.kit.api.caller import Program, chief, chiefs_program, problem_of, token_of

pytestmark = pytest.mark.django_db

ADDRESS = "polling-check-scenes/order_paid/"


def test_the_scenes_are_told_by_their_codes() -> None:
    rows = chiefs_program().get("polling-check-scenes/").json()["results"]
    codes = [row["code"] for row in rows]
    assert codes == sorted(CheckScene.objects.values_list("code", flat=True))
    read = chiefs_program().get("polling-check-scenes/?kind=read").json()["results"]
    assert {row["code"] for row in read} == set(CheckScene.objects.filter(kind="read").values_list("code", flat=True))
    one = chiefs_program().get(ADDRESS)
    assert (one.json()["code"], one.json()["kind"], one["ETag"]) == ("order_paid", "event", '"1"')
    problem_of(chiefs_program().get("polling-check-scenes/nothing/"), 404)


def test_a_scene_is_walked_through_page_by_page() -> None:
    first = chiefs_program().get("polling-check-scenes/?page_size=3").json()
    second = chiefs_program().get(f"polling-check-scenes/?{first['next'].partition('?')[2]}").json()
    codes = [row["code"] for row in (*first["results"], *second["results"])]
    assert codes == list(CheckScene.objects.order_by("code").values_list("code", flat=True)[:6])


def test_a_change_is_written_with_who_made_it() -> None:
    user = chief()
    said = {"types": ["usage"], "confirm_delays": [60, 300], "cooldown_seconds": 30, "active": False}
    response = Program(token_of(user)).patch(ADDRESS, said, if_match='"1"')
    assert (response.status_code, response["ETag"]) == (200, '"2"')
    row = response.json()
    assert {name: row[name] for name in said} == said
    assert row["changed_by"] == user.username
    assert LogEntry.objects.get().change_message.startswith("Changed through the API: ")


def test_a_scene_sent_back_as_it_was_keeps_its_version() -> None:
    shown = chiefs_program().get(ADDRESS).json()
    assert chiefs_program().patch(ADDRESS, shown | {"code": "other"}, if_match='"1"')["ETag"] == '"1"'
    assert not LogEntry.objects.exists()


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"types": []}, "types"),
        ({"types": ["colour"]}, "types.0"),
        ({"types": ["usage", "usage"]}, "types"),
        ({"confirm_delays": [0]}, "confirm_delays.0"),
        ({"confirm_delays": "60"}, "confirm_delays"),
        ({"cooldown_seconds": -1}, "cooldown_seconds"),
    ],
)
def test_what_could_not_be_followed_is_refused(said: dict[str, Any], field: str) -> None:
    problem = problem_of(chiefs_program().patch(ADDRESS, said, if_match='"1"'), 400)
    assert problem["errors"][0]["field"] == field
    assert CheckScene.objects.get(pk="order_paid").version == 1


def test_a_change_of_an_old_version_is_refused_with_the_scene_as_it_is_now() -> None:
    chiefs_program().patch(ADDRESS, {"cooldown_seconds": 30}, if_match='"1"')
    problem = problem_of(chiefs_program().patch(ADDRESS, {"cooldown_seconds": 31}, if_match='"1"'), 409)
    assert (problem["current"]["cooldown_seconds"], problem["current"]["version"]) == (30, 2)
