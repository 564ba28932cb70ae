"""A crontab of Celery and the expression that it becomes are due at the same instants: Celery itself is asked."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from celery import current_app
from celery.schedules import crontab
from django_celery_beat.tzcrontab import TzAwareCrontab
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from scheduler import cron
from scheduler.importing.celery_crontab import CeleryField, NoExpression, expression

YEAR = (datetime(2027, 7, 1, tzinfo=UTC), datetime(2028, 7, 1, tzinfo=UTC))  # with a 29 February
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


def celerys(text: str, zone: str = "UTC") -> crontab:
    """Return Celery's crontab of five fields in cron's order, as django-celery-beat makes it."""
    minute, hour, day, month, weekday = text.split(" ")
    return TzAwareCrontab(minute, hour, weekday, day, month, tz=ZoneInfo(zone), app=current_app)


def ours(schedule: crontab) -> str:
    """Return the expression that it becomes."""
    fields = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
    return expression(
        *(CeleryField(getattr(schedule, f"_orig_{name}"), frozenset(getattr(schedule, name))) for name in fields)
    )


def celerys_next(schedule: crontab, after: datetime) -> datetime:
    """Return when Celery is due after an instant."""
    last, ahead, _ = schedule.remaining_delta(after)
    return (last + ahead).astimezone(UTC)


def days(start: datetime, end: datetime) -> Iterator[datetime]:
    while start < end:
        yield start
        start += DAY


def differences(schedule: crontab, trigger: cron.Cron, start: datetime, end: datetime) -> Iterator[tuple[object, ...]]:
    """Yield where the two part: by the day over the whole span, by the minute on the first day that has any."""
    for day in days(start, end):
        before = day - MINUTE
        if celerys_next(schedule, before) != trigger.next_after(before):
            yield before, celerys_next(schedule, before), trigger.next_after(before)
    first = instant = celerys_next(schedule, start)
    while instant < first + DAY:
        following = celerys_next(schedule, instant)
        if following != trigger.next_after(instant):
            yield instant, following, trigger.next_after(instant)
        instant = following


# --- as the documentation has it ---------------------------------------------------------------------------------


def documented() -> list[tuple[str, str]]:
    """Return the lines of the documentation's table: Celery's crontab, and what it is here."""
    page = (Path(__file__).parents[2] / "docs" / "importing.md").read_text()
    _, _, table = page.partition("| in Celery | here | |\n|---|---|---|\n")
    cells = [re.split(r" *\| *", line)[1:3] for line in table.partition("\n\n")[0].splitlines()]
    return [(celery.strip("`"), here.strip("`")) for celery, here in cells]


@pytest.mark.parametrize(("celery", "here"), documented())
def test_crontabs_become_what_the_documentation_says(celery: str, here: str) -> None:
    schedule = celerys(celery)
    if here == "–":
        with pytest.raises(NoExpression):
            ours(schedule)
    else:
        assert ours(schedule) == here
        assert list(differences(schedule, cron.cron(here, "UTC"), *YEAR)) == []


def test_the_documentation_has_a_table() -> None:
    assert len(documented()) > 5


# --- by hand -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("celery", "here"),
    [
        ("30 2 * * *", "30 2 * * *"),
        ("*/15 8-18 * * mon-fri", "*/15 8-18 * * mon-fri"),
        ("0 0 * * sunday", "0 0 * * 0"),
        ("0 0 * * fri-mon", "0 0 * * 0-1,5-6"),
        ("0 22-4 * * *", "0 0-4,22-23 * * *"),
        ("0 22-4/2 * * *", "0 0,2,4,22 * * *"),
        ("0 0 1 nov-feb *", "0 0 1 1-2,11-12 *"),
        ("0 0 1 */3 *", "0 0 1 */3 *"),
        ("*/7 */5 */3 * *", "*/7 */5 */3 * *"),
        ("0-59 0-23 1-31 1-12 0-6", "* * * * *"),
        ("0 0 * * sun-sat", "0 0 * * *"),
        ("0 0 * * 1,3,5", "0 0 * * 1,3,5"),
        ("00 08 * * *", "00 08 * * *"),
        ("0 0 31 * *", "0 0 31 * *"),
        ("0 0 29 2 *", "0 0 29 2 *"),
    ],
)
def test_what_celery_reads_is_written_as_cron_reads_it(celery: str, here: str) -> None:
    schedule = celerys(celery)
    assert ours(schedule) == here
    assert list(differences(schedule, cron.cron(here, "UTC"), *YEAR)) == []


@pytest.mark.parametrize(
    ("celery", "here"),
    [
        ("0 0 1-7 * mon", "0 0 * * MON#1"),
        ("0 0 1-7,15-21 * 1", "0 0 * * MON#1,MON#3"),
        ("0 0 29-31 * mon,fri", "0 0 * * MON#5,FRI#5"),
        ("0 0 1-30 4,6 mon", "0 0 * 4,6 mon"),
        ("0 0 29 2 mon", "0 0 * 2 MON#5"),
        ("0 0 13 * 0-6", "0 0 13 * *"),
        ("0 0 1-31 * fri", "0 0 * * fri"),
        ("0 0 */2 * mon", "0 0 */2 * mon"),
        ("0 0 1,15 * */2", "0 0 1,15 * */2"),
    ],
)
def test_both_day_fields_must_match_as_in_celery(celery: str, here: str) -> None:
    schedule = celerys(celery)
    assert ours(schedule) == here
    assert list(differences(schedule, cron.cron(here, "UTC"), *YEAR)) == []


@pytest.mark.parametrize("celery", ["0 0 13 * fri", "0 0 1,15 * mon-fri", "0 0 1-6 * mon", "0 0 1-8 * mon"])
def test_days_that_no_expression_names_are_refused_with_both_fields(celery: str) -> None:
    _, _, day, _, weekday = celery.split()
    with pytest.raises(NoExpression) as refusal:
        ours(celerys(celery))
    assert f"day-of-month ({day}) and its day-of-week ({weekday})" in str(refusal.value)


def test_celery_is_due_at_our_instant_and_not_a_second_before(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = celerys("*/20 9-17 1-7 * mon", "Europe/Berlin")
    instants = list(cron.cron(ours(schedule), "Europe/Berlin").instants(*YEAR))
    assert len(instants) == 12 * 27
    last = YEAR[0]
    for instant in instants:
        for second, due in ((1, False), (0, True)):
            shown = (instant - timedelta(seconds=second)).astimezone(ZoneInfo("Europe/Berlin"))
            monkeypatch.setattr(schedule, "nowfun", lambda shown=shown: shown)
            assert schedule.is_due(last).is_due is due
        last = instant


# --- by chance ---------------------------------------------------------------------------------------------------

WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat", "sunday", "monday", "Thursday"]
MONTHS = ["jan", "feb", "mar", "apr", "jun", "jul", "august", "sep", "oct", "nov", "dec"]


def fields(low: int, high: int, names: tuple[str, ...] = ()) -> st.SearchStrategy[str]:
    """Draw fields of Celery's grammar: numbers, names, ranges that may go over the end, steps, lists."""
    value = st.one_of(st.integers(low, high).map(str), *([st.sampled_from(names)] if names else []))
    step = st.integers(1, high).map(str)
    span = st.tuples(value, value).map("-".join)
    stepped = st.tuples(st.one_of(st.just("*"), span), step).map("/".join)
    term = st.one_of(value, span, stepped)
    return st.one_of(st.just("*"), st.lists(term, min_size=1, max_size=3).map(",".join))


WEEKS = st.lists(st.sampled_from(["1-7", "8-14", "15-21", "22-28", "29-31"]), min_size=1, max_size=4).map(",".join)
CRONTABS = st.tuples(
    fields(0, 59),
    fields(0, 23),
    st.one_of(fields(1, 31), WEEKS),
    fields(1, 12, tuple(MONTHS)),
    fields(0, 6, tuple(WEEKDAYS)),
).map(" ".join)


def drawn(text: str, zone: str = "UTC") -> crontab:
    """Return the crontab, unless Celery itself refuses it: 30 February."""
    try:
        return celerys(text, zone)
    except ValueError:
        assume(False)
        raise


@settings(max_examples=120, deadline=None)
@given(text=CRONTABS)
@pytest.mark.slow
def test_whatever_celery_reads_is_due_at_the_same_instants_for_a_year_or_is_refused(text: str) -> None:
    schedule = drawn(text)
    try:
        here = ours(schedule)
    except NoExpression:
        assume(False)
        raise
    assert list(differences(schedule, cron.cron(here, "UTC"), *YEAR)) == []


@settings(max_examples=40, deadline=None)
@given(
    days=st.sets(st.integers(1, 31), min_size=1, max_size=6),
    months=st.sets(st.integers(1, 12), min_size=1),
    weekdays=st.sets(st.integers(0, 6), min_size=1, max_size=6),
)
def test_what_is_refused_would_run_on_other_days_as_cron_reads_it(
    days: set[int], months: set[int], weekdays: set[int]
) -> None:
    text = "0 0 {} {} {}".format(*(",".join(map(str, sorted(field))) for field in (days, months, weekdays)))
    schedule = drawn(text)
    try:
        ours(schedule)
    except NoExpression:
        assert list(differences(schedule, cron.cron(text, "UTC"), *YEAR)) != []
    else:
        assert days <= {29, 30, 31}  # the fifth week is the only one so short


ZONES = st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Africa/Cairo"])


@settings(max_examples=40, deadline=None)
@given(text=CRONTABS, zone=ZONES)
def test_in_any_zone_they_agree_but_for_the_days_about_a_change_of_its_clocks(text: str, zone: str) -> None:
    schedule = drawn(text, zone)
    try:
        trigger = cron.cron(ours(schedule), zone)
    except NoExpression:
        assume(False)
        raise
    for day in days(*YEAR):
        due, before = celerys_next(schedule, day), day
        if offset(day, zone) == offset(due, zone) and not changes_within_a_day(due, zone):
            assert (due, before) == (trigger.next_after(before), before)


def offset(instant: datetime, zone: str) -> timedelta | None:
    return instant.astimezone(ZoneInfo(zone)).utcoffset()


def changes_within_a_day(instant: datetime, zone: str) -> bool:
    return offset(instant - DAY, zone) != offset(instant + DAY, zone)
