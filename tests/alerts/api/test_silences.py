"""Silences over the API."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry

from alerts.models import Silence
from project.kit.clock import database_now
from tests.alerts.admin.desk import HOUR, make_silence
from tests.kit.api.caller import Program, chief, chiefs_program, problem_of, token_of

pytestmark = pytest.mark.django_db


def test_a_silence_begins_at_once_unless_it_says_when_and_names_who_made_it() -> None:
    user, before = chief(), database_now()
    said = {"kind": "run_failed", "labels": {"name": "nightly"}, "ends_at": "2999-01-01T00:00:00Z", "reason": "Move"}
    response = Program(token_of(user)).post("silences/", said)
    assert response.status_code == 201
    silence = Silence.objects.get()
    assert before <= silence.starts_at <= database_now()
    assert (silence.kind, silence.labels, silence.created_by) == ("run_failed", {"name": "nightly"}, user.username)
    assert LogEntry.objects.get().change_message == "Added through the API. Token: script."


@pytest.mark.parametrize(
    "times",
    [
        {"ends_at": "2020-01-01T00:00:00Z"},
        {"starts_at": "2999-01-02T00:00:00Z", "ends_at": "2999-01-01T00:00:00Z"},
        {"starts_at": "2999-01-01T00:00:00Z", "ends_at": "2999-01-01T00:00:00Z"},
    ],
)
def test_a_silence_that_would_be_over_before_it_begins_is_refused(times: dict[str, str]) -> None:
    problem = problem_of(chiefs_program().post("silences/", {"reason": "x", **times}), 400)
    assert [error["field"] for error in problem["errors"]] == ["ends_at"]


def test_a_silence_that_holds_is_ended() -> None:
    silence = make_silence()
    assert chiefs_program().post(f"silences/{silence.pk}/end/").status_code == 200
    assert Silence.objects.get().ends_at <= database_now()
    assert LogEntry.objects.get().change_message == "Ended through the API. Token: script."


def test_a_silence_that_does_not_hold_cannot_be_ended() -> None:
    now = database_now()
    over = make_silence(ends_at=now - timedelta(minutes=1))
    to_come = make_silence(starts_at=now + HOUR)
    for silence in (over, to_come):
        problem = problem_of(chiefs_program().post(f"silences/{silence.pk}/end/"), 409)
        assert problem["current"]["id"] == silence.pk


def test_silences_are_found_by_whether_they_hold() -> None:
    now = database_now()
    holds, over = make_silence(), make_silence(ends_at=now - timedelta(minutes=1))
    program = chiefs_program()
    for said, silence in (("true", holds), ("false", over)):
        rows = program.get(f"silences/?in_force={said}").json()["results"]
        assert [row["id"] for row in rows] == [silence.pk]
