"""Triggers as pure functions: both directions, series and spans agree, in every zone and at every change."""

import json
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from scheduler.cron import (
    Cron,
    Interval,
    Missed,
    Once,
    TriggerError,
    cron,
    fires_at_most_daily,
    interval,
    is_fixed_time,
    missed,
    once,
    remarks,
    shifted_by_daylight_saving,
    stat_date,
    zone,
)

MINUTE, SECOND, DAY = timedelta(minutes=1), timedelta(seconds=1), timedelta(days=1)

# Days on which clocks change: by an hour, half an hour, a quarter, two hours and a whole day; at two, at midnight and
# just past it; with a pair of changes a month apart.
CHANGES = [
    ("America/New_York", "2026-03-08"),
    ("America/New_York", "2026-11-01"),
    ("America/Toronto", "2026-03-08"),
    ("America/Havana", "2026-03-08"),
    ("America/Sao_Paulo", "2018-02-18"),
    ("America/Sao_Paulo", "2018-11-04"),
    ("America/St_Johns", "2006-10-29"),
    ("America/St_Johns", "2007-03-11"),
    ("America/Caracas", "2007-12-09"),
    ("Africa/Cairo", "2026-04-24"),
    ("Africa/Cairo", "2026-10-30"),
    ("Africa/Casablanca", "2026-02-15"),
    ("Africa/Casablanca", "2026-03-22"),
    ("Antarctica/Troll", "2026-03-29"),
    ("Antarctica/Troll", "2026-10-25"),
    ("Asia/Kathmandu", "1986-01-01"),
    ("Asia/Kolkata", "2026-03-29"),
    ("Asia/Pyongyang", "2018-05-05"),
    ("Asia/Shanghai", "1991-09-15"),
    ("Australia/Lord_Howe", "2026-04-05"),
    ("Australia/Lord_Howe", "2026-10-04"),
    ("Europe/Berlin", "2026-03-29"),
    ("Europe/Berlin", "2026-10-25"),
    ("Europe/Dublin", "2026-10-25"),
    ("Europe/London", "2026-03-29"),
    ("Pacific/Apia", "2011-12-30"),
    ("Pacific/Chatham", "2026-09-27"),
    ("Pacific/Kwajalein", "1993-08-21"),
    ("UTC", "2026-03-08"),
]
ZONES = sorted({name for name, _ in CHANGES})


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


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
    with pytest.raises(ValueError, match="needs a time zone"):
        cron("0 9 * * *", "UTC").next_after(datetime(2026, 6, 1))  # noqa: DTZ001


def test_nothing_is_due_beyond_the_range_of_dates() -> None:
    for trigger in (
        cron("0 9 * * *", "Pacific/Apia"),
        cron("* * * * *", "Pacific/Apia"),
        Interval(60, utc("2026-01-01")),
    ):
        assert trigger.next_after(datetime.max.replace(tzinfo=UTC)) is None
    assert cron("0 9 * * *", "UTC").latest_until(datetime.min.replace(tzinfo=UTC)) is None


def test_the_rarest_day_is_found_in_both_directions() -> None:
    leap_monday = cron("0 0 29 2 */7", "UTC")  # 29 February and Sunday
    assert leap_monday.next_after(utc("2088-03-01T00:00Z")) == utc("2128-02-29T00:00Z")
    assert leap_monday.latest_until(utc("2128-02-28T00:00Z")) == utc("2088-02-29T00:00Z")


# --- what is refused, in which words ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        ("0 25 * * *", "The cron expression's hour field “25” is not between 0 and 23."),
        ("60 * * * *", "The cron expression's minute field “60” is not between 0 and 59."),
        ("1,60 * * * *", "The cron expression's minute field “1,60”: “60” is not between 0 and 59."),
        ("0 0 0 * *", "The cron expression's day-of-month field “0” is not between 1 and 31."),
        ("0 0 * 13 *", "The cron expression's month field “13” is not between 1 and 12."),
        ("0 0 * * 8", "The cron expression's day-of-week field “8” is not between 0 and 7."),
        ("*/0 * * * *", "The cron expression's minute field “*/0” has a step of 0: write at least 1."),
        ("0 22-2 * * *", "The cron expression's hour field “22-2” runs backwards: write 22-23,0-2."),
        ("0 0 * * SAT-SUN", "The cron expression's day-of-week field “SAT-SUN” runs backwards: write 6,0."),
        ("1,,2 * * * *", "The cron expression's minute field “1,,2” has an empty place beside a comma."),
        (
            "~ * * * *",
            "The cron expression's minute field “~” asks for a random time (~): write one fixed time.",
        ),
        (
            "0 0 ? * MON",
            "The cron expression's day-of-month field “?” uses ?, which is not known here: write * for every value.",
        ),
        (
            "0 0 15W * *",
            "The cron expression's day-of-month field “15W” cannot be read: write *, 1 to 31, L for the last day, "
            "LW for the last weekday, a range (1-5) or a step (*/2).",
        ),
        (
            "0 30 2 * * *",
            "The cron expression “0 30 2 * * *” has six fields, but seconds are not supported. Write five: "
            "minute hour day-of-month month day-of-week, as in “30 2 * * *”.",
        ),
        (
            "* * * *",
            "The cron expression “* * * *” has 4 fields instead of five: "
            "minute hour day-of-month month day-of-week, as in “30 2 * * *”.",
        ),
        (
            "1, 15 * * * *",
            "The cron expression “1, 15 * * * *” has a space beside a comma. Write lists without one, as in 1,15.",
        ),
        (
            "  ",
            "The cron expression is empty. Write five fields: minute hour day-of-month month day-of-week, "
            "as in “30 2 * * *”.",
        ),
        (
            "0 12 31 4 *",
            "The cron expression “0 12 31 4 *” names a day that never comes. Correct its day-of-month or month "
            "field; L as the day of the month is the last day.",
        ),
        ("@reboot", "@reboot is not a time: a restart starts nothing here. Write a time, or @daily."),
        (
            "@fortnightly",
            "The cron expression “@fortnightly” is not known. There are @hourly, @daily, @midnight, @weekly, "
            "@monthly, @yearly, @annually.",
        ),
    ],
)
def test_a_wrong_expression_is_refused_with_a_sentence_that_names_the_fault(expression: str, sentence: str) -> None:
    with pytest.raises(TriggerError) as refused:
        cron(expression, "UTC")
    assert refused.value.field == "cron"
    assert refused.value.message == sentence


@pytest.mark.parametrize("expression", ["0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 30 2 */2"])
def test_a_day_that_never_comes_is_refused(expression: str) -> None:
    with pytest.raises(TriggerError, match="never comes"):
        cron(expression, "UTC")


def sentence_or_next(expression: str) -> str | datetime | None:
    try:
        return cron(expression, "UTC").next_after(utc("2026-01-01T00:00Z"))
    except TriggerError as refused:
        return refused.message


@given(st.text(max_size=40))
def test_any_text_is_an_expression_or_refused_with_a_sentence(text: str) -> None:
    answer = sentence_or_next(text)
    assert isinstance(answer, datetime) or answer.endswith(".")


@given(st.lists(st.text("0123456789*/,-LWH#?~JANSU", min_size=1, max_size=6), min_size=5, max_size=5))
def test_anything_like_an_expression_is_one_or_refused_with_a_sentence(fields: list[str]) -> None:
    answer = sentence_or_next(" ".join(fields))
    assert isinstance(answer, datetime) or answer.endswith(".")


def test_a_number_too_long_for_python_is_refused_too() -> None:
    with pytest.raises(TriggerError, match="is not between 0 and 59"):
        cron(f"{'9' * 5000} * * * *", "UTC")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Europe/Berln", "Europe/Berlin"),
        ("Berlin", "Did you mean Europe/Berlin?"),
        ("New York", "Did you mean America/New_York?"),
        ("europe/berlin", "Did you mean Europe/Berlin?"),
        ("UTC+8", "Write the name of a place"),
        ("", "Write the name of a place"),
        ("America", "America/"),
        ("../etc/passwd", "Write the name of a place"),
        ("localtime", "Write the name of a place"),
        ("nonsense", "Write the name of a place"),
    ],
)
def test_an_unknown_zone_is_refused_with_the_nearest_names(name: str, hint: str) -> None:
    with pytest.raises(TriggerError) as refused:
        zone(name)
    assert refused.value.field == "timezone"
    assert refused.value.message.startswith(f"The time zone “{name}” is not known.")
    assert hint in refused.value.message


@pytest.mark.parametrize("seconds", [None, 0, -5, 10**12])
def test_an_interval_of_no_sensible_length_is_refused(seconds: int | None) -> None:
    with pytest.raises(TriggerError, match="The interval is") as refused:
        interval(seconds, utc("2026-01-01T00:00Z"))
    assert refused.value.field == "interval"


def test_an_interval_or_instant_without_a_zone_is_refused() -> None:
    for make, field_name in ((lambda at: interval(60, at), "interval"), (once, "once")):
        for at in (None, datetime(2026, 1, 1)):  # noqa: DTZ001
            with pytest.raises(TriggerError, match="missing, or has no time zone") as refused:
                make(at)
            assert refused.value.field == field_name


# --- what is understood -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "fields"),
    [
        ("@hourly", "0 * * * *"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@weekly", "0 0 * * 0"),
        ("@monthly", "0 0 1 * *"),
        ("@yearly", "0 0 1 1 *"),
        ("@Annually", "0 0 1 1 *"),
        ("  0   8 * *  mon-fri ", "0 8 * * 1-5"),
        ("0 0 1 jan,jul *", "0 0 1 1,7 *"),
        ("0-59/15 * * * *", "*/15 * * * *"),
    ],
)
def test_words_names_and_spaces_mean_the_same_as_numbers(word: str, fields: str) -> None:
    start, end = utc("2026-01-01T00:00Z"), utc("2028-01-01T00:00Z")
    start_of = [next(cron(text, "Europe/Berlin").instants(start, end)) for text in (word, fields)]
    assert start_of[0] == start_of[1]
    assert list(cron(word, "UTC").instants(start, start + 9 * DAY)) == list(
        cron(fields, "UTC").instants(start, start + 9 * DAY)
    )


def test_an_expression_is_kept_as_it_was_written_but_for_its_spaces() -> None:
    assert cron(" @daily ", "UTC") == Cron("@daily", "UTC")
    assert cron("0  8\t* * mon", "UTC") == Cron("0 8 * * mon", "UTC")


def test_fixed_times_are_those_without_a_wildcard_in_minute_and_hour() -> None:
    assert is_fixed_time(cron("30 2 * * *", "UTC"))
    assert is_fixed_time(cron("0 9-17 * * 1-5", "UTC"))
    assert is_fixed_time(cron("@daily", "UTC"))
    assert not is_fixed_time(cron("30 * * * *", "UTC"))
    assert not is_fixed_time(cron("*/5 2 * * *", "UTC"))
    assert not is_fixed_time(Interval(86_400, utc("2026-01-01T00:00Z")))
    assert not is_fixed_time(Once(utc("2026-01-01T00:00Z")))


def test_one_time_of_day_fires_at_most_daily() -> None:
    anchor = utc("2026-01-01T00:00Z")
    assert [fires_at_most_daily(trigger) for trigger in (cron("30 2 * * *", "UTC"), cron("@monthly", "UTC"))] == [
        True
    ] * 2
    assert not fires_at_most_daily(cron("0 2,14 * * *", "UTC"))
    assert not fires_at_most_daily(cron("@hourly", "UTC"))
    assert [fires_at_most_daily(Interval(seconds, anchor)) for seconds in (86_399, 86_400, 86_401)] == [
        False,
        True,
        True,
    ]
    assert fires_at_most_daily(Once(anchor))


# --- spans --------------------------------------------------------------------------------------------------------


def test_nothing_was_missed_where_nothing_was_due() -> None:
    trigger = cron("0 2 * * *", "UTC")
    assert missed(trigger, utc("2026-06-01T02:00:01Z"), utc("2026-06-02T02:00Z")) is None
    assert missed(Once(utc("2026-06-01T00:00Z")), utc("2026-06-01T00:01Z"), utc("2026-06-02T00:00Z")) is None


def test_a_span_has_its_first_instant_and_not_the_one_at_its_end() -> None:
    first, last = utc("2026-06-01T02:00Z"), utc("2026-06-03T02:00Z")
    assert missed(cron("0 2 * * *", "UTC"), first, utc("2026-06-04T02:00Z")) == Missed(first, last, 3, False)


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
    assert "have a day 31" in remarks(cron("0 0 31 * *", "UTC"))[0]
    assert remarks(cron("0 0 L * *", "UTC")) == []
    assert remarks(cron("0 0 28 * *", "UTC")) == []
    assert remarks(Once(utc("2026-06-01T00:00Z"))) == []


def test_the_pure_side_knows_no_django() -> None:
    code = "import sys, json, scheduler.cron; print(json.dumps([name for name in sys.modules if 'django' in name]))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(loaded.stdout) == []
