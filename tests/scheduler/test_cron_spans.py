"""Backlogs, data days, and what the preview points out."""

from datetime import date, timedelta

import pytest

from scheduler.cron import Cron, Interval, Missed, Once, cron, missed, remarks, shifted_by_daylight_saving, stat_date
from tests.scheduler.factories import utc

MINUTE = timedelta(minutes=1)


def test_nothing_was_missed_where_nothing_was_due() -> None:
    trigger = cron("0 2 * * *", "UTC")
    assert missed(trigger, utc("2026-06-01T02:00:01Z"), utc("2026-06-02T02:00Z")) is None
    assert missed(Once(utc("2026-06-01T00:00Z")), utc("2026-06-01T00:01Z"), utc("2026-06-02T00:00Z")) is None


def test_a_span_has_its_first_instant_and_not_the_one_at_its_end() -> None:
    first, last = utc("2026-06-01T02:00Z"), utc("2026-06-03T02:00Z")
    assert missed(cron("0 2 * * *", "UTC"), first, utc("2026-06-04T02:00Z")) == Missed(first, last, 3, False)


def test_a_single_missed_instant_is_a_backlog_of_one() -> None:
    at = utc("2026-06-01T02:00Z")
    assert missed(cron("0 2 * * *", "UTC"), at, utc("2026-06-01T12:00Z")) == Missed(at, at, 1, False)


@pytest.mark.parametrize(("minutes", "count", "capped"), [(999, 999, False), (1000, 1000, False), (1001, 1000, True)])
def test_a_long_backlog_is_counted_up_to_a_thousand(minutes: int, count: int, capped: bool) -> None:
    first = utc("2026-06-01T00:00Z")
    backlog = missed(cron("* * * * *", "UTC"), first, first + minutes * MINUTE)
    assert backlog == Missed(first, first + (minutes - 1) * MINUTE, count, capped)


def test_a_year_of_a_minutely_schedule_is_not_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = []
    step = Cron.next_after
    monkeypatch.setattr(Cron, "next_after", lambda trigger, instant: steps.append(1) or step(trigger, instant))
    backlog = missed(cron("* * * * *", "Europe/Berlin"), utc("2025-01-01T00:00Z"), utc("2026-01-01T00:00Z"))
    assert backlog == Missed(utc("2025-01-01T00:00Z"), utc("2025-12-31T23:59Z"), 1000, True)
    assert len(steps) <= 1002


@pytest.mark.parametrize(
    ("instant", "zone_name", "days", "data_day"),
    [
        ("2026-03-07T23:59:59+08:00", "Asia/Shanghai", 0, date(2026, 3, 7)),
        ("2026-03-08T00:00:00+08:00", "Asia/Shanghai", 0, date(2026, 3, 8)),
        ("2026-03-08T00:00:01+08:00", "Asia/Shanghai", 0, date(2026, 3, 8)),
        ("2026-03-07T16:00:00+00:00", "Asia/Shanghai", -1, date(2026, 3, 7)),
        ("2026-03-01T00:00:00+00:00", "America/New_York", -1, date(2026, 2, 27)),
        ("2011-12-30T10:00:00+00:00", "Pacific/Apia", 0, date(2011, 12, 31)),
    ],
)
def test_a_data_day_is_the_local_date_and_the_offset(instant: str, zone_name: str, days: int, data_day: date) -> None:
    assert stat_date(utc(instant), zone_name, days) == data_day


def test_a_data_day_is_the_day_itself_unless_an_offset_is_asked_for() -> None:
    assert stat_date(utc("2026-03-07T16:00Z"), "Asia/Shanghai") == date(2026, 3, 8)


# --- remarks ------------------------------------------------------------------------------------------------------


def shifts(expression: str, zone_name: str, start: str, end: str) -> dict[str, str]:
    trigger = cron(expression, zone_name)
    sentences = shifted_by_daylight_saving(trigger, trigger.instants(utc(start), utc(end)))
    return {instant.isoformat(timespec="minutes"): sentence for instant, sentence in sentences.items()}


def test_the_preview_says_which_fire_a_gap_moves() -> None:
    assert shifts("30 2 * * *", "America/New_York", "2026-03-07T00:00Z", "2026-03-11T00:00Z") == {
        "2026-03-08T07:00+00:00": ("02:30 does not exist on 2026-03-08: the clock goes forward; it runs at 03:00.")
    }


def test_the_preview_says_that_several_times_share_one_run() -> None:
    assert shifts("0,30 2,3 * * *", "America/New_York", "2026-03-08T06:00Z", "2026-03-08T12:00Z") == {
        "2026-03-08T07:00+00:00": (
            "02:00 and 02:30 do not exist on 2026-03-08: the clock goes forward; it runs at 03:00."
        )
    }


def test_the_preview_says_which_fire_a_repeated_hour_leaves_single() -> None:
    assert shifts("30 1 * * *", "America/New_York", "2026-10-31T00:00Z", "2026-11-04T00:00Z") == {
        "2026-11-01T05:30+00:00": "01:30 comes twice on 2026-11-01: it runs the first time only."
    }


def test_the_preview_says_which_fires_a_repeated_hour_doubles() -> None:
    assert shifts("30 * * * *", "America/New_York", "2026-11-01T04:00Z", "2026-11-01T08:00Z") == {
        "2026-11-01T05:30+00:00": "01:30 comes twice on 2026-11-01: it runs both times, and this is the first.",
        "2026-11-01T06:30+00:00": "01:30 comes twice on 2026-11-01: it runs both times, and this is the second.",
    }


def test_the_preview_is_silent_where_no_clock_changes() -> None:
    assert shifts("0 9 * * *", "America/New_York", "2026-03-07T00:00Z", "2026-03-11T00:00Z") == {}
    assert shifts("0 * * * *", "UTC", "2026-03-07T00:00Z", "2026-03-11T00:00Z") == {}
    every = Interval(3600, utc("2026-03-07T00:00Z"))
    assert shifted_by_daylight_saving(every, [utc("2026-03-08T07:00Z")]) == {}


def test_days_that_people_misread_are_pointed_out() -> None:
    assert "one of them is enough" in remarks(cron("0 0 13 * 5", "UTC"))[0]
    assert ["have a day 29" in remark for remark in remarks(cron("0 0 29 * *", "UTC"))] == [True]
    assert ["have a day 30" in remark for remark in remarks(cron("0 0 30,31 * *", "UTC"))] == [True]
    assert len(remarks(cron("0 0 31 * 5", "UTC"))) == 1  # there are Fridays in every month
    assert remarks(cron("0 0 1,31 * *", "UTC")) == []
    assert remarks(cron("0 0 L * *", "UTC")) == []
    assert remarks(cron("0 0 28 * *", "UTC")) == []
    assert remarks(Once(utc("2026-06-01T00:00Z"))) == []
