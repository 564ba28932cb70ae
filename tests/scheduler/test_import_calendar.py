"""`import_calendar`: excluded dates from an .ics file or a country's holidays; the same twice changes nothing."""

import json
from datetime import date
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from scheduler.importing.calendars import Source, UnusableSource, from_country, from_file, plan
from scheduler.models import Calendar, CalendarDay
from tests.scheduler.factories import make_calendar

YEARS = range(2026, 2028)


def event(*lines: str) -> str:
    """Return an event with these lines."""
    return "\n".join(["BEGIN:VEVENT", "UID:" + str(hash(lines)), *lines, "END:VEVENT"])


XMAS = event("SUMMARY:Christmas", "DTSTART;VALUE=DATE:20201224", "DTEND;VALUE=DATE:20201227", "RRULE:FREQ=YEARLY")
STOCKTAKING = event("SUMMARY:Stocktaking", "DTSTART;VALUE=DATE:20260105")


@pytest.fixture
def ics(tmp_path: Path) -> Any:
    """Writes a calendar file with these events and returns its path."""

    def write(*events: str) -> Path:
        path = tmp_path / "company.ics"
        text = "\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:test", *events, "END:VCALENDAR", ""])
        path.write_bytes(text.replace("\n", "\r\n").encode())
        return path

    return write


def imported(*arguments: str) -> str:
    """Run the command, and return what it printed."""
    out = StringIO()
    call_command("import_calendar", *arguments, stdout=out)
    return out.getvalue()


def dates_of(source: Source) -> list[str]:
    """Return the dates of a source."""
    return [day.isoformat() for day in source.days]


# --- a file -------------------------------------------------------------------------------------------------------


def test_an_event_excludes_each_of_its_days_and_not_the_one_on_which_it_ends(ics: Any) -> None:
    assert dates_of(from_file(ics(XMAS), range(2026, 2027))) == ["2026-12-24", "2026-12-25", "2026-12-26"]


def test_an_event_without_an_end_is_one_day(ics: Any) -> None:
    assert from_file(ics(STOCKTAKING), YEARS).days == {date(2026, 1, 5): "Stocktaking"}


def test_what_recurs_is_expanded_within_the_years_and_no_further(ics: Any) -> None:
    years = {day.year for day in from_file(ics(XMAS), range(2026, 2030)).days}
    assert years == {2026, 2027, 2028, 2029}


def test_a_deleted_and_a_moved_occurrence_of_a_series_are_heeded(ics: Any) -> None:
    series = ("UID:fair", "SUMMARY:Fair", "DTSTART;VALUE=DATE:20260110", "RRULE:FREQ=MONTHLY;COUNT=3")
    moved = ("UID:fair", "SUMMARY:Fair", "RECURRENCE-ID;VALUE=DATE:20260310", "DTSTART;VALUE=DATE:20260312")
    rows = [
        "\n".join(["BEGIN:VEVENT", *lines, "END:VEVENT"]) for lines in ((*series, "EXDATE;VALUE=DATE:20260210"), moved)
    ]
    assert dates_of(from_file(ics(*rows), YEARS)) == ["2026-01-10", "2026-03-12"]


def test_an_event_over_the_turn_of_the_year_is_cut_to_the_years(ics: Any) -> None:
    holidays = event("SUMMARY:Break", "DTSTART;VALUE=DATE:20251230", "DTEND;VALUE=DATE:20260103")
    assert dates_of(from_file(ics(holidays), YEARS)) == ["2026-01-01", "2026-01-02"]


def test_from_midnight_to_midnight_is_a_whole_day(ics: Any) -> None:
    whole = event("SUMMARY:Move", "DTSTART:20260105T000000", "DTEND:20260107T000000")
    assert dates_of(from_file(ics(whole), YEARS)) == ["2026-01-05", "2026-01-06"]


@pytest.mark.parametrize(
    "lines",
    [
        ("DTSTART:20260105T090000Z", "DTEND:20260105T100000Z"),
        ("DTSTART:20260105T000000", "DTEND:20260105T235959"),
        ("DTSTART:20260105T000000", "RRULE:FREQ=SECONDLY"),
        ("DTSTART:20260105T090000", "RRULE:FREQ=DAILY;BYSECOND=1,2,3"),
        ("DTSTART;VALUE=DATE:20260106", "STATUS:CANCELLED"),
    ],
)
def test_what_is_no_whole_day_or_cancelled_is_left_out_and_named(ics: Any, lines: tuple[str, ...]) -> None:
    source = from_file(ics(event("SUMMARY:Standup", *lines), STOCKTAKING), YEARS)
    assert dates_of(source) == ["2026-01-05"]
    assert source.left_out == ("Standup",)


def test_two_events_of_one_day_share_its_title_and_a_long_title_is_cut(ics: Any) -> None:
    long = event(f"SUMMARY:{'x' * 300}", "DTSTART;VALUE=DATE:20260106")
    other = event("SUMMARY:Inventory", "DTSTART;VALUE=DATE:20260105")
    titles = list(from_file(ics(STOCKTAKING, other, long), YEARS).days.values())
    assert titles == ["Stocktaking, Inventory", "x" * 200]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is no iCalendar file"),
        (b"hello", "is no iCalendar file"),
        (b"\xff\xfe\x00\x01", "is no iCalendar file"),
        (b"date,title\n2026-01-01,New Year", "is no iCalendar file"),
        (b"BEGIN:VEVENT\nDTSTART;VALUE=DATE:20260101\nEND:VEVENT", "is no iCalendar file"),
        (b"BEGIN:VCALENDAR\nVERSION:2.0\nEND:VCALENDAR", "there is no whole day in 2026 to 2027"),
    ],
)
def test_a_wrong_file_is_refused_with_a_sentence(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "some.ics"
    path.write_bytes(content)
    with pytest.raises(UnusableSource, match=sentence):
        from_file(path, YEARS)


@pytest.mark.parametrize(
    "lines",
    [("DTSTART;VALUE=DATE:2026",), ("DESCRIPTION:no start",), ("DTSTART;VALUE=DATE:20260101", "RRULE:FREQ=NEVER")],
)
def test_one_event_that_cannot_be_read_refuses_the_file_rather_than_losing_a_holiday(
    ics: Any, lines: tuple[str, ...]
) -> None:
    with pytest.raises(UnusableSource, match="cannot be read"):
        from_file(ics(STOCKTAKING, event("SUMMARY:Broken", *lines)), YEARS)


def test_a_file_that_is_not_there_or_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnusableSource, match="No such file"):
        from_file(tmp_path / "none.ics", YEARS)
    with pytest.raises(UnusableSource, match="Is a directory"):
        from_file(tmp_path, YEARS)
    monkeypatch.setattr("scheduler.importing.calendars.LONGEST_FILE", 3)
    (tmp_path / "large.ics").write_bytes(b"BEGIN")
    with pytest.raises(UnusableSource, match="more than 3 bytes"):
        from_file(tmp_path / "large.ics", YEARS)


# --- a country ----------------------------------------------------------------------------------------------------


def test_a_country_gives_its_public_holidays_and_a_part_of_it_its_own_beside_them() -> None:
    germany, bavaria = from_country("de", None, YEARS), from_country("DE", "BY", YEARS)
    unity, epiphany = date(2026, 10, 3), date(2026, 1, 6)
    assert unity in germany.days
    assert epiphany not in germany.days
    assert {unity, epiphany} <= bavaria.days.keys()
    assert {day.year for day in bavaria.days} == {2026, 2027}


@pytest.mark.parametrize(
    ("country", "part", "sentence"),
    [
        ("XX", None, "There are no holidays of “XX”"),
        ("", None, "There are no holidays of “”"),
        ("DE", "ZZ", "DE has no part “ZZ”. There are: BB, BE"),
    ],
)
def test_a_country_or_part_that_is_not_known_is_refused(country: str, part: str | None, sentence: str) -> None:
    with pytest.raises(UnusableSource, match=sentence):
        from_country(country, part, YEARS)


def test_years_of_which_nothing_is_known_are_refused() -> None:
    with pytest.raises(UnusableSource, match="no whole day in 2190 to 2200"):
        from_country("DE", None, range(2190, 2201))


# --- the command --------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_without_apply_nothing_is_written(ics: Any) -> None:
    said = imported("Company", str(ics(STOCKTAKING)), "--years", "2026")
    assert "2026-01-05 Mon Stocktaking → to add" in said
    assert "1 to add, 0 there already." in said
    assert "This was a dry run" in said
    assert not Calendar.objects.exists()


@pytest.mark.django_db
def test_the_same_import_twice_changes_nothing(ics: Any) -> None:
    arguments = ["Company", str(ics(XMAS, STOCKTAKING)), "--years", "2026-2027", "--apply"]
    assert "7 added, 0 there already." in imported(*arguments)
    rows = list(CalendarDay.objects.order_by("id").values())
    assert "0 added, 7 there already." in imported(*arguments)
    assert list(CalendarDay.objects.order_by("id").values()) == rows
    assert Calendar.objects.count() == 1


@pytest.mark.django_db
def test_a_calendar_keeps_what_a_person_or_another_source_put_into_it(ics: Any) -> None:
    calendar = make_calendar("2026-01-05", "2026-03-03", "2020-01-01", titles="by hand")
    said = imported(calendar.name, str(ics(STOCKTAKING)), "--years", "2026", "--apply")
    assert "2026-01-05 Mon Stocktaking → there already" in said
    assert "2026-03-03 Tue by hand stays" in said
    assert "2020" not in said
    assert list(CalendarDay.objects.values_list("title", flat=True)) == ["by hand"] * 3


@pytest.mark.django_db
def test_a_countrys_holidays_are_imported_by_their_codes() -> None:
    imported("Bavaria", "--country", "DE", "--subdivision", "BY", "--years", "2026-2030", "--apply")
    assert CalendarDay.objects.filter(calendar__name="Bavaria", date="2026-01-06").exists()
    assert {day.year for day in CalendarDay.objects.values_list("date", flat=True)} == set(range(2026, 2031))


@pytest.mark.django_db
def test_without_years_this_year_and_the_four_after_are_imported() -> None:
    report = json.loads(imported("Germany", "--country", "DE", "--json"))
    years = sorted({int(day[:4]) for day in report["new"]})
    assert years == list(range(years[0], years[0] + 5))


@pytest.mark.django_db
def test_as_json_it_says_what_becomes_of_each_date(ics: Any) -> None:
    calendar = make_calendar("2026-03-03", titles="by hand")
    cancelled = event("SUMMARY:Off", "DTSTART;VALUE=DATE:20260106", "STATUS:CANCELLED")
    report = json.loads(imported(calendar.name, str(ics(STOCKTAKING, cancelled)), "--years", "2026", "--json"))
    assert report == {
        "applied": False,
        "calendar": calendar.name,
        "source": "company.ics",
        "new": {"2026-01-05": "Stocktaking"},
        "present": {},
        "others": {"2026-03-03": "by hand"},
        "left_out": ["Off"],
    }


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["Company"], "either an .ics file or a --country"),
        (["Company", "some.ics", "--country", "DE"], "either an .ics file or a --country"),
        (["Company", "some.ics", "--subdivision", "BY"], "--subdivision belongs to a --country"),
        (["Company", "/nowhere/some.ics"], "No such file"),
        (["Company", "--country", "DE", "--years", "2030-2026"], "is no span of years"),
        (["Company", "--country", "DE", "--years", "1969"], "is no span of years"),
        (["Company", "--country", "DE", "--years", "next"], "is no span of years"),
        ([" ", "--country", "DE"], "1 to 200 characters"),
        (["x" * 201, "--country", "DE"], "1 to 200 characters"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_sentence(arguments: list[str], sentence: str) -> None:
    with pytest.raises(CommandError, match=sentence):
        imported(*arguments)
    assert not Calendar.objects.exists()


@pytest.mark.django_db
def test_dates_outside_the_years_are_not_looked_at() -> None:
    calendar = make_calendar("2025-12-31", "2026-01-01", "2027-12-31", "2028-01-01")
    source = Source("test", {date(2026, 1, 1): ""})
    planned = plan(calendar.name, source, YEARS)
    assert (list(planned.present), list(planned.others), planned.new) == ([date(2026, 1, 1)], [date(2027, 12, 31)], {})
