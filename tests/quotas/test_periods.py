"""The period that holds an instant: nothing drifts, nothing is left out, at every change of every zone's clocks."""

from calendar import monthrange
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from project.kit.wall_clocks import changes, zone_names
from quotas.periods import Period, Preset, ResetRule, period_at
from scheduler.cron import cron
from tests.clock_changes import CHANGES
from tests.quotas.resets import resets
from tests.scheduler.factories import utc

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)

CRONS = [
    "0 0 * * *",
    "30 2 * * *",
    "0,30 1-3 * * *",
    "0 */2 * * *",
    "*/20 * * * *",
    "15 0 L * *",
    "*/30 1 * * 0",
    "0 0 29 2 *",
    "0 0 13 * 5",
]

times = st.builds(time, st.integers(0, 23), st.integers(0, 59))
presets = st.sampled_from([Preset.HOUR, Preset.DAY, Preset.WEEK, Preset.MONTH])
days = {"weekday": st.integers(0, 6), "day": st.integers(1, 31)}


def rules_for(zone: str) -> st.SearchStrategy[ResetRule]:
    plain = st.builds(ResetRule, presets, st.just(zone), times, **days)
    written = st.builds(lambda text: ResetRule(Preset.CRON, zone, cron=text), st.sampled_from(CRONS))
    return plain | written


@lru_cache
def changes_of(zone: str, year: int) -> list[datetime]:
    start, end = datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)
    return list(changes(ZoneInfo(zone), start, end)) or [start + 180 * DAY]


@st.composite
def near_a_change(draw: st.DrawFn) -> tuple[ResetRule, datetime]:
    """Draw a rule of any zone there is and an instant around one of the zone's changes."""
    zone = draw(st.sampled_from(sorted(zone_names())))
    change = draw(st.sampled_from(changes_of(zone, draw(st.integers(1925, 2037)))))
    around = st.integers(-3 * 86_400, 3 * 86_400) | st.integers(-2, 2)
    return draw(rules_for(zone)), change + timedelta(seconds=draw(around), microseconds=draw(st.integers(0, 1)))


# --- nothing is left out, nothing is counted twice ---------------------------------------------------------------


@settings(max_examples=250, deadline=None)
@given(near_a_change())
def test_every_instant_lies_in_its_period_and_periods_have_no_gaps(case: tuple[ResetRule, datetime]) -> None:
    rule, instant = case
    period = period_at(rule, instant)

    assert period.start <= instant < period.end
    assert period_at(rule, period.start) == period
    assert period_at(rule, period.end - timedelta(microseconds=1)) == period
    assert period_at(rule, period.end).start == period.end
    assert period_at(rule, period.start - timedelta(microseconds=1)).end == period.start


@settings(max_examples=200, deadline=None)
@given(near_a_change(), st.sampled_from(CRONS))
def test_a_cron_resets_when_a_schedule_of_the_same_expression_fires(
    case: tuple[ResetRule, datetime], expression: str
) -> None:
    rule, instant = ResetRule(Preset.CRON, case[0].timezone, cron=expression), case[1]
    trigger = cron(expression, rule.timezone)

    assert period_at(rule, instant) == Period(trigger.latest_until(instant), trigger.next_after(instant))


@pytest.mark.parametrize(
    ("expression", "reset"),
    [("30 * * * *", "06:30"), ("*/30 1 * * *", "06:30"), ("30 1 * * *", "05:30")],
)
def test_a_wildcard_in_minute_or_hour_resets_in_both_copies_of_a_repeated_hour(expression: str, reset: str) -> None:
    rule = ResetRule(Preset.CRON, "America/New_York", cron=expression)
    assert period_at(rule, utc("2026-11-01T06:40Z")).start == utc(f"2026-11-01T{reset}Z")


def test_two_changes_of_a_zone_five_weeks_apart_are_both_found() -> None:
    """Morocco sets its clocks back for Ramadan."""
    spring = utc("2026-02-01T00:00Z"), utc("2026-04-01T00:00Z")

    assert list(changes(ZoneInfo("Africa/Casablanca"), *spring)) == [utc("2026-02-15T02:00Z"), utc("2026-03-22T02:00Z")]


def test_a_period_holds_its_start_and_not_its_end() -> None:
    period = period_at(ResetRule(Preset.DAY, "UTC"), utc("2026-06-10T12:00Z"))

    assert period.start in period
    assert period.end - timedelta(microseconds=1) in period
    assert period.end not in period


def test_the_next_question_about_a_period_needs_no_reckoning() -> None:
    rule = ResetRule(Preset.MONTH, "Europe/Berlin", time(9, 15))

    assert period_at(rule, utc("2026-06-10T12:00Z")) is period_at(rule, utc("2026-06-20T12:00Z"))


# --- an oracle: the rule, applied minute by minute ---------------------------------------------------------------


def matches(rule: ResetRule, wall: datetime) -> bool:
    if rule.preset == Preset.HOUR:
        return wall.minute == rule.at.minute
    on_day = {
        Preset.DAY: True,
        Preset.WEEK: wall.weekday() == rule.weekday,
        Preset.MONTH: wall.day == min(rule.day, monthrange(wall.year, wall.month)[1]),
    }[rule.preset]
    return on_day and wall.time() == rule.at


@lru_cache
def clock_around(zone: str, day: str) -> list[tuple[datetime, datetime]]:
    """Return every minute of the days around a change, with what the clock shows."""
    first = datetime.fromisoformat(day).replace(tzinfo=UTC) - DAY
    minutes = [first + number * MINUTE for number in range(3 * 24 * 60)]
    return [(minute, minute.astimezone(ZoneInfo(zone)).replace(tzinfo=None, fold=0)) for minute in minutes]


def expected_resets(rule: ResetRule, clock: list[tuple[datetime, datetime]]) -> Iterator[datetime]:
    furthest = clock[0][1]
    for instant, shown in clock[1:]:
        newly_passed = []
        while furthest < shown:
            furthest += MINUTE
            newly_passed.append(furthest)
        walls = [shown] if rule.preset == Preset.HOUR else newly_passed
        if any(matches(rule, wall) for wall in walls):
            yield instant


@pytest.mark.parametrize(("zone", "day"), CHANGES)
@settings(max_examples=25, deadline=None)
@given(preset=presets, at=times | st.sampled_from([time(0), time(2), time(2, 30)]), rest=st.fixed_dictionaries(days))
@pytest.mark.slow
def test_resets_around_a_change_are_those_of_a_walk_minute_by_minute(
    zone: str, day: str, preset: Preset, at: time, rest: dict[str, int]
) -> None:
    rule, clock = ResetRule(preset, zone, at, **rest), clock_around(zone, day)

    assert resets(rule, clock[1][0], clock[-1][0] + MINUTE) == list(expected_resets(rule, clock))
