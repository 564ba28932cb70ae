"""Inputs that broke other schedulers, and the tables of docs/daylight-saving.md."""

import json
import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from scheduler.cron import TriggerError, cron
from tests.scheduler.factories import utc

CASES = json.loads((Path(__file__).parent / "cases" / "cron.json").read_text())
DOCUMENTATION = Path(__file__).parents[2] / "docs" / "daylight-saving.md"


def after(expression: str, zone: str, instant: str, count: int = 1) -> list[str]:
    """Return the next fires after an instant, by the zone's own clock."""
    trigger, due, shown = cron(expression, zone), utc(instant), []
    for _ in range(count):
        due = trigger.next_after(due)
        shown.append(due.astimezone(ZoneInfo(zone)).isoformat(timespec="minutes"))
    return shown


def table(first_column: str, column_count: int) -> list[list[str]]:
    """Return the rows of the documentation's table of that many columns."""
    rows = [
        [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        for line in DOCUMENTATION.read_text().splitlines()
        if line.startswith("|") and not re.match(r"\|[-|]+\|", line)
    ]
    return [row for row in rows if len(row) == column_count and row[0] != first_column]


DAYS = table("expression", 5)
SPANS = table("expression", 4)


def midnight(day: date, zone: str) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone)).astimezone(UTC)


def test_the_documentation_has_its_two_tables() -> None:
    assert len(DAYS) >= 12
    assert len(SPANS) >= 8


@pytest.mark.parametrize("row", DAYS, ids=lambda row: f"{row[0]} {row[1]} {row[2]}")
def test_a_day_runs_as_the_documentation_says(row: list[str]) -> None:
    expression, zone, day_text, stated, _ = row
    day = date.fromisoformat(day_text)
    instants = list(cron(expression, zone).instants(midnight(day, zone), midnight(day + timedelta(1), zone)))
    if stated.endswith(" runs"):
        assert f"{len(instants)} runs" == stated
    else:
        shown = [instant.astimezone(ZoneInfo(zone)).isoformat(timespec="minutes")[11:] for instant in instants]
        assert shown == [] if stated == "never" else shown == stated.split(", ")


@pytest.mark.parametrize("row", SPANS, ids=lambda row: f"{row[0]} {row[2]}")
def test_days_are_chosen_as_the_documentation_says(row: list[str]) -> None:
    expression, zone, span, stated = row
    first, last = (date.fromisoformat(text) for text in span.split(" to "))
    instants = cron(expression, zone).instants(midnight(first, zone), midnight(last + timedelta(1), zone))
    assert [instant.date().isoformat() for instant in instants] == stated.split(", ")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_case_gives_its_instants(case: dict) -> None:
    if case["expect_utc"] is None:
        with pytest.raises(TriggerError, match="never comes"):
            cron(case["cron"], case["timezone"])
        return
    instants = cron(case["cron"], case["timezone"]).instants(utc(case["after"]), utc(case["until"]))
    assert [instant.isoformat() for instant in instants] == case["expect_utc"]


def test_a_monthly_schedule_keeps_the_month_that_begins_after_a_change() -> None:
    """B55."""
    assert after("0 0 1 * *", "Europe/Berlin", "2026-03-01T00:00+01:00", 2) == [
        "2026-04-01T00:00+02:00",
        "2026-05-01T00:00+02:00",
    ]


def test_a_day_without_midnight_runs_once_when_it_begins() -> None:
    """B56."""
    assert after("0 0 * * *", "Africa/Cairo", "2026-04-23T12:00+02:00", 2) == [
        "2026-04-24T01:00+03:00",
        "2026-04-25T00:00+03:00",
    ]


def test_a_fixed_time_that_comes_twice_runs_the_first_time_only() -> None:
    """B58."""
    assert after("30 1 * * *", "America/New_York", "2026-10-31T12:00-04:00", 2) == [
        "2026-11-01T01:30-04:00",
        "2026-11-02T01:30-05:00",
    ]


def test_a_fixed_time_keeps_its_hour_on_the_day_after_a_change() -> None:
    """B59."""
    assert after("4 16 * * *", "America/New_York", "2025-03-08T17:00-05:00") == ["2025-03-09T16:04-04:00"]


@pytest.mark.parametrize("expression", ["0 2 * * *", "30 2 * * *"])
def test_a_fixed_time_in_a_gap_runs_at_a_time_that_exists(expression: str) -> None:
    """B61."""
    assert after(expression, "US/Eastern", "2026-03-07T12:00-05:00") == ["2026-03-08T03:00-04:00"]


def test_the_day_after_a_gap_has_its_usual_time_again() -> None:
    """B62."""
    assert after("30 1 * * *", "Europe/London", "2025-03-30T12:00+01:00") == ["2025-03-31T01:30+01:00"]


def test_a_minutely_schedule_is_not_silent_in_the_repeated_hour() -> None:
    """B65."""
    repeated = cron("* * * * *", "Europe/London").instants(utc("2026-10-25T01:00Z"), utc("2026-10-25T02:00Z"))
    assert len(list(repeated)) == 60


def test_a_fixed_time_asked_for_within_the_repeated_hour_comes_after_it() -> None:
    """B65."""
    assert after("0 2 * * *", "Europe/London", "2026-10-25T00:30Z") == ["2026-10-25T02:00+00:00"]
    assert after("0 2 * * *", "Europe/London", "2026-10-25T01:30Z") == ["2026-10-25T02:00+00:00"]


def test_monthly_and_weekly_schedules_run_once_over_a_change() -> None:
    """B68."""
    assert after("0 0 1 * *", "Europe/Berlin", "2026-02-15T00:00+01:00", 3) == [
        "2026-03-01T00:00+01:00",
        "2026-04-01T00:00+02:00",
        "2026-05-01T00:00+02:00",
    ]
    assert after("0 8 * * 1", "Europe/Amsterdam", "2026-10-24T12:00+02:00", 2) == [
        "2026-10-26T08:00+01:00",
        "2026-11-02T08:00+01:00",
    ]


def test_a_weekly_schedule_asked_for_before_the_change_runs_this_week() -> None:
    """B70."""
    assert after("0 12 * * 0", "America/New_York", "2026-03-05T12:30-05:00") == ["2026-03-08T12:00-04:00"]


def test_seven_is_sunday() -> None:
    """B73."""
    assert after("0 8 * * 7", "UTC", "2026-06-01T00:00Z", 2) == after("0 8 * * 0", "UTC", "2026-06-01T00:00Z", 2)


def test_zero_is_sunday_and_one_to_five_are_monday_to_friday() -> None:
    """B74."""
    assert after("0 8 * * 0", "UTC", "2026-06-01T00:00Z") == ["2026-06-07T08:00+00:00"]
    week = after("0 8 * * 1-5", "UTC", "2026-06-06T12:00Z", 5)
    assert [datetime.fromisoformat(shown).isoweekday() for shown in week] == [1, 2, 3, 4, 5]


def test_a_day_that_a_month_lacks_is_left_out_and_the_last_day_is_not() -> None:
    """B76."""
    ends = [text[:10] for text in after("0 0 31 * *", "UTC", "2026-01-01T00:00Z", 3)]
    assert ends == ["2026-01-31", "2026-03-31", "2026-05-31"]
    ends = [text[:10] for text in after("0 0 L * *", "UTC", "2026-01-01T00:00Z", 3)]
    assert ends == ["2026-01-31", "2026-02-28", "2026-03-31"]
    leap = [text[:10] for text in after("0 0 29 2 *", "UTC", "2026-01-01T00:00Z", 2)]
    assert leap == ["2028-02-29", "2032-02-29"]
    assert after("0 6 4 7 *", "UTC", "2026-01-01T00:00Z") == ["2026-07-04T06:00+00:00"]


def test_an_hourly_schedule_goes_over_the_end_of_a_month() -> None:
    """B77."""
    assert after("55 * * * *", "Europe/Belgrade", "2026-03-31T23:55+02:00") == ["2026-04-01T00:55+02:00"]
