"""Schedules over the API: made and changed through the domain, by version, and never showing a secret."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from pydantic import BaseModel, SecretStr

from project.kit.secrets import DOTS
from scheduler.admin.run_actions import RUN_ACTIONS
from scheduler.admin.schedule_actions import SCHEDULE_ACTIONS
from scheduler.api.runs import Runs
from scheduler.api.schedules import Schedules
from scheduler.models import Backfill, Schedule, TaskRun
from tests.kit.api.caller import chiefs_program, problem_of
from tests.scheduler.api.desk import changed, fields_refused, found, shown
from tests.scheduler.factories import make_calendar, make_run, make_schedule, registered
from tests.scheduler.pauses import used_up

pytestmark = pytest.mark.django_db

NIGHTLY: dict[str, Any] = {"name": "nightly", "job": "test.noop", "cron": "30 2 * * *", "timezone": "Europe/Berlin"}


class Login(BaseModel):
    """What a job with a secret takes."""

    user: str
    password: SecretStr


# --- found and made ----------------------------------------------------------------------------------------------


def test_schedules_are_found_by_name_job_and_where_they_stand() -> None:
    calendar, quota = make_calendar(), used_up()
    one, off = make_schedule(calendar=calendar, quota=quota), make_schedule(enabled=False)
    for query, schedules in {
        "": {one.pk, off.pk},
        f"name={one.name}": {one.pk},
        "job=nothing": set(),
        "enabled=false": {off.pk},
        "show=paused": {off.pk},
        "trigger=interval": set(),
        f"calendar={calendar.name}": {one.pk},
        f"quota={quota.key}": {one.pk},
    }.items():
        assert found(f"schedules/?{query}") == schedules, query


def test_a_schedule_is_made_with_its_next_run() -> None:
    calendar, quota = make_calendar(), used_up()
    response = chiefs_program().post("schedules/", NIGHTLY | {"calendar": calendar.name, "quota": quota.key})
    assert response.status_code == 201, response.content
    schedule, said = Schedule.objects.get(), response.json()
    assert schedule.next_run_at is not None
    assert said["next_run_at"] == schedule.next_run_at.isoformat().replace("+00:00", "Z")
    assert (said["overlap"], said["calendar"], said["quota"]) == ("queue", calendar.name, quota.key)
    assert (schedule.calendar, schedule.quota) == (calendar, quota)
    assert LogEntry.objects.get().change_message == "Added through the API. Token: script."


@pytest.mark.parametrize(
    ("said", "fields"),
    [
        ({"cron": "61 * * * *"}, {"cron"}),
        ({"timezone": "Europe/Berlim"}, {"timezone"}),
        ({"job": "nothing"}, {"job"}),
        ({"params": [1]}, {"params"}),
        ({"calendar": "nothing"}, {"calendar"}),
        ({"calendar": 7.5}, {"calendar"}),
        ({"quota": {}}, {"quota"}),
        ({"overlap": "perhaps"}, {"overlap"}),
        ({"quiet_from": "22:00"}, {"quiet_until"}),
        ({"retry_delays": [-1]}, {"retry_delays"}),
        ({"enabled_": True}, {"enabled_"}),
        ({"trigger": "interval", "interval_seconds": 0}, {"interval_seconds"}),
    ],
)
def test_what_cannot_work_is_refused_by_field(said: dict[str, Any], fields: set[str]) -> None:
    refused = fields_refused(chiefs_program().post("schedules/", NIGHTLY | said))
    assert {field.partition(".")[0] for field in refused} == fields
    assert not Schedule.objects.exists()


# --- secrets -----------------------------------------------------------------------------------------------------


def test_a_schedule_shows_dots_for_secrets_and_keeps_them_where_dots_come_back() -> None:
    params = {"user": "ann", "password": "hunter2"}
    with registered(lambda run: None, params=Login) as job:
        made = chiefs_program().post("schedules/", NIGHTLY | {"job": job, "params": params})
        address = f"schedules/{made.json()['id']}/"
        seen = made.json()["params"]
        assert seen == {"user": "ann", "password": DOTS}
        response = changed(address, {"params": seen | {"user": "bob"}})
        assert response.status_code == 200, response.content
        assert b"hunter2" not in made.content + response.content + chiefs_program().get("schedules/").content
    assert Schedule.objects.get().params == {"user": "bob", "password": "hunter2"}


def test_dots_of_one_job_are_no_secret_of_another() -> None:
    with registered(lambda run: None, params=Login) as job, registered(lambda run: None, params=Login) as other:
        schedule = make_schedule(job=job, params={"user": "ann", "password": "hunter2"})
        response = changed(f"schedules/{schedule.pk}/", {"job": other, "params": {"user": "ann", "password": DOTS}})
    assert fields_refused(response) == {"params"}
    assert Schedule.objects.get().params["password"] == "hunter2"


# --- changed -----------------------------------------------------------------------------------------------------


def test_a_change_writes_what_is_different_and_plans_anew() -> None:
    schedule = make_schedule()
    response = changed(f"schedules/{schedule.pk}/", {"cron": "0 4 * * *", "priority": 0})
    assert response.status_code == 200
    assert response.json()["version"] == 2
    assert response.json()["next_run_at"].endswith("T04:00:00Z")
    assert LogEntry.objects.get().change_message == "Changed through the API: cron. Token: script."


def test_what_was_read_can_be_sent_back_as_a_whole_and_changes_nothing() -> None:
    schedule = make_schedule(calendar=make_calendar(), retry_delays=[60, 300])
    address = f"schedules/{schedule.pk}/"
    response = changed(address, shown(address))
    assert (response.status_code, response.json()["version"]) == (200, 1)
    assert not LogEntry.objects.exists()


def test_a_change_that_is_based_on_an_old_version_is_refused_with_the_present_row() -> None:
    schedule = make_schedule()
    address = f"schedules/{schedule.pk}/"
    changed(address, {"priority": 5})
    problem = problem_of(changed(address, {"priority": 7}, version=1), 409)
    assert problem["current"]["priority"] == 5
    problem_of(chiefs_program().patch(address, {"priority": 7}), 428)


def test_a_change_as_a_whole_puts_back_what_it_leaves_out() -> None:
    schedule = make_schedule(priority=5, retry_delays=[60], description="Invoices", calendar=make_calendar())
    said = {"name": schedule.name, "job": schedule.job, "cron": schedule.cron}
    response = changed(f"schedules/{schedule.pk}/", said, method="put")
    assert response.status_code == 200, response.content
    row = response.json()
    assert (row["priority"], row["retry_delays"], row["description"], row["calendar"]) == (0, [], "", None)


def test_a_change_as_a_whole_needs_the_name_and_the_job() -> None:
    schedule = make_schedule()
    response = changed(f"schedules/{schedule.pk}/", {"cron": "@daily"}, method="put")
    assert fields_refused(response) == {"name", "job"}


# --- deleted -----------------------------------------------------------------------------------------------------


def test_a_schedule_that_never_did_anything_can_be_deleted() -> None:
    schedule = make_schedule()
    assert chiefs_program().send("delete", f"schedules/{schedule.pk}/").status_code == 204
    assert not Schedule.objects.exists()
    assert LogEntry.objects.get().change_message == "Deleted through the API. Token: script."


def test_a_schedule_with_a_history_is_kept() -> None:
    schedule = make_schedule()
    make_run(schedule=schedule)
    problem = problem_of(chiefs_program().send("delete", f"schedules/{schedule.pk}/"), 409)
    assert "has a history" in problem["detail"]
    assert Schedule.objects.exists()
    assert not LogEntry.objects.exists()


# --- handled -----------------------------------------------------------------------------------------------------


def test_all_that_pages_offer_is_offered_over_the_api() -> None:
    for resource, actions in ((Schedules, SCHEDULE_ACTIONS), (Runs, RUN_ACTIONS)):
        offered = {getattr(resource, action.name.replace("-", "_")).offers.name for action in actions}
        assert offered == {action.name for action in actions}


def test_running_now_answers_with_the_run_and_does_it_once_per_key() -> None:
    schedule, program = make_schedule(), chiefs_program()
    said = {"stat_date": "2026-05-31", "reason": "Prices were late"}
    responses = [program.post(f"schedules/{schedule.pk}/run-now/", said, idempotency_key="a") for _time in range(2)]
    assert [response.status_code for response in responses] == [201, 201]
    run = TaskRun.objects.get()
    assert {response.json()["id"] for response in responses} == {run.pk}
    assert str(run.stat_date) == "2026-05-31"


def test_running_now_begins_from_the_checkpoint_of_an_earlier_run() -> None:
    schedule = make_schedule()
    earlier = make_run("done", schedule=schedule, progress={"page": 3})
    response = chiefs_program().post(f"schedules/{schedule.pk}/run-now/", {"begin_from": earlier.pk})
    assert response.status_code == 201, response.content
    assert TaskRun.objects.get(pk=response.json()["id"]).progress == {"page": 3}


def test_a_schedule_is_paused_with_a_reason_and_enabled_again() -> None:
    schedule, program = make_schedule(), chiefs_program()
    assert fields_refused(program.post(f"schedules/{schedule.pk}/pause/", {})) == {"reason"}
    row = program.post(f"schedules/{schedule.pk}/pause/", {"reason": "Migration"}).json()
    assert (row["enabled"], row["pause_reason"], row["version"]) == (False, "Migration", 2)
    assert program.post(f"schedules/{schedule.pk}/enable/").json()["enabled"] is True
    problem_of(program.post(f"schedules/{schedule.pk}/enable/"), 409)


def test_a_backfill_is_opened_and_tells_how_far_it_is() -> None:
    schedule, program = make_schedule(), chiefs_program()
    said = {"first_day": "2026-05-01", "last_day": "2026-05-03", "parallel": 2, "reason": "New tariff"}
    response = program.post(f"schedules/{schedule.pk}/backfill/", said)
    assert response.status_code == 201, response.content
    backfill = Backfill.objects.get()
    assert (response.json()["id"], response.json()["parallel"]) == (backfill.pk, 2)
    assert shown(f"backfills/{backfill.pk}/")["runs"] == {"pending": 3}
    assert len(found(f"runs/?backfill={backfill.pk}")) == 3
    assert found(f"backfills/?schedule={schedule.pk}") == {backfill.pk}
    assert program.post(f"backfills/{backfill.pk}/cancel/").json()["cancelled_at"]
    assert shown(f"backfills/{backfill.pk}/")["runs"] == {"cancelled": 3}


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"last_day": "2026-04-30"}, "last_day"),
        ({"last_day": "2999-01-01"}, "last_day"),
        ({"parallel": 0}, "parallel"),
        ({"first_day": "May"}, "first_day"),
        ({"confirmed": "yes"}, "confirmed"),
    ],
)
def test_a_backfill_of_a_range_that_makes_no_sense_is_refused(said: dict[str, Any], field: str) -> None:
    wanted = {"first_day": "2026-05-01", "last_day": "2026-05-03"}
    response = chiefs_program().post(f"schedules/{make_schedule().pk}/backfill/", wanted | said)
    assert fields_refused(response) == {field}
    assert not Backfill.objects.exists()
