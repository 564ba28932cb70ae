"""Runs over the API: found by what people ask, told with why they stand where they do, and handled as on their page."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from pydantic import BaseModel, SecretStr

from project.kit.clock import database_now
from project.kit.secrets import DOTS
from scheduler.models import TaskRun
from scheduler.states import RunState
from tests.kit.api.caller import Program, chief, chiefs_program, problem_of, token_of
from tests.scheduler.api.desk import fields_refused, found, paused_run, shown
from tests.scheduler.factories import DAY, HOUR, make_question, make_run, make_schedule, registered

pytestmark = pytest.mark.django_db


class Login(BaseModel):
    """What a job with a secret takes."""

    user: str
    password: SecretStr


# --- found -------------------------------------------------------------------------------------------------------


def test_runs_are_found_by_where_they_stand_and_whose_they_are() -> None:
    now, schedule = database_now(), make_schedule()
    done = make_run(RunState.DONE, now=now, schedule=schedule, stat_date="2026-05-31")
    late = make_run(now=now - HOUR)
    for query, runs in {
        "": {done.pk, late.pk},
        "state=done": {done.pk},
        f"schedule={schedule.pk}": {done.pk},
        "stat_date=2026-05-31": {done.pk},
        "job=test.noop": {done.pk, late.pk},
        "job=nothing": set(),
        "show=overdue": {late.pk},
        "show=done-24h": {done.pk},
        f"due_before={(now - timedelta(minutes=30)).isoformat()[:19]}": {late.pk},
        f"due_since={now.isoformat()[:19]}": set(),
    }.items():
        assert found(f"runs/?{query}") == runs, query


@pytest.mark.parametrize("query", ["state=gone", "show=nothing", "stat_date=May", "due_before=soon", "schedule=x"])
def test_a_filter_that_makes_no_sense_is_refused(query: str) -> None:
    assert fields_refused(chiefs_program().get(f"runs/?{query}")) == {query.partition("=")[0]}


def test_runs_are_found_by_the_quota_for_which_they_wait() -> None:
    run, quota = paused_run()
    make_run()
    assert found(f"runs/?waits_for={quota.key}") == {run.pk}
    assert found("runs/?waits_for=nothing") == set()


# --- told --------------------------------------------------------------------------------------------------------


def test_a_run_tells_why_it_stands_where_it_does_and_what_it_asks() -> None:
    run = make_question(question="Send 214 invoices?")
    standing: Any = shown(f"runs/{run.pk}/")["standing"]
    assert standing["why"]["situation"] == "awaiting_approval"
    assert standing["why"]["waits_for"]
    assert standing["question"]["question"] == "Send 214 invoices?"
    assert standing["needs"] == []
    assert standing["pause"] is None


def test_a_paused_run_tells_what_it_waits_for_and_its_place() -> None:
    run, quota = paused_run()
    standing: Any = shown(f"runs/{run.pk}/")["standing"]
    assert [need["quota"] for need in standing["needs"]] == [quota.key]
    assert (standing["place"], standing["waiting"]) == (1, 1)
    assert standing["pause"]["held"] == ""


def test_a_run_shows_dots_for_the_secrets_of_its_parameters() -> None:
    with registered(lambda run: None, params=Login) as job:
        run = make_run(job=job, params={"user": "ann", "password": "hunter2"})
        response = chiefs_program().get(f"runs/{run.pk}/")
    assert b"hunter2" not in response.content
    assert response.json()["params"] == {"user": "ann", "password": DOTS}


# --- started -----------------------------------------------------------------------------------------------------


def test_a_job_is_started_without_a_schedule_once_per_key() -> None:
    user = chief()
    program, said = Program(token_of(user)), {"job": "test.noop", "stat_date": "2026-05-31"}
    responses = [program.post("runs/", said, idempotency_key="a") for _time in range(2)]
    assert [response.status_code for response in responses] == [201, 201]
    run = TaskRun.objects.get()
    assert {response.json()["id"] for response in responses} == {run.pk}
    assert (run.state, str(run.stat_date), run.schedule) == ("pending", "2026-05-31", None)
    event = run.events.get()
    assert (event.trigger, event.actor) == ("api", user.username)
    assert LogEntry.objects.get().change_message == "Started through the API. Token: script."


def test_a_job_that_is_not_known_or_whose_parameters_do_not_fit_is_not_started() -> None:
    program = chiefs_program()
    assert fields_refused(program.post("runs/", {"job": "nothing"})) == {"job"}
    assert fields_refused(program.post("runs/", {"job": "http", "params": {"url": 7}})) == {"params"}
    assert fields_refused(program.post("runs/", {"job": "test.noop", "params": [1]})) == {"params"}
    assert fields_refused(program.post("runs/", {"job": "test.noop", "stat_date": "May"})) == {"stat_date"}
    assert not TaskRun.objects.exists()


def test_dots_are_no_secret_of_a_job_that_is_started() -> None:
    with registered(lambda run: None, params=Login) as job:
        response = chiefs_program().post("runs/", {"job": job, "params": {"user": "ann", "password": DOTS}})
    assert fields_refused(response) == {"params"}


# --- handled -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["again-from-nothing", "again-from-progress"])
def test_running_again_answers_with_the_new_run(way: str) -> None:
    run = make_run(RunState.DONE, progress={"page": 3}, progress_done=3)
    response = chiefs_program().post(f"runs/{run.pk}/{way}/", {"reason": "Prices were wrong"})
    assert response.status_code == 201
    again = TaskRun.objects.exclude(pk=run.pk).get()
    assert (response.json()["id"], response.json()["rerun_of"]) == (again.pk, run.pk)
    assert again.progress == ({"page": 3} if way == "again-from-progress" else {})


def test_what_is_done_with_a_run_is_answered_with_where_it_stands_then() -> None:
    run = make_run(RunState.SUSPENDED)
    response = chiefs_program().post(f"runs/{run.pk}/go-on/")
    assert (response.status_code, response.json()["state"]) == (200, "pending")


def test_what_is_not_possible_with_a_run_is_a_conflict_that_says_why() -> None:
    run = make_run(RunState.DONE)
    problem = problem_of(chiefs_program().post(f"runs/{run.pk}/cancel/"), 409)
    assert f"#{run.pk} has ended already" in problem["detail"]


def test_a_run_is_put_off_until_an_instant() -> None:
    run, until = make_run(RunState.FAILED), (database_now() + DAY).replace(microsecond=0)
    response = chiefs_program().post(f"runs/{run.pk}/put-off/", {"until": until.isoformat()})
    assert response.status_code == 200, response.content
    assert TaskRun.objects.get().due_at == until


def test_a_paused_run_is_resumed_and_what_was_said_stands_in_the_audit_log() -> None:
    run, _quota = paused_run()
    response = chiefs_program().post(f"runs/{run.pk}/resume/", {"reason": "Topped up"})
    assert response.status_code == 200
    assert "Topped up" in LogEntry.objects.get().change_message
