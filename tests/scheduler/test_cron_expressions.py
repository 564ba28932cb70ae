"""What can be written as a trigger, what it means, and in which words anything else is refused."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.cron import (
    Cron,
    Interval,
    Once,
    TriggerError,
    cron,
    fires_at_most_daily,
    interval,
    is_fixed_time,
    once,
    zone,
)
from scheduler.cron.triggers import LONGEST_INTERVAL
from tests.scheduler.factories import utc

DAY = timedelta(days=1)


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
        ("0 5-99 * * *", "The cron expression's hour field “5-99” is not between 0 and 23."),
        ("0 99-5 * * *", "The cron expression's hour field “99-5” is not between 0 and 23."),
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
            "0 15 3 * * *",
            "The cron expression “0 15 3 * * *” has six fields, but seconds are not supported. Write five: "
            "minute hour day-of-month month day-of-week, as in “15 3 * * *”.",
        ),
        (
            "0 99 3 * * *",
            "The cron expression “0 99 3 * * *” has six fields, but seconds are not supported. Write five: "
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
            "1 ,15 * * * *",
            "The cron expression “1 ,15 * * * *” has a space beside a comma. Write lists without one, as in 1,15.",
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


@pytest.mark.parametrize("expression", ["0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 30 2 */2", "0 0 LW * */7"])
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


def test_an_interval_is_from_one_second_to_ten_years_and_an_instant_is_kept() -> None:
    at = utc("2026-01-01T00:00Z")
    assert interval(1, at) == Interval(1, at)
    assert interval(LONGEST_INTERVAL, at) == Interval(10 * 366 * 86_400, at)
    assert once(at) == Once(at)


@pytest.mark.parametrize("seconds", [None, 0, -5, LONGEST_INTERVAL + 1, 10**12])
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
