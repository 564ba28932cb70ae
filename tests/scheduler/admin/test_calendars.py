"""Calendars: their dates are typed beside them, and a schedule's coming times say which of them falls on one."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry

from project.kit.clock import database_now
from scheduler.admin import calendars
from scheduler.models import Calendar, CalendarDay, Schedule
from tests.panel import chief, errors_of, listed, posted_by, text_of, told
from tests.scheduler.admin.desk import list_of, page_of, person
from tests.scheduler.admin.test_schedule_form import EMPTY, opened
from tests.scheduler.factories import make_calendar, make_schedule, utc

pytestmark = pytest.mark.django_db

PREVIEW = list_of("schedule") + "preview/"
FORMSET = {"days-TOTAL_FORMS": "1", "days-INITIAL_FORMS": "0", "days-0-date": "2199-01-01", "days-0-title": "New Year"}


def coming(days: int) -> str:
    """Return the date so many days from today."""
    return (database_now().date() + timedelta(days=days)).isoformat()


# --- calendars ----------------------------------------------------------------------------------------------------


def test_a_calendar_is_added_with_its_dates_and_that_is_logged() -> None:
    client = chief()
    response = client.post(list_of("calendar") + "add/", {"name": "Company", "description": "", **FORMSET})
    assert response.status_code == 302, told(response)
    (day,) = CalendarDay.objects.filter(calendar__name="Company")
    assert (day.date.isoformat(), day.title) == ("2199-01-01", "New Year")
    assert LogEntry.objects.count() == 1


def test_a_date_that_is_in_the_calendar_already_is_refused() -> None:
    calendar = make_calendar("2199-01-01")
    CalendarDay.objects.update(date=coming(-400))
    values = {"name": calendar.name, "description": "", **FORMSET, "days-0-date": coming(-400)}
    response = chief().post(page_of(calendar), values)
    assert response.status_code == 200
    assert f"{coming(-400)} is in the calendar already." in text_of(response)
    assert CalendarDay.objects.count() == 1


def test_the_form_shows_the_dates_to_come_and_of_the_last_month_and_no_more_than_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calendars, "DAYS_SHOWN", 3)
    calendar = make_calendar(*[coming(days) for days in (-40, -30, 0, 5, 9)])
    html = chief().get(page_of(calendar)).content.decode()
    shown = [coming(days) for days in (-40, -30, 0, 5, 9) if f'value="{coming(days)}"' in html]
    assert shown == [coming(-30), coming(0), coming(5)]


def test_saving_the_form_leaves_the_dates_that_it_does_not_show() -> None:
    calendar, client = make_calendar(coming(-400), coming(5)), chief()
    response = client.post(page_of(calendar), posted_by(client.get(page_of(calendar)), "calendar_form"))
    assert response.status_code == 302
    assert CalendarDay.objects.filter(calendar=calendar).count() == 2


def test_the_list_says_which_date_comes_next() -> None:
    make_calendar(coming(-3), coming(5), coming(9))
    make_calendar(coming(-3))
    text = text_of(chief().get(list_of("calendar")))
    assert coming(5) in text
    assert "none to come" in text


def test_a_calendar_says_who_uses_it_and_is_not_deleted_meanwhile() -> None:
    calendar, client = make_calendar("2199-01-01"), chief()
    schedule = make_schedule(calendar=calendar)
    assert page_of(schedule) in client.get(page_of(calendar)).content.decode()
    client.post(page_of(calendar).replace("change", "delete"), {"post": "yes"})
    assert Calendar.objects.exists()


def test_who_may_only_look_changes_nothing() -> None:
    calendar = make_calendar("2199-01-01")
    client = person()
    assert client.get(page_of(calendar)).status_code == 200
    assert client.post(page_of(calendar), {"name": "other", **FORMSET}).status_code == 403


def test_all_dates_also_those_long_past_are_in_a_list_of_their_own() -> None:
    make_calendar("2001-01-01", "2199-01-01")
    days = CalendarDay.objects.order_by("-date").values_list("pk", flat=True)
    assert listed(chief().get(list_of("calendarday"))) == list(days)


# --- a schedule's fields ------------------------------------------------------------------------------------------


def test_the_fields_of_when_not_and_when_later_are_saved() -> None:
    calendar = make_calendar("2199-01-01")
    values = {
        "starts_at": "2198-01-01T00:00",
        "ends_at": "2199-12-31T12:00",
        "calendar": str(calendar.pk),
        "on_excluded": "move",
        "jitter_seconds": "600",
        "quiet_from": "22:00",
        "quiet_until": "06:30",
    }
    response = chief().post(list_of("schedule") + "add/", EMPTY | values)
    assert response.status_code == 302, errors_of(response)
    schedule = Schedule.objects.get()
    assert (schedule.starts_at, schedule.ends_at) == (utc("2198-01-01T00:00+01:00"), utc("2199-12-31T12:00+01:00"))
    assert (schedule.calendar, schedule.on_excluded, schedule.jitter_seconds) == (calendar, "move", 600)
    assert (str(schedule.quiet_from), str(schedule.quiet_until)) == ("22:00:00", "06:30:00")


def test_a_whole_form_posted_back_changes_none_of_them() -> None:
    schedule = make_schedule(
        starts_at=utc("2198-01-01 00:00:00.123456"),
        calendar=make_calendar("2199-01-01"),
        quiet_from="22:00:30",
        quiet_until="06:00",
        jitter_seconds=9,
        timezone="Asia/Shanghai",
    )
    client = chief()
    assert client.post(page_of(schedule), opened(client, schedule)).status_code == 302
    assert Schedule.objects.get(pk=schedule.pk).version == 1


@pytest.mark.parametrize(
    ("values", "field", "sentence"),
    [
        ({"quiet_from": "22:00"}, "quiet_until", "Quiet hours need both ends"),
        ({"quiet_from": "06:00", "quiet_until": "06:00"}, "quiet_until", "would never end"),
        ({"quiet_from": "noon", "quiet_until": "06:00"}, "quiet_from", "Enter a valid time"),
        ({"starts_at": "2199-01-02T00:00", "ends_at": "2199-01-01T00:00"}, "ends_at", "ends before it starts"),
        ({"ends_at": "2001-01-01T00:00"}, "ends_at", "would never fire"),
        ({"jitter_seconds": "-1"}, "jitter_seconds", "greater than or equal to 0"),
        ({"calendar": "99999"}, "calendar", "Select a valid choice"),
    ],
)
def test_what_is_wrong_stands_on_its_field(values: dict[str, str], field: str, sentence: str) -> None:
    said = errors_of(chief().post(list_of("schedule") + "add/", EMPTY | values))
    assert sentence in said[field][0]


# --- the preview --------------------------------------------------------------------------------------------------


def preview(**values: str) -> str:
    """Return what the form shows while this is typed."""
    return text_of(chief().get(PREVIEW, EMPTY | {"timezone": "UTC", "cron": "30 2 1 1 *"} | values))


def test_the_preview_says_which_times_fall_on_an_excluded_date_and_what_becomes_of_them() -> None:
    year = database_now().year + 1
    calendar = make_calendar(f"{year}-01-01", titles="New Year")
    excluded = f"{year}-01-01 is excluded by the calendar “{calendar}” (New Year)."
    skipped = preview(calendar=str(calendar.pk))
    assert f"{excluded} It is skipped." in skipped
    assert skipped.count("is excluded") == 1
    assert f"{excluded} Moved to {year}-01-02 02:30:00 UTC." in preview(calendar=str(calendar.pk), on_excluded="move")


def test_the_preview_says_which_times_fall_into_quiet_hours_and_until_when() -> None:
    year = database_now().year + 1
    assert f"Quiet hours until {year}-01-01 06:00:00 UTC." in preview(quiet_from="22:00", quiet_until="06:00")
    assert "Quiet hours" not in preview(quiet_from="22:00", quiet_until="02:30")


def test_the_preview_heeds_quiet_hours_where_a_time_is_moved_to_and_not_where_it_is_skipped() -> None:
    year = database_now().year + 1
    calendar = make_calendar(f"{year}-01-01")
    night = {"calendar": str(calendar.pk), "quiet_from": "22:00", "quiet_until": "06:00"}
    assert f"{year}-01-02 02:30:00 UTC. Quiet hours until {year}-01-02 06:00:00 UTC." in preview(
        **night, on_excluded="move"
    )
    assert f"Quiet hours until {year}-01-01" not in preview(**night)


def test_the_preview_knows_starts_and_ends() -> None:
    year = database_now().year
    text = preview(starts_at=f"{year + 3}-01-01T00:00", ends_at=f"{year + 4}-01-01T12:00")
    assert f"{year + 3}-01-01 02:30" in text
    assert f"{year + 4}-01-01 02:30" in text
    assert f"{year + 2}-01-01" not in text
    assert f"{year + 5}-01-01" not in text


def test_the_page_of_a_schedule_says_the_same_of_its_next_times() -> None:
    schedule = make_schedule(now=database_now(), quiet_from="22:00", quiet_until="06:00")
    assert "Quiet hours until" in text_of(chief().get(page_of(schedule)))
