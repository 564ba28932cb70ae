"""Calendars over the API: their dates, changed by what they say, and imported."""

from datetime import date
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry

from project.kit.clock import database_now
from scheduler.models import Calendar, CalendarDay
from tests.kit.api.caller import chiefs_program, problem_of, program
from tests.scheduler.api.desk import changed, fields_refused, found, shown
from tests.scheduler.factories import DAY, make_calendar, make_schedule

pytestmark = pytest.mark.django_db

ICS = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//Tideline//EN
BEGIN:VEVENT
UID:1
DTSTART;VALUE=DATE:20260701
SUMMARY:Inventory
END:VEVENT
END:VCALENDAR
"""
IMPORT = {"calendar": "shop", "ics": ICS, "first_year": 2026}


def test_a_calendar_is_made_and_tells_its_next_date() -> None:
    program, tomorrow = chiefs_program(), (database_now() + DAY).date()
    made = program.post("calendars/", {"name": "shop", "description": "When the shop is closed"})
    assert (made.status_code, made.json()["next_date"]) == (201, None)
    day = program.post("calendar-days/", {"calendar": "shop", "date": tomorrow.isoformat(), "title": "Inventory"})
    assert day.status_code == 201, day.content
    assert shown("calendars/?name=shop")["results"][0]["next_date"] == tomorrow.isoformat()


def test_dates_are_found_by_calendar_and_span() -> None:
    one, other = make_calendar("2026-01-01", "2026-12-25"), make_calendar("2026-12-25")
    first, christmas = one.days.order_by("date")
    assert found(f"calendar-days/?calendar={one.name}") == {first.pk, christmas.pk}
    assert found(f"calendar-days/?calendar={one.name}&since=2026-12-25") == {christmas.pk}
    assert found("calendar-days/?before=2026-12-25") == {first.pk}
    assert other.days.get().pk in found("calendar-days/?since=2026-12-25&before=2026-12-26")


def test_a_date_is_in_a_calendar_once() -> None:
    calendar = make_calendar("2026-12-25")
    response = chiefs_program().post("calendar-days/", {"calendar": calendar.name, "date": "2026-12-25"})
    problem_of(response, 400)
    assert calendar.days.count() == 1


def test_a_name_is_given_once() -> None:
    calendar = make_calendar()
    assert fields_refused(chiefs_program().post("calendars/", {"name": calendar.name})) == {"name"}


def test_a_change_that_is_based_on_what_was_said_before_is_refused() -> None:
    calendar = make_calendar()
    address = f"calendars/{calendar.pk}/"
    before = shown(address)["version"]
    assert changed(address, {"description": "Bank holidays"}).status_code == 200
    problem = problem_of(changed(address, {"description": "School holidays"}, version=before), 409)
    assert problem["current"]["description"] == "Bank holidays"
    assert problem["current"]["version"] != before
    assert LogEntry.objects.get().change_message == "Changed through the API: description. Token: script."


def test_what_was_read_of_a_date_can_be_sent_back_and_changes_nothing() -> None:
    address = f"calendar-days/{make_calendar('2026-12-25').days.get().pk}/"
    response = changed(address, shown(address))
    assert response.status_code == 200, response.content
    assert not LogEntry.objects.exists()


def test_a_date_is_deleted_and_a_calendar_that_schedules_use_is_kept() -> None:
    calendar = make_calendar("2026-12-25")
    make_schedule(calendar=calendar)
    program = chiefs_program()
    assert program.send("delete", f"calendar-days/{calendar.days.get().pk}/").status_code == 204
    problem = problem_of(program.send("delete", f"calendars/{calendar.pk}/"), 409)
    assert calendar.name in problem["detail"]
    assert program.send("delete", f"calendars/{make_calendar('2026-12-25').pk}/").status_code == 204
    assert not CalendarDay.objects.exists()


# --- imported ----------------------------------------------------------------------------------------------------


def test_a_file_is_imported_once_however_often_it_is_sent() -> None:
    program = chiefs_program()
    first, second = (program.post("calendars/import/", IMPORT) for _time in range(2))
    assert first.status_code == 200, first.content
    assert (first.json()["new"], first.json()["present"]) == ({"2026-07-01": "Inventory"}, {})
    assert (second.json()["new"], second.json()["present"]) == ({}, {"2026-07-01": "Inventory"})
    assert CalendarDay.objects.get().date == date(2026, 7, 1)


def test_a_dry_run_tells_what_would_be_written_and_writes_nothing() -> None:
    report: Any = chiefs_program().post("calendars/import/", IMPORT | {"dry_run": True}).json()
    assert (report["written"], len(report["new"])) == (False, 1)
    assert not Calendar.objects.exists()
    assert not LogEntry.objects.exists()


def test_the_holidays_of_a_country_are_imported() -> None:
    said = {"calendar": "Bavaria", "country": "DE", "subdivision": "BY", "first_year": 2026, "last_year": 2026}
    assert "2026-12-25" in chiefs_program().post("calendars/import/", said).json()["new"]


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({}, "ics"),
        ({"ics": ICS, "country": "DE"}, "ics"),
        ({"ics": "no calendar"}, "ics"),
        ({"country": "Atlantis"}, "country"),
        ({"ics": ICS, "subdivision": "BY"}, "subdivision"),
        ({"country": "DE", "first_year": 2026, "last_year": 2100}, "last_year"),
        ({"country": "DE", "first_year": 2027, "last_year": 2026}, "last_year"),
    ],
)
def test_an_import_that_makes_no_sense_is_refused(said: dict[str, Any], field: str) -> None:
    assert fields_refused(chiefs_program().post("calendars/import/", {"calendar": "new"} | said)) == {field}


def test_a_new_calendar_needs_the_permission_for_that() -> None:
    may = program("scheduler.view_calendar", "scheduler.add_calendarday")
    assert may.post("calendars/import/", IMPORT).status_code == 403
    make = Calendar.objects.create(name="shop")
    assert may.post("calendars/import/", IMPORT).status_code == 200
    assert make.days.count() == 1
