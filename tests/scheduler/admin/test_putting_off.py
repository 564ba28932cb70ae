"""A run is handed to another day on its page."""

from datetime import timedelta

import pytest

from project.kit.clock import database_now
from scheduler.models import TaskRun
from scheduler.states import RunState
from tests.panel import chief, text_of, told
from tests.scheduler.admin.desk import action_on, confirm, person
from tests.scheduler.factories import DAY, make_run, make_schedule

pytestmark = pytest.mark.django_db


def test_the_confirmation_proposes_the_same_time_tomorrow_by_the_clocks_of_the_schedule() -> None:
    now = database_now()
    schedule = make_schedule(timezone="Asia/Shanghai", now=now)
    run = make_run(schedule=schedule, now=now - DAY)
    page = chief().get(action_on(run, "put-off"))
    local = (now + timedelta(hours=8)).date() + DAY
    assert f"{local}T{(run.planned_at + timedelta(hours=8)):%H:%M}" in page.content.decode()
    assert "By the clocks of Asia/Shanghai." in text_of(page)
    assert "later runs of its schedule wait for it" in text_of(page)


def test_a_run_is_put_off_to_the_chosen_time_by_the_clocks_of_its_schedule() -> None:
    now = database_now()
    run = make_run(RunState.SUSPENDED, schedule=make_schedule(timezone="Asia/Shanghai", now=now), now=now)
    day = (now + 2 * DAY).date()
    response = confirm(chief(), run, "put-off", until=f"{day}T08:30", reason="closed today")
    after = TaskRun.objects.get(pk=run.pk)
    assert (after.state, after.due_at.isoformat(), after.reason) == (  # type: ignore[union-attr]
        RunState.PENDING,
        f"{day}T00:30:00+00:00",
        "closed today",
    )
    assert f"Run #{run.pk} is put off until {day}" in told(response)[0]


def test_a_time_that_has_passed_is_refused_on_its_field_and_what_was_typed_stays() -> None:
    run = make_run(now=database_now())
    page = confirm(chief(), run, "put-off", until="2020-01-01T08:30", reason="closed today")
    assert "Choose a time that is still to come." in text_of(page)
    assert "closed today" in page.content.decode()
    assert TaskRun.objects.get(pk=run.pk).due_at == run.due_at


def test_who_may_not_let_runs_go_on_may_not_put_them_off() -> None:
    run = make_run(now=database_now())
    assert person("scheduler.retry_taskrun").get(action_on(run, "put-off")).status_code == 403
    assert person("scheduler.resume_taskrun").get(action_on(run, "put-off")).status_code == 200
