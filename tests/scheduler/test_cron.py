"""Triggers as pure functions: both directions, series and spans agree, in every zone and at every change."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from scheduler.cron import (
    Interval,
    Once,
    cron,
    interval,
)
from tests.clock_changes import CHANGES
from tests.scheduler.factories import utc

MINUTE, SECOND, DAY = timedelta(minutes=1), timedelta(seconds=1), timedelta(days=1)

ZONES = sorted({name for name, _ in CHANGES})


# --- an oracle: the rule, applied minute by minute ---------------------------------------------------------------


def matching_walls(expression: str, first: datetime, last: datetime) -> list[datetime]:
    """Return the local times that match, read by cronsim on a clock that never changes."""
    walls = []
    for wall in CronSim(expression, first - MINUTE):
        if wall > last:
            return walls
        walls.append(wall)
    return walls


@lru_cache
def clock_around(zone_name: str, day: str) -> list[tuple[datetime, datetime]]:
    """Return every minute of the days around a change, with what the clock shows."""
    first = utc(f"{day}T00:00Z") - 5 * DAY
    instants = [first + n * MINUTE for n in range(10 * 1440)]
    return [(at, at.astimezone(ZoneInfo(zone_name)).replace(tzinfo=None, fold=0)) for at in instants]


@lru_cache
def first_shown(zone_name: str, day: str) -> dict[datetime, datetime]:
    """Return, for each local time, the first minute at which the clock shows it or has jumped over it."""
    clock = clock_around(zone_name, day)
    reached, first = clock[0][1], {}
    for instant, wall in clock:
        while reached <= wall:
            first[reached] = instant
            reached += MINUTE
    return first


def expected(expression: str, change: tuple[str, str], start: datetime, end: datetime) -> list[datetime]:
    """Return what the rule gives in start <= t < end, by looking at every minute of real time."""
    walls = matching_walls(expression, (start - 2 * DAY).replace(tzinfo=None), (end + 2 * DAY).replace(tzinfo=None))
    minute, hour, *_ = expression.split()
    if minute.startswith("*") or hour.startswith("*"):
        wanted = set(walls)
        due = [instant for instant, wall in clock_around(*change) if wall in wanted]
    else:
        due = sorted({first_shown(*change)[wall] for wall in walls})
    return [instant for instant in due if start <= instant < end]


def field(low: int, high: int, star: float = 0.3) -> st.SearchStrategy[str]:
    value = st.integers(low, high)
    listed = st.lists(value, min_size=1, max_size=4).map(lambda values: ",".join(map(str, values)))
    ranged = st.tuples(value, value).map(lambda pair: f"{min(pair)}-{max(pair)}")
    stepped = st.integers(1, 20).map(lambda step: f"*/{step}")
    return st.one_of(listed, ranged, stepped, st.just("*"))


EXPRESSIONS = st.one_of(
    st.tuples(field(0, 59), field(0, 23)).map(lambda pair: f"{pair[0]} {pair[1]} * * *"),
    st.tuples(field(0, 59), field(0, 4)).map(lambda pair: f"{pair[0]} {pair[1]} * * *"),
    st.tuples(field(0, 59), field(0, 23), field(1, 31), field(0, 7)).map(
        lambda parts: f"{parts[0]} {parts[1]} {parts[2]} * {parts[3]}"
    ),
)


@settings(max_examples=150, deadline=None)
@given(
    EXPRESSIONS, st.sampled_from(CHANGES), st.integers(-24, 24), st.lists(st.integers(1, 2 * 86_400 - 1), max_size=8)
)
def test_every_minute_around_a_change_is_as_the_rule_says(
    expression: str, change: tuple[str, str], hours: int, probes: list[int]
) -> None:
    zone_name, day = change
    start = utc(f"{day}T00:00Z") + timedelta(hours=hours - 24)
    end = start + 2 * DAY
    due = expected(expression, change, start, end)
    trigger = cron(expression, zone_name)

    assert list(trigger.instants(start, end)) == due
    around = [instant + step for instant in due[:50] for step in (-SECOND, timedelta(0), SECOND)]
    for asked in [*around, *(start + timedelta(seconds=probe) for probe in probes)]:
        later = [instant for instant in due if instant > asked]
        earlier = [instant for instant in due if instant <= asked]
        assert not later or trigger.next_after(asked) == later[0]
        assert not earlier or trigger.latest_until(asked) == earlier[-1]


@settings(max_examples=300, deadline=None)
@given(
    EXPRESSIONS,
    st.sampled_from(ZONES),
    st.datetimes(datetime(1975, 1, 1), datetime(2060, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
)
def test_both_directions_agree_in_every_year(expression: str, zone_name: str, asked: datetime) -> None:
    trigger = cron(expression, zone_name)
    following, latest = trigger.next_after(asked), trigger.latest_until(asked)
    assume(following is not None and latest is not None)

    assert latest <= asked < following
    assert trigger.latest_until(following) == following
    assert trigger.latest_until(following - SECOND) == latest
    assert trigger.next_after(latest) == following
    assert list(trigger.instants(latest, following + SECOND)) == [latest, following]


@settings(max_examples=100, deadline=None)
@given(EXPRESSIONS, st.sampled_from(CHANGES))
def test_a_series_only_grows(expression: str, change: tuple[str, str]) -> None:
    zone_name, day = change
    start = utc(f"{day}T00:00Z") - DAY
    series = list(cron(expression, zone_name).instants(start, start + 3 * DAY))
    assert all(earlier < later for earlier, later in pairwise(series))


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 10**7), st.integers(-(10**8), 10**9))
def test_an_interval_never_drifts_from_its_anchor(seconds: int, distance: int) -> None:
    anchor = utc("2020-01-01T00:00Z")
    trigger = interval(seconds, anchor)
    asked = anchor + timedelta(seconds=distance)
    following = trigger.next_after(asked)

    assert following > asked
    assert following >= anchor
    assert (following - anchor) % timedelta(seconds=seconds) == timedelta(0)
    latest = trigger.latest_until(following - timedelta(microseconds=1))
    assert latest == (None if following == anchor else following - timedelta(seconds=seconds))


# --- the three instants around each boundary ---------------------------------------------------------------------


def test_the_second_of_a_fire_belongs_to_it() -> None:
    trigger, due = cron("0 2 * * *", "UTC"), utc("2026-06-01T02:00Z")
    assert [trigger.next_after(due + step) for step in (-SECOND, timedelta(0), SECOND)] == [due, due + DAY, due + DAY]
    assert [trigger.latest_until(due + step) for step in (-SECOND, timedelta(0), SECOND)] == [due - DAY, due, due]


def test_the_end_of_a_gap_is_the_first_instant_after_it() -> None:
    trigger, gap_end = cron("30 2 * * *", "America/New_York"), utc("2026-03-08T07:00Z")
    next_day = utc("2026-03-09T06:30Z")
    assert [trigger.next_after(gap_end + step) for step in (-SECOND, timedelta(0), SECOND)] == [
        gap_end,
        next_day,
        next_day,
    ]
    assert [trigger.latest_until(gap_end + step) for step in (-SECOND, timedelta(0), SECOND)] == [
        utc("2026-03-07T07:30Z"),
        gap_end,
        gap_end,
    ]


def test_the_second_copy_of_a_fixed_time_is_not_due() -> None:
    trigger, second_copy = cron("30 1 * * *", "America/New_York"), utc("2026-11-01T06:30Z")
    for step in (-SECOND, timedelta(0), SECOND):
        assert trigger.next_after(second_copy + step) == utc("2026-11-02T06:30Z")
        assert trigger.latest_until(second_copy + step) == utc("2026-11-01T05:30Z")


def test_while_an_hour_is_repeated_the_fixed_time_after_it_is_still_to_come() -> None:
    trigger, second_quarter_past_two = cron("5 3 * * *", "Europe/Berlin"), utc("2026-10-25T01:15Z")
    assert trigger.latest_until(second_quarter_past_two) == utc("2026-10-24T01:05Z")
    assert trigger.next_after(second_quarter_past_two) == utc("2026-10-25T02:05Z")


def test_the_minute_before_a_change_is_found_from_behind_it() -> None:
    trigger, last_before = cron("59 */2 * * *", "America/New_York"), utc("2026-03-08T05:59Z")
    assert trigger.latest_until(utc("2026-03-08T07:30Z")) == last_before
    trigger, change = cron("59 * * * *", "America/New_York"), utc("2026-03-08T07:00Z")
    for step in (-SECOND, timedelta(0), SECOND):
        assert trigger.latest_until(change + step) == change - MINUTE
        assert trigger.next_after(change + step) == change + 59 * MINUTE


def test_a_series_has_its_start_and_not_its_end() -> None:
    trigger, due = cron("0 * * * *", "UTC"), utc("2026-06-01T02:00Z")
    hour = timedelta(hours=1)
    assert list(trigger.instants(due, due + hour)) == [due]
    assert list(trigger.instants(due + SECOND, due + hour)) == []
    assert list(trigger.instants(due, due + hour + SECOND)) == [due, due + hour]


def test_an_interval_begins_with_its_anchor() -> None:
    anchor = utc("2026-06-01T00:00Z")
    week = Interval(7 * 86_400, anchor)
    assert [week.next_after(anchor + step) for step in (-SECOND, timedelta(0), SECOND)] == [
        anchor,
        anchor + 7 * DAY,
        anchor + 7 * DAY,
    ]
    assert [week.latest_until(anchor + step) for step in (-SECOND, timedelta(0), SECOND)] == [None, anchor, anchor]


def test_once_is_due_once() -> None:
    at = utc("2026-06-01T00:00Z")
    trigger = Once(at)
    assert [trigger.next_after(at + step) for step in (-SECOND, timedelta(0), SECOND)] == [at, None, None]
    assert [trigger.latest_until(at + step) for step in (-SECOND, timedelta(0), SECOND)] == [None, at, at]
    assert list(trigger.instants(at, at + SECOND)) == [at]
    assert list(trigger.instants(at + SECOND, at + DAY)) == []


def test_an_answer_is_in_utc_whatever_zone_it_was_asked_in() -> None:
    berlin = datetime(2026, 6, 1, 2, 0, tzinfo=ZoneInfo("Europe/Berlin"))
    for trigger in (cron("0 9 * * *", "Asia/Tokyo"), Interval(60, berlin), Once(berlin + DAY)):
        assert trigger.next_after(berlin).tzinfo is UTC
        assert trigger.latest_until(berlin + 2 * DAY).tzinfo is UTC


def test_an_instant_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^An instant needs a time zone\.$"):
        cron("0 9 * * *", "UTC").next_after(datetime(2026, 6, 1))  # noqa: DTZ001


def test_nothing_is_due_beyond_the_range_of_dates() -> None:
    for trigger in (
        cron("0 9 * * *", "Pacific/Apia"),
        cron("* * * * *", "Pacific/Apia"),
        Interval(60, utc("2026-01-01")),
    ):
        assert trigger.next_after(datetime.max.replace(tzinfo=UTC)) is None
    assert cron("0 9 * * *", "UTC").latest_until(datetime.min.replace(tzinfo=UTC)) is None


def test_the_first_and_the_last_years_of_the_range_are_like_all_others() -> None:
    new_year, hourly = cron("0 0 1 1 *", "UTC"), Interval(3600, utc("2026-01-01"))
    assert new_year.latest_until(utc("0002-06-01")) == utc("0002-01-01")
    assert new_year.next_after(utc("9900-06-01")) == utc("9901-01-01")
    assert hourly.next_after(utc("9900-06-01")) == utc("9900-06-01T01:00Z")


def test_before_the_first_leap_day_of_all_there_was_none() -> None:
    assert cron("0 0 29 2 *", "UTC").latest_until(utc("0004-02-28")) is None


def test_a_day_counts_in_its_months_only() -> None:
    new_year, asked = cron("0 12 1 1 *", "UTC"), utc("2026-06-01T12:00Z")
    assert new_year.next_after(asked - SECOND) == utc("2027-01-01T12:00Z")
    assert new_year.latest_until(asked) == utc("2026-01-01T12:00Z")


def test_the_rarest_day_is_found_in_both_directions() -> None:
    leap_monday = cron("0 0 29 2 */7", "UTC")  # 29 February and Sunday
    assert leap_monday.next_after(utc("2088-03-01T00:00Z")) == utc("2128-02-29T00:00Z")
    assert leap_monday.latest_until(utc("2128-02-28T00:00Z")) == utc("2088-02-29T00:00Z")


def test_the_pure_side_knows_django_by_its_languages_only() -> None:
    """Beyond what the package `project` brings, which names its Celery application as Celery asks for."""
    code = """
import json, sys, project
brought = set(sys.modules)
import scheduler.cron
strange = ("django.contrib", "django.core.management", "django.db", "django.http", "django.template", "django_")
print(json.dumps([name for name in set(sys.modules) - brought if name.startswith(strange)]))
"""
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(loaded.stdout) == []
