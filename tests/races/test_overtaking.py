"""A row that a person or a program writes goes, or one of its name comes, between the look and the write: the answer is
the one that they would get a moment later, and nothing is done twice.
"""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, models, transaction

from project.kit.overtaking import looking_again
from scheduler.models import Calendar, CalendarDay, TaskRun
from scheduler.polling.models import Device
from scheduler.states import RunState
from tests.kit.api.caller import chiefs_program, problem_of
from tests.panel import chief, errors_of, posted_by, told
from tests.races.helpers import Background, run_after, run_before
from tests.scheduler.admin.desk import action_on, page_of
from tests.scheduler.factories import make_calendar, make_run, make_schedule
from tests.scheduler.polling.factories import make_account, make_card, make_tier

pytestmark = pytest.mark.django_db(transaction=True)


def delete(row: models.Model) -> Callable[[], object]:
    """Return what deletes the row, whatever the domain says to it."""
    return lambda: type(row)._default_manager.filter(pk=row.pk).delete()


def make_day() -> CalendarDay:
    """Insert a date of a calendar."""
    return make_calendar("2026-12-25").days.get()


# --- over the API ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "make", "change"),
    [
        ("schedules", make_schedule, {"priority": 1}),
        ("calendars", make_calendar, {"description": "new"}),
        ("calendar-days", make_day, {"title": "new"}),
        ("iot-cards", make_card, {"reset_day": 3}),
        ("iot-devices", lambda: Device.objects.create(code="tracker"), {"name": "new"}),
        ("polling-tiers", make_tier, {"name": "new"}),
        ("polling-accounts", make_account, {"name": "new"}),
        ("polling-carrier-params", make_account, {"inflight_limit": 100}),
    ],
)
def test_a_change_of_a_row_that_is_deleted_meanwhile_finds_nothing(
    address: str, make: Callable[[], models.Model], change: dict[str, Any]
) -> None:
    row, program = make(), chiefs_program()
    path = f"{address}/{row.pk}/"
    version = program.get(path)["ETag"]
    with run_before("project.kit.api.resources.Patching._store", delete(row)):
        problem = problem_of(program.patch(path, change, if_match=version), 404)
    assert problem["detail"] == "There is nothing under this address."


def test_a_change_that_refers_to_what_is_deleted_meanwhile_is_told_by_its_field() -> None:
    schedule, calendar, program = make_schedule(), make_calendar(), chiefs_program()
    version = program.get(f"schedules/{schedule.pk}/")["ETag"]
    with run_before("scheduler.models.Schedule.save", delete(calendar)):
        response = program.patch(f"schedules/{schedule.pk}/", {"calendar": calendar.name}, if_match=version)
    assert [error["field"] for error in problem_of(response, 400)["errors"]] == ["calendar"]


@pytest.mark.parametrize("headers", [{}, {"idempotency_key": "one"}])
def test_of_two_that_add_the_same_at_once_one_is_told_by_the_field(headers: dict[str, str]) -> None:
    program, wanted = chiefs_program(), {"name": "holidays"}
    with run_before("scheduler.models.Calendar.save", lambda: Calendar.objects.create(**wanted)):
        response = program.post("calendars/", wanted, **headers)
    assert [error["field"] for error in problem_of(response, 400)["errors"]] == ["name"]
    assert program.post("calendars/", wanted, **headers).status_code == 400  # and not: answered already


def test_a_calendar_that_a_schedule_begins_to_use_is_not_deleted() -> None:
    calendar = make_calendar()
    with run_before("scheduler.models.Calendar.delete", lambda: make_schedule(calendar=calendar)):
        problem = problem_of(chiefs_program().send("delete", f"calendars/{calendar.pk}/"), 409)
    assert problem["detail"] == f"Schedules use “{calendar.name}”. Take it out of them first."


def test_a_schedule_that_is_deleted_twice_at_once_is_gone_for_the_second() -> None:
    schedule = make_schedule()
    with run_before("scheduler.schedules.remove", delete(schedule)):
        problem_of(chiefs_program().send("delete", f"schedules/{schedule.pk}/"), 404)


def test_a_run_from_a_checkpoint_that_is_pruned_meanwhile_is_not_started() -> None:
    schedule = make_schedule()
    source = make_run(RunState.DONE, schedule=schedule, progress={"page": 3})
    with run_before("scheduler.operations.run_now", delete(source)):
        response = chiefs_program().post(f"schedules/{schedule.pk}/run-now/", {"begin_from": source.pk})
    assert [error["field"] for error in problem_of(response, 400)["errors"]] == ["begin_from"]
    assert not schedule.runs.exists()


def test_a_run_that_is_pruned_while_somebody_wants_it_again_is_told_to_be_gone() -> None:
    run, program = make_run(RunState.DONE), chiefs_program()
    with transaction.atomic():
        delete(run)()
        late = Background(lambda: program.post(f"runs/{run.pk}/again-from-nothing/", {}))
        late.wait_until_it_waits()
    assert problem_of(late.result(), 409)["detail"] == "It does not exist any more."
    assert not TaskRun.objects.exists()


def test_a_card_that_is_deleted_before_its_checks_are_asked_for_is_told() -> None:
    card = make_card()
    with run_after("project.kit.admin.object_actions.ObjectActionsMixin.perform", delete(card)):
        response = chiefs_program().post(f"iot-cards/{card.pk}/check-now/", {"checks": ["usage"]})
    assert problem_of(response, 409)["detail"] == "It does not exist any more."


# --- in the control panel ------------------------------------------------------------------------------------------


def test_a_form_of_a_row_that_is_deleted_meanwhile_is_answered_as_if_it_had_been_gone_before() -> None:
    schedule, client = make_schedule(), chief()
    typed = posted_by(client.get(page_of(schedule)), "schedule_form") | {"priority": "1"}
    with run_before("scheduler.admin.schedule_form.ScheduleForm.locked_row", delete(schedule)):
        response = client.post(page_of(schedule), typed)
    assert response.status_code == 302
    assert [sentence for sentence in told(response) if "Perhaps it was deleted?" in sentence]


def test_a_form_that_refers_to_what_is_deleted_meanwhile_keeps_what_was_typed_and_names_the_field() -> None:
    schedule, calendar, client = make_schedule(), make_calendar(), chief()
    typed = posted_by(client.get(page_of(schedule)), "schedule_form")
    with run_before("scheduler.admin.schedules.ScheduleAdmin.save_model", delete(calendar)):
        response = client.post(page_of(schedule), typed | {"calendar": str(calendar.pk), "description": "mine"})
    assert set(errors_of(response)) == {"calendar"}
    assert "mine" in response.content.decode()
    assert told(response) == []  # nobody was told that it was saved


def test_a_calendar_that_a_schedule_begins_to_use_is_not_deleted_by_its_page() -> None:
    calendar, client = make_calendar(), chief()
    with run_before("scheduler.models.Calendar.delete", lambda: make_schedule(calendar=calendar)):
        response = client.post(page_of(calendar, "delete"), {"post": "yes"})
    assert (response.status_code, told(response)) == (200, [])
    assert Calendar.objects.filter(pk=calendar.pk).exists()


def test_an_action_that_begins_from_what_is_pruned_meanwhile_asks_once_more() -> None:
    schedule, client = make_schedule(), chief()
    source = make_run(RunState.DONE, schedule=schedule, progress={"page": 3})
    seen = client.get(action_on(schedule, "run-now")).context["seen"]
    with run_before("scheduler.operations.run_now", delete(source)):
        response = client.post(action_on(schedule, "run-now"), {"seen": seen, "reason": "", "begin_from": source.pk})
    assert response.status_code == 200
    assert not schedule.runs.exists()


# --- what nobody overtook ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [IntegrityError, TaskRun.DoesNotExist])
def test_what_fails_twice_is_a_fault_and_raised(fault: type[Exception]) -> None:
    looks = []

    @looking_again()
    def look() -> None:
        looks.append(1)
        raise fault

    with pytest.raises(fault):
        look()
    assert len(looks) == 2
