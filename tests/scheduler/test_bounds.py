"""Starts and ends: a schedule fires from an instant on and until an instant, both included."""

from datetime import datetime

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from hypothesis import given
from hypothesis import strategies as st

from scheduler import cron, schedules
from scheduler.firing import fire_all_due
from scheduler.models import Schedule
from scheduler.states import FireKind, FireOutcome
from tests.scheduler.factories import A_MOMENT, DAY, HOUR, MINUTE, NOW, fires_of, make_schedule, planned, utc

TWO = utc("2026-06-02 02:00")
HOURLY = cron.cron("0 * * * *", "UTC")
DAILY = cron.cron("0 2 * * *", "UTC")


# --- the pure trigger ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("starts", "first"), [(TWO - A_MOMENT, TWO), (TWO, TWO), (TWO + A_MOMENT, TWO + DAY)], ids=["before", "at", "after"]
)
def test_the_start_itself_is_included(starts: datetime, first: datetime) -> None:
    trigger = cron.bounded(DAILY, starts, None)
    assert trigger.next_after(NOW) == first
    assert trigger.next_after(first) == first + DAY
    assert trigger.latest_until(first) == first
    assert trigger.latest_until(first - A_MOMENT) is None


@pytest.mark.parametrize(
    ("ends", "last"), [(TWO - A_MOMENT, TWO - DAY), (TWO, TWO), (TWO + A_MOMENT, TWO)], ids=["before", "at", "after"]
)
def test_the_end_itself_is_included(ends: datetime, last: datetime) -> None:
    trigger = cron.bounded(DAILY, None, ends)
    assert trigger.latest_until(TWO + 99 * DAY) == last
    assert trigger.next_after(last - A_MOMENT) == last
    assert trigger.next_after(last) is None


def test_a_start_at_the_earliest_instant_of_all_bounds_nothing() -> None:
    assert cron.bounded(DAILY, utc("0001-01-01"), None).next_after(NOW) == TWO


def test_open_ends_leave_the_trigger_as_it_is() -> None:
    assert cron.bounded(DAILY, None, None) is DAILY
    assert cron.unbounded(cron.bounded(DAILY, NOW, None)) is DAILY


@given(*[st.integers(0, 400)] * 4)
def test_a_bounded_trigger_says_what_the_trigger_says_between_its_ends(a: int, b: int, c: int, d: int) -> None:
    starts, ends, since, until = (NOW + 7 * MINUTE * number for number in (a, b, c, d))
    trigger = cron.bounded(HOURLY, starts, ends)
    inside = [at for at in HOURLY.instants(since, until) if starts <= at <= ends]
    assert list(trigger.instants(since, until)) == inside
    behind = [at for at in HOURLY.instants(starts, until + A_MOMENT) if at <= min(until, ends)]
    assert trigger.latest_until(until) == (behind[-1] if behind else None)


def test_what_a_trigger_is_does_not_depend_on_its_ends() -> None:
    bounded = cron.bounded(DAILY, NOW, NOW + DAY)
    assert cron.is_fixed_time(bounded)
    assert cron.fires_at_most_daily(bounded)
    assert not cron.is_fixed_time(cron.bounded(HOURLY, NOW, None))
    assert cron.remarks(cron.bounded(cron.cron("0 0 31 * *", "UTC"), NOW, None)) == cron.remarks(
        cron.cron("0 0 31 * *", "UTC")
    )


# --- schedules ----------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_schedule_first_fires_at_its_start_and_last_at_its_end() -> None:
    schedule = make_schedule(starts_at=TWO + DAY, ends_at=TWO + 3 * DAY)
    for day in range(6):
        fire_all_due(now=TWO + day * DAY)
    assert planned(schedule) == [TWO + DAY, TWO + 2 * DAY, TWO + 3 * DAY]
    assert Schedule.objects.get(pk=schedule.pk).next_run_at is None


@pytest.mark.django_db
def test_an_ended_schedule_keeps_the_end_of_its_backlog_as_one_skip() -> None:
    schedule = make_schedule(ends_at=TWO + 3 * DAY)
    fire_all_due(now=TWO + 9 * DAY)
    assert fires_of(schedule) == [(TWO, FireKind.MISFIRE, FireOutcome.SKIPPED_MISFIRE)]
    skip = schedule.fires.get()
    assert (skip.missed_from, skip.missed_until, skip.missed_count) == (TWO, TWO + 3 * DAY, 4)
    assert Schedule.objects.get(pk=schedule.pk).next_run_at is None


@pytest.mark.django_db
def test_the_last_fire_is_made_up_also_after_the_end() -> None:
    schedule = make_schedule(ends_at=TWO)
    fire_all_due(now=TWO + HOUR)
    assert fires_of(schedule) == [(TWO, FireKind.MISFIRE, FireOutcome.STARTED)]


@pytest.mark.django_db
def test_a_changed_end_recomputes_the_next_run() -> None:
    schedule = make_schedule(ends_at=TWO)
    fire_all_due(now=TWO)
    schedule.refresh_from_db()
    schedule.ends_at = TWO + 5 * DAY
    schedules.save_changes(schedule, expected_version=1, now=TWO + HOUR)
    assert Schedule.objects.get(pk=schedule.pk).next_run_at == TWO + DAY


@pytest.mark.django_db
def test_a_due_fire_survives_an_edit_of_the_end_that_still_covers_it() -> None:
    schedule = make_schedule()
    schedule.ends_at = TWO + DAY
    schedules.save_changes(schedule, expected_version=1, now=TWO + MINUTE)
    assert Schedule.objects.get(pk=schedule.pk).next_run_at == TWO
    assert fires_of(schedule) == []


@pytest.mark.django_db
def test_a_due_fire_before_a_new_start_is_a_recorded_skip() -> None:
    schedule = make_schedule()
    schedule.starts_at = TWO + DAY
    schedules.save_changes(schedule, expected_version=1, now=TWO + MINUTE)
    assert fires_of(schedule) == [(TWO, FireKind.MISFIRE, FireOutcome.SKIPPED_MISFIRE)]
    assert Schedule.objects.get(pk=schedule.pk).next_run_at == TWO + DAY


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("starts", "ends", "sentence"),
    [
        (None, TWO - A_MOMENT, "It ends before its next due time"),
        (TWO + 2 * DAY, TWO + DAY, "The schedule ends before it starts"),
        (TWO + A_MOMENT, TWO + HOUR, "It ends before its next due time"),
    ],
)
def test_a_schedule_that_would_never_fire_is_refused_at_its_end(
    starts: datetime | None, ends: datetime, sentence: str
) -> None:
    with pytest.raises(ValidationError) as refusal:
        schedules.create(name="one", job="test.noop", trigger=DAILY, now=NOW, starts_at=starts, ends_at=ends)
    assert sentence in refusal.value.message_dict["ends_at"][0]


@pytest.mark.django_db
def test_the_database_refuses_an_end_before_the_start() -> None:
    with pytest.raises(IntegrityError, match="schedule_ends_after_its_start"), transaction.atomic():
        make_schedule(starts_at=NOW, ends_at=NOW - A_MOMENT)
    make_schedule(starts_at=TWO, ends_at=TWO)
