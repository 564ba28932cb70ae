"""Periods that broke others: zones, changes of clocks, ends of months, and who asks when."""

import random
from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quotas.periods import Period, Preset, ResetRule, RuleError, check_rule, period_at
from tests.clock_changes import CHANGES
from tests.quotas.resets import resets
from tests.scheduler.factories import utc

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)

DAYS_LEFT_OUT = [("Pacific/Apia", "2011-12-30"), ("Pacific/Kwajalein", "1993-08-21")]

days = {"weekday": st.integers(0, 6), "day": st.integers(1, 31)}


def local_day(zone: str, day: str) -> tuple[datetime, datetime]:
    midnight = datetime.fromisoformat(day)
    place = ZoneInfo(zone)
    return midnight.replace(tzinfo=place), (midnight + DAY).replace(tzinfo=place)


def test_b61_a_month_in_tokyo_begins_at_15_utc_of_the_day_before() -> None:
    rule = ResetRule(Preset.MONTH, "Asia/Tokyo")

    june = Period(utc("2026-05-31T15:00Z"), utc("2026-06-30T15:00Z"))
    assert period_at(rule, utc("2026-06-10T00:00Z")) == june
    assert period_at(rule, utc("2026-05-31T15:00Z")) == june
    assert period_at(rule, utc("2026-05-31T14:59:59Z")).end == june.start


def test_b61_a_day_is_one_day_and_not_a_day_and_the_offset() -> None:
    period = period_at(ResetRule(Preset.DAY, "Asia/Tokyo"), utc("2026-06-10T20:00Z"))

    assert period.end - period.start == DAY


def test_b62_any_zone_keeps_its_own_summer_time() -> None:
    rule = ResetRule(Preset.DAY, "Europe/Paris")

    assert period_at(rule, utc("2026-01-15T12:00Z")).start == utc("2026-01-14T23:00Z")
    assert period_at(rule, utc("2026-07-15T12:00Z")).start == utc("2026-07-14T22:00Z")


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "localtime", "../etc/passwd", "CEST", "europe/berlin"])
def test_b62_an_unknown_zone_is_refused(zone: str) -> None:
    with pytest.raises(RuleError) as refused:
        check_rule(ResetRule(Preset.DAY, zone))
    assert refused.value.field == "timezone"
    assert f"“{zone}” is not known" in refused.value.sentence


def test_b62_a_misspelt_zone_is_refused_with_the_right_one() -> None:
    with pytest.raises(RuleError, match=r"Did you mean .*Europe/Paris"):
        check_rule(ResetRule(Preset.DAY, "Europe/Pariss"))


@pytest.mark.parametrize(
    ("zone", "day", "count"),
    [
        ("America/New_York", "2026-03-08", 23),
        ("America/New_York", "2026-11-01", 25),
        ("Europe/Berlin", "2026-03-29", 23),
        ("Europe/Berlin", "2026-10-25", 25),
        ("Europe/Berlin", "2026-06-01", 24),
        ("Asia/Kolkata", "2026-03-29", 24),
    ],
)
def test_b64_an_hourly_quota_resets_25_times_on_the_long_day_and_23_on_the_short_one(
    zone: str, day: str, count: int
) -> None:
    found = resets(ResetRule(Preset.HOUR, zone), *local_day(zone, day))

    assert len(found) == count
    assert all(later - earlier == HOUR for earlier, later in pairwise(found))


@pytest.mark.parametrize(
    ("day", "minute", "lengths"),
    [
        ("2026-10-04", 0, {60, 90}),  # 02:00 -> 02:30: no clock shows 02:00
        ("2026-10-04", 30, {30, 60}),  # 02:30 is shown half an hour after 01:30
        ("2026-10-04", 15, {60, 90}),
        ("2026-04-05", 0, {60, 90}),  # 02:00 -> 01:30
        ("2026-04-05", 45, {30, 60}),  # 01:45 is shown twice
    ],
)
def test_b64_a_change_of_half_an_hour_makes_one_hourly_period_shorter_or_longer(
    day: str, minute: int, lengths: set[int]
) -> None:
    zone = "Australia/Lord_Howe"
    found = resets(ResetRule(Preset.HOUR, zone, time(0, minute)), *local_day(zone, day))

    assert {(later - earlier) // MINUTE for earlier, later in pairwise(found)} == lengths
    assert all(reset.astimezone(ZoneInfo(zone)).minute == minute for reset in found)


@pytest.mark.parametrize(
    ("instant", "start", "end"),
    [
        ("2026-03-29T03:30+02:00", "2026-03-29T00:00+01:00", "2026-03-29T04:00+02:00"),  # no clock shows 02:00
        ("2026-10-25T02:30+01:00", "2026-10-25T02:00+01:00", "2026-10-25T04:00+01:00"),
        ("2026-10-25T02:30+02:00", "2026-10-25T02:00+02:00", "2026-10-25T02:00+01:00"),
    ],
)
def test_b64_every_two_hours_of_what_the_clock_shows_a_quota_begins_anew(instant: str, start: str, end: str) -> None:
    rule = ResetRule(Preset.CRON, "Europe/Berlin", cron="0 */2 * * *")

    assert period_at(rule, utc(instant)) == Period(utc(start), utc(end))


@pytest.mark.parametrize(("zone", "day"), [case for case in CHANGES if case not in DAYS_LEFT_OUT])
@pytest.mark.parametrize("at", [time(0), time(1, 30), time(2), time(2, 30), time(12)])
def test_b64_a_daily_quota_resets_exactly_once_on_the_day_of_a_change(zone: str, day: str, at: time) -> None:
    noon = datetime.fromisoformat(day).replace(hour=12, tzinfo=ZoneInfo(zone))
    found = resets(ResetRule(Preset.DAY, zone, at), noon - 2 * DAY, noon + 2 * DAY)

    dates = [reset.astimezone(ZoneInfo(zone)).date() for reset in found]
    assert dates.count(noon.date()) == 1


@pytest.mark.parametrize(
    ("zone", "instant", "at", "start"),
    [
        ("Europe/Berlin", "2026-03-29T12:00+02:00", time(2, 30), "2026-03-29T03:00+02:00"),
        ("Europe/Berlin", "2026-10-25T12:00+01:00", time(2, 30), "2026-10-25T02:30+02:00"),
        ("Europe/Berlin", "2026-10-25T02:15+01:00", time(2, 30), "2026-10-25T02:30+02:00"),
        ("America/Sao_Paulo", "2018-11-04T12:00-02:00", time(0), "2018-11-04T01:00-02:00"),
        ("America/Sao_Paulo", "2018-02-17T23:30-03:00", time(23, 30), "2018-02-17T23:30-02:00"),
        ("Africa/Cairo", "2026-04-24T12:00+03:00", time(0), "2026-04-24T01:00+03:00"),
        ("Asia/Beirut", "2026-03-29T12:00+03:00", time(0), "2026-03-29T01:00+03:00"),
    ],
)
def test_b64_a_time_in_the_gap_is_the_end_of_the_gap_and_a_time_shown_twice_is_the_first(
    zone: str, instant: str, at: time, start: str
) -> None:
    assert period_at(ResetRule(Preset.DAY, zone, at), utc(instant)).start == utc(start)


def test_b64_while_an_hour_is_repeated_the_reset_after_it_is_still_to_come() -> None:
    period = period_at(ResetRule(Preset.DAY, "Europe/Berlin", time(3, 5)), utc("2026-10-25T02:15+01:00"))

    assert period == Period(utc("2026-10-24T03:05+02:00"), utc("2026-10-25T03:05+01:00"))


def test_b64_a_day_that_a_zone_left_out_has_no_period() -> None:
    rule = ResetRule(Preset.DAY, "Pacific/Apia")
    last_before = period_at(rule, utc("2011-12-29T12:00-10:00"))

    assert last_before == Period(utc("2011-12-29T00:00-10:00"), utc("2011-12-31T00:00+14:00"))
    assert period_at(rule, last_before.end).end == utc("2012-01-01T00:00+14:00")


def test_b65_day_31_resets_on_the_last_day_of_a_shorter_month_and_goes_back_to_31() -> None:
    rule = ResetRule(Preset.MONTH, "UTC", day=31)

    found = resets(rule, utc("2026-01-01T00:00Z"), utc("2027-01-01T00:00Z"))
    assert [reset.day for reset in found] == [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]


def test_b65_day_29_resets_on_29_february_in_a_leap_year_only() -> None:
    rule = ResetRule(Preset.MONTH, "Europe/Berlin", time(6), day=29)

    assert period_at(rule, utc("2028-03-01T00:00Z")).start == utc("2028-02-29T06:00+01:00")
    assert period_at(rule, utc("2027-03-01T00:00Z")).start == utc("2027-02-28T06:00+01:00")


def test_b65_the_window_before_31_march_is_not_shrunk() -> None:
    period = period_at(ResetRule(Preset.MONTH, "UTC", day=31), utc("2026-03-30T23:59Z"))

    assert period == Period(utc("2026-02-28T00:00Z"), utc("2026-03-31T00:00Z"))


def test_b67_the_zone_of_who_asks_changes_nothing() -> None:
    rule, instant = ResetRule(Preset.DAY, "America/New_York", time(9)), utc("2026-11-01T13:30Z")
    expected = Period(utc("2026-10-31T13:00Z"), utc("2026-11-01T14:00Z"))

    viewers = ["Asia/Tokyo", "America/New_York", "Europe/Paris", "Pacific/Apia"]
    answers = [period_at(rule, instant.astimezone(ZoneInfo(viewer))) for viewer in viewers]
    assert answers == [expected] * 4
    assert {answer.start.tzinfo for answer in answers} == {UTC}


@given(st.randoms(use_true_random=False))
def test_b68_a_period_depends_on_no_earlier_question(shuffler: random.Random) -> None:
    rule = ResetRule(Preset.WEEK, "Europe/Berlin", time(9, 30), weekday=3)
    instants = [utc("2026-01-01T00:00Z") + number * timedelta(hours=37) for number in range(60)]
    in_order = {instant: period_at(rule, instant) for instant in instants}

    shuffler.shuffle(instants)
    assert {instant: period_at(rule, instant) for instant in instants} == in_order
    starts = {period.start.astimezone(ZoneInfo("Europe/Berlin")) for period in in_order.values()}
    assert {(start.weekday(), start.time()) for start in starts} == {(3, time(9, 30))}


def test_b68_after_years_without_a_question_the_reset_is_where_it_always_was() -> None:
    rule = ResetRule(Preset.WEEK, "America/New_York", time(8), weekday=0)

    assert period_at(rule, utc("2026-01-07T00:00Z")).start == utc("2026-01-05T08:00-05:00")
    assert period_at(rule, utc("2031-07-09T00:00Z")).start == utc("2031-07-07T08:00-04:00")
