"""Reading over the API: a fixed number of queries however many rows there are, and nothing counted."""

from typing import Any

import pytest

from project.kit.clock import database_now
from scheduler.api import RESOURCES
from scheduler.models import Attempt
from scheduler.states import RunState
from tests.kit.api.caller import chiefs_program, problem_of, queries_of
from tests.scheduler.api.desk import make_each, make_fire, shown
from tests.scheduler.factories import make_calendar, make_question, make_run, make_schedule

pytestmark = pytest.mark.django_db

MOST_QUERIES = 2  # the token with its user, and the rows


def make_more() -> None:
    """Insert some rows of each kind."""
    make_each()
    for _number in range(3):
        schedule = make_schedule(calendar=make_calendar("2026-12-25"))
        make_run(RunState.DONE, schedule=schedule, fire=make_fire(schedule))
        make_question()


@pytest.mark.parametrize("name", sorted(RESOURCES.keys() - {"jobs"}))
def test_a_list_asks_twice_for_however_many_rows_and_counts_nothing(name: str) -> None:
    make_more()
    sql = queries_of(chiefs_program(), f"{name}/")
    assert len(sql) == MOST_QUERIES
    assert not [each for each in sql if "COUNT(" in each.upper()]


@pytest.mark.parametrize("sub", ["events", "attempts"])
def test_what_happened_to_a_run_is_read_in_one_query_more(sub: str) -> None:
    run = make_run(RunState.DONE)
    assert len(queries_of(chiefs_program(), f"runs/{run.pk}/{sub}/")) == MOST_QUERIES + 1


def test_the_list_of_runs_reads_nothing_that_weighs_much() -> None:
    make_run(RunState.DONE)
    [_token, rows] = queries_of(chiefs_program(), "runs/")
    assert not [column for column in ("params", "progress", "result") if f'"{column}"' in rows]


def test_a_list_of_attempts_reads_no_output_and_each_one_tells_it() -> None:
    run = make_run(RunState.DONE)
    Attempt.objects.update(output="214 invoices sent", traceback="")
    [_token, rows] = queries_of(chiefs_program(), "attempts/")
    assert '"output"' not in rows
    attempt = shown(f"attempts/?run={run.pk}")["results"][0]
    assert "output" not in attempt
    assert shown(f"attempts/{attempt['id']}/")["output"] == "214 invoices sent"
    assert shown(f"runs/{run.pk}/attempts/")["results"][0]["output"] == "214 invoices sent"


def test_what_happened_to_a_run_is_told_in_order_and_by_pages() -> None:
    run, _other = make_run(RunState.FAILED, ended=True), make_run(RunState.DONE)
    program = chiefs_program()
    program.post(f"runs/{run.pk}/again-from-nothing/")
    again = shown(f"runs/?rerun_of={run.pk}")["results"][0]["id"]
    program.post(f"runs/{again}/cancel/")
    first = shown(f"runs/{again}/events/?ordering=id&page_size=1")
    assert [event["to_state"] for event in first["results"]] == ["pending"]
    second = program.client.get(first["next"], headers=program.headers).json()
    assert [event["to_state"] for event in second["results"]] == ["cancelled"]
    problem_of(program.get(f"runs/{again}/events/?state=pending"), 400)


# --- jobs --------------------------------------------------------------------------------------------------------


def test_jobs_tell_what_they_take() -> None:
    jobs = {job["key"]: job for job in shown("jobs/")["results"]}
    assert jobs["http"] == shown("jobs/http/")
    assert "url" in jobs["http"]["schema"]["properties"]
    assert jobs["test.noop"]["schema"] == {}


def test_a_job_that_is_not_registered_is_not_there() -> None:
    problem_of(chiefs_program().get("jobs/nothing/"), 404)


# --- fires, approvals, backfills ---------------------------------------------------------------------------------


def test_fires_are_found_by_schedule_outcome_and_time_and_say_why() -> None:
    schedule, now = make_schedule(), database_now()
    make_fire(make_schedule())
    fire = make_fire(schedule, fire_at=now)
    at = now.isoformat().replace("+00:00", "")  # without an offset it is UTC
    for query in (f"schedule={schedule.pk}", f"schedule={schedule.pk}&outcome=skipped_overlap&since={at}"):
        assert [row["id"] for row in shown(f"fires/?{query}")["results"]] == [fire.pk]
    assert shown(f"fires/?schedule={schedule.pk}&before={at}")["results"] == []
    why: Any = shown(f"fires/{fire.pk}/")["why"]
    assert (why["situation"], why["run"]) == ("overlap_in_progress", None)


def test_a_fire_tells_the_run_that_it_started() -> None:
    schedule = make_schedule()
    fire = make_fire(schedule)
    run = make_run(RunState.DONE, schedule=schedule, fire=fire)
    assert shown("fires/")["results"][0]["run"] == run.pk
    assert shown(f"fires/{make_fire(make_schedule()).pk}/")["run"] is None


def test_approvals_are_found_by_whether_they_wait_for_an_answer() -> None:
    asking = make_question()
    assert [row["run"] for row in shown("approvals/?show=open")["results"]] == [asking.pk]
    chiefs_program().post(f"runs/{asking.pk}/approve/", {"reason": "Checked"})
    [answered] = shown(f"approvals/?run={asking.pk}")["results"]
    assert (answered["answer"], answered["why"]) == ("approved", "Checked")
    assert shown("approvals/?show=open")["results"] == []
