"""Excluded dates: a fire on one is skipped or moved, and says so."""

from datetime import date
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError

from scheduler import calendars, schedules
from scheduler.firing import Fired, fire_all_due
from scheduler.models import CalendarDay, Fire, Schedule, TaskRun
from scheduler.states import FireKind, FireOutcome, RunState
from tests.scheduler.factories import DAY, HOUR, NOW, fires_of, make_calendar, make_run, make_schedule, utc

pytestmark = pytest.mark.django_db

TWO = utc("2026-06-02 02:00")  # when the factory's schedule is next due
STARTED, EXCLUDED = FireOutcome.STARTED, FireOutcome.SKIPPED_EXCLUDED
ON_TIME = FireKind.SCHEDULED
SKIP, MOVE = Schedule.OnExcluded.SKIP, Schedule.OnExcluded.MOVE


def the_run(schedule: Schedule) -> TaskRun:
    """Return the schedule's only run."""
    return TaskRun.objects.get(schedule=schedule)


# --- which dates --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("excluded", "outcome"), [("2026-06-01", STARTED), ("2026-06-02", EXCLUDED), ("2026-06-03", STARTED)]
)
def test_only_a_fire_on_the_excluded_date_itself_is_skipped(excluded: str, outcome: FireOutcome) -> None:
    schedule = make_schedule(calendar=make_calendar(excluded))
    fire_all_due(now=TWO)
    assert fires_of(schedule) == [(TWO, ON_TIME, outcome)]
    assert TaskRun.objects.filter(schedule=schedule).exists() == (outcome == STARTED)


@pytest.mark.parametrize(
    ("zone", "excluded", "outcome"),
    [
        ("Pacific/Pago_Pago", "2026-06-01", EXCLUDED),  # 02:00 UTC is 15:00 the day before
        ("Pacific/Pago_Pago", "2026-06-02", STARTED),
        ("UTC", "2026-06-02", EXCLUDED),
        ("Pacific/Kiritimati", "2026-06-02", EXCLUDED),  # 16:00
        ("Pacific/Kiritimati", "2026-06-03", STARTED),
    ],
)
def test_an_excluded_date_is_one_of_the_schedules_own_zone(zone: str, excluded: str, outcome: FireOutcome) -> None:
    schedule = make_schedule(calendar=make_calendar(excluded), timezone=zone, interval_seconds=86400, due=TWO)
    fire_all_due(now=TWO)
    assert fires_of(schedule)[0][2] == outcome


def test_the_planned_date_counts_and_not_the_data_day() -> None:
    schedule = make_schedule(calendar=make_calendar("2026-06-02"), stat_date_offset=-1)
    fire_all_due(now=TWO)
    assert fires_of(schedule) == [(TWO, ON_TIME, EXCLUDED)]


def test_a_calendar_is_shared_and_touches_nobody_elses_schedules() -> None:
    calendar = make_calendar("2026-06-02")
    own = [make_schedule(calendar=calendar), make_schedule(calendar=calendar)]
    others = [make_schedule(), make_schedule(calendar=make_calendar("2026-06-03"))]
    assert fire_all_due(now=TWO) == Fired(started=2, skipped=2)
    assert [fires_of(schedule)[0][2] for schedule in own + others] == [EXCLUDED, EXCLUDED, STARTED, STARTED]


# --- skip ---------------------------------------------------------------------------------------------------------


def test_a_skipped_date_says_which_and_whose_and_why() -> None:
    schedule = make_schedule(calendar=make_calendar("2026-06-02", titles="Republic Day"))
    fire_all_due(now=TWO)
    reason = Fire.objects.get(schedule=schedule).reason
    assert reason == f"2026-06-02 is excluded by the calendar “{schedule.calendar}” (Republic Day)."


def test_a_skipped_schedule_goes_on_with_its_next_instant() -> None:
    schedule = make_schedule(calendar=make_calendar("2026-06-02"))
    for day in range(3):
        fire_all_due(now=TWO + day * DAY)
    assert [outcome for *_, outcome in fires_of(schedule)] == [EXCLUDED, STARTED, STARTED]


def test_a_missed_instant_of_an_excluded_date_is_not_made_up() -> None:
    schedule = make_schedule(calendar=make_calendar("2026-06-02"))
    fire_all_due(now=TWO + HOUR)
    assert fires_of(schedule) == [(TWO, FireKind.MISFIRE, EXCLUDED)]


def test_an_excluded_date_is_named_before_what_else_keeps_a_fire_from_its_run() -> None:
    schedule = make_schedule(calendar=make_calendar("2026-06-02"), overlap=Schedule.Overlap.SKIP)
    make_run(RunState.RUNNING, schedule=schedule)
    make_run(RunState.DONE, schedule=schedule, now=TWO)
    fire_all_due(now=TWO)
    assert fires_of(schedule) == [(TWO, ON_TIME, EXCLUDED)]


# --- move ---------------------------------------------------------------------------------------------------------


def test_a_moved_run_is_due_at_its_local_time_on_the_next_allowed_day_under_its_own_data_day() -> None:
    excluded = make_calendar("2026-06-02", "2026-06-03", "2026-06-05", titles="Bridge")
    schedule = make_schedule(calendar=excluded, on_excluded=MOVE)
    fire_all_due(now=TWO)
    run = the_run(schedule)
    assert fires_of(schedule) == [(TWO, ON_TIME, STARTED)]
    assert (run.due_at, run.planned_at, run.stat_date) == (utc("2026-06-04 02:00"), TWO, date(2026, 6, 2))
    assert (
        run.reason == f"2026-06-02 is excluded by the calendar “{excluded}” (Bridge). Moved to 2026-06-04 02:00:00 UTC."
    )


def test_days_that_are_moved_to_the_same_day_keep_a_run_each() -> None:
    schedule = make_schedule(calendar=make_calendar("2026-06-02", "2026-06-03"), on_excluded=MOVE)
    for day in range(3):
        fire_all_due(now=TWO + day * DAY)
    runs = TaskRun.objects.filter(schedule=schedule).order_by("id")
    assert [run.stat_date.day for run in runs] == [2, 3, 4]
    assert {run.due_at for run in runs} == {utc("2026-06-04 02:00")}


def test_a_moved_run_keeps_the_clock_over_a_change_of_the_clocks() -> None:
    """It is 04:30 in Berlin on both days; 02:30 is left out on the second, so there it is the end of the gap."""
    for at, moved in [("30 4", "2026-03-29 02:30"), ("30 2", "2026-03-29 01:00")]:
        schedule = make_schedule(
            now=utc("2026-03-28 00:00"),
            cron=f"{at} * * *",
            timezone="Europe/Berlin",
            calendar=make_calendar("2026-03-28"),
            on_excluded=MOVE,
        )
        fire_all_due(now=schedule.next_run_at)  # type: ignore[arg-type]
        assert the_run(schedule).due_at == utc(moved)


def test_a_moved_run_that_is_late_already_is_due_now() -> None:
    schedule = make_schedule(calendar=make_calendar("2026-06-02"), on_excluded=MOVE, misfire_grace_seconds=2 * 86400)
    fire_all_due(now=TWO + DAY - HOUR)
    assert the_run(schedule).due_at == TWO + DAY
    late = make_schedule(calendar=make_calendar("2026-06-02"), on_excluded=MOVE, due=TWO, cron="0 2 2 6 *")
    late.misfire_grace_seconds = 3 * 86400
    late.save()
    fire_all_due(now=TWO + DAY + HOUR)
    assert the_run(late).due_at == TWO + DAY + HOUR


def test_a_calendar_without_an_allowed_day_skips_also_what_is_to_be_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calendars, "HORIZON_DAYS", 3)
    full = make_calendar("2026-06-02", "2026-06-03", "2026-06-04")
    schedule = make_schedule(calendar=full, on_excluded=MOVE)
    fire_all_due(now=TWO)
    assert fires_of(schedule) == [(TWO, ON_TIME, EXCLUDED)]
    CalendarDay.objects.get(calendar=full, date="2026-06-04").delete()
    other = make_schedule(calendar=full, on_excluded=MOVE)
    fire_all_due(now=TWO)
    assert the_run(other).due_at == utc("2026-06-04 02:00")


# --- the rows -----------------------------------------------------------------------------------------------------


def test_a_batch_reads_all_calendars_in_one_query_and_none_where_there_is_none(
    django_assert_num_queries: Any,
) -> None:
    for _ in range(3):
        make_schedule(calendar=make_calendar("2026-06-02"))
    rows = list(Schedule.objects.all())
    with django_assert_num_queries(1):
        assert calendars.read_excluded_days(rows, TWO.date()).title(rows[0], date(2026, 6, 2)) == ""
    with django_assert_num_queries(0):
        calendars.read_excluded_days([Schedule(name="free")], TWO.date())


def test_a_date_stands_in_a_calendar_once() -> None:
    calendar = make_calendar("2026-06-02")
    with pytest.raises(IntegrityError, match="calendar_day_once"), transaction.atomic():
        CalendarDay.objects.create(calendar=calendar, date="2026-06-02")


def test_a_calendar_that_a_schedule_uses_cannot_be_deleted() -> None:
    calendar = make_calendar("2026-06-02")
    schedule = make_schedule(calendar=calendar)
    with pytest.raises(ProtectedError):
        calendar.delete()
    schedule.delete()
    calendar.delete()
    assert not CalendarDay.objects.exists()


def test_a_changed_calendar_of_a_schedule_leaves_its_next_run_where_it_is() -> None:
    schedule = make_schedule()
    schedule.calendar, schedule.on_excluded = make_calendar("2026-06-02"), MOVE
    changed = schedules.save_changes(schedule, expected_version=1, now=NOW)
    assert changed == ["calendar", "on_excluded"]
    assert Schedule.objects.get(pk=schedule.pk).next_run_at == TWO
