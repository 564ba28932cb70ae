"""The polling's settings over the API: every one is shown, set with a reason on a version, and put back."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.http import HttpResponse

from scheduler.polling import system_settings
from scheduler.polling.models import SystemSetting
from tests.kit.api.caller import chiefs_program, problem_of

pytestmark = pytest.mark.django_db

TIMEOUT = "polling.steps.timeout"


def patched(key: str, value: Any, *, version: int = 0, reason: str = "Slow carrier") -> HttpResponse:
    said = {"value": value, "reason": reason}
    return chiefs_program().patch(f"polling-settings/{key}/", said, if_match=f'"{version}"')


def test_every_setting_is_shown_whether_somebody_has_set_it_or_not() -> None:
    patched(TIMEOUT, 30)
    rows = {row["key"]: row for row in chiefs_program().get("polling-settings/").json()["results"]}
    assert list(rows) == list(system_settings.FIELDS)
    assert (rows[TIMEOUT]["value"], rows[TIMEOUT]["default"], rows[TIMEOUT]["version"]) == (30, 20, 1)
    other = rows["polling.failure.backoff"]
    assert (other["value"], other["version"], other["changed_at"]) == ([60, 300, 900, 3600, 21600], 0, None)
    assert other["schema"]["type"] == "array"
    assert "in a row" in other["description"]


def test_a_setting_is_set_with_a_reason_and_put_back() -> None:
    answer = patched(TIMEOUT, 30)
    assert (answer["ETag"], answer.json()["value"]) == ('"1"', 30)
    assert LogEntry.objects.get().change_message == "Change: Slow carrier. Token: script."
    shown = chiefs_program().post(f"polling-settings/{TIMEOUT}/default/", {"reason": "Fast again"}).json()
    assert (shown["value"], shown["version"]) == (20, 0)
    problem_of(chiefs_program().post(f"polling-settings/{TIMEOUT}/default/", {"reason": "x"}), 409)


def test_a_setting_that_is_as_it_was_is_left_alone() -> None:
    patched(TIMEOUT, 30)
    assert patched(TIMEOUT, 30, version=1).json()["version"] == 1
    assert LogEntry.objects.count() == 1


def test_a_change_of_an_old_version_is_refused_with_what_holds_now() -> None:
    patched(TIMEOUT, 30)
    assert problem_of(patched(TIMEOUT, 40), 409)["current"]["value"] == 30
    problem_of(chiefs_program().patch(f"polling-settings/{TIMEOUT}/", {"value": 40, "reason": "x"}), 428)


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        (TIMEOUT, "30", "integer"),
        (TIMEOUT, True, "integer"),
        (TIMEOUT, 0, "greater than or equal to 1"),
        (TIMEOUT, None, "null"),
        ("polling.failure.backoff", [300, 60], "longer"),
        ("polling.steps.order", ["usage", "usage"], "once"),
    ],
)
def test_a_value_that_cannot_be_is_said(key: str, value: Any, says: str) -> None:
    problem = problem_of(patched(key, value), 400)
    assert problem["errors"][0]["field"] == "value"
    assert not SystemSetting.objects.exists()
    assert says in problem["detail"]


def test_a_setting_is_not_set_without_a_reason() -> None:
    problem = problem_of(patched(TIMEOUT, 30, reason=" "), 400)
    assert [error["field"] for error in problem["errors"]] == ["reason"]


def test_who_decides_is_changed_by_a_cut_over_alone() -> None:
    assert "cut-over" in problem_of(patched("polling.scheduler.mode", "legacy"), 409)["detail"]


def test_a_setting_that_is_not_there_is_not_found() -> None:
    problem_of(chiefs_program().get("polling-settings/polling.colour.red/"), 404)
