"""Cut-overs over the API: started one at a time, and watched."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry

from scheduler.polling.models import Cutover
from tests.kit.api.caller import Program, chief, chiefs_program, problem_of, token_of
from tests.scheduler.polling.api.factories import make_cutover

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]


def test_a_cutover_is_started_and_can_be_watched() -> None:
    user = chief()
    response = Program(token_of(user)).post("polling-cutovers/", {"wanted": "legacy"})
    assert response.status_code == 201
    started = response.json()
    assert (started["wanted"], started["phase"], started["actor"]) == ("legacy", "stopping", user.username)
    watched = chiefs_program().get(f"polling-cutovers/{started['id']}/")
    assert (watched.json()["phase"], watched["ETag"]) == ("stopping", '"1"')
    assert LogEntry.objects.get().change_message == "Added through the API. Token: script."


def test_only_one_is_under_way() -> None:
    caller = chiefs_program()
    caller.post("polling-cutovers/", {"wanted": "legacy"})
    for wanted in ("legacy", "carrier"):
        assert "under way" in problem_of(caller.post("polling-cutovers/", {"wanted": wanted}), 409)["detail"]
    assert Cutover.objects.count() == 1


def test_what_decides_already_is_not_started() -> None:
    problem_of(chiefs_program().post("polling-cutovers/", {"wanted": "carrier"}), 409)
    assert not Cutover.objects.exists()


@pytest.mark.parametrize("said", [{}, {"wanted": "both"}])
def test_who_starts_one_says_to_what(said: dict[str, Any]) -> None:
    assert problem_of(chiefs_program().post("polling-cutovers/", said), 400)["errors"][0]["field"] == "wanted"


def test_they_are_found_by_whether_they_are_under_way() -> None:
    done, open_one = make_cutover(), make_cutover(wanted="legacy", phase="draining", ended_at=None)
    for query, found in {"under_way=true": open_one, "under_way=false": done, "phase=done": done}.items():
        rows = chiefs_program().get(f"polling-cutovers/?{query}").json()["results"]
        assert [row["id"] for row in rows] == [found.pk], query
