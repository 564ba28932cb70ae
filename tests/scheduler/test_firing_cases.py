"""What others' schedulers got wrong when they were late, restarted or edited, and what is right."""

from datetime import datetime, timedelta

import pytest

from scheduler import operations, schedules
from scheduler.firing import fire_all_due
from scheduler.models import Fire, Schedule, TaskRun
from scheduler.states import FireKind, FireOutcome
from tests.scheduler.factories import (
    A_MOMENT,
    DAY,
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    fires_of,
    make_schedule,
    planned,
    utc,
)

pytestmark = pytest.mark.django_db


def scan(*instants: datetime) -> None:
    """Fire what is due at each of the instants, one after another."""
    for now in instants:
        fire_all_due(now=now)


def skips(schedule: Schedule) -> list[tuple[datetime | None, datetime | None, int | None]]:
    """Return the schedule's recorded skips, oldest first: first, last, count."""
    left_out = Fire.objects.filter(schedule=schedule, missed_count__isnull=False).order_by("fire_at")
    return list(left_out.values_list("missed_from", "missed_until", "missed_count"))


def next_run(schedule: Schedule) -> datetime | None:
    """Return when the schedule is next due."""
    schedule.refresh_from_db()
    return schedule.next_run_at


# --- away and back ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("grace", "made_up"), [(4 * 3600, True), (3600, False)])
def test_daily_at_two_with_the_scheduler_down_from_one_to_five(grace: int, made_up: bool) -> None:
    """B1: one make-up soon after five, or one recorded skip; not at midnight and at two once more."""
    two = utc("2026-06-02 02:00")
    schedule = make_schedule(due=two, misfire_grace_seconds=grace)
    scan(utc("2026-06-02 01:00"), utc("2026-06-02 05:00"), utc("2026-06-02 05:01"), utc("2026-06-03 00:00"))
    assert planned(schedule) == ([two] if made_up else [])
    assert skips(schedule) == ([] if made_up else [(two, two, 1)])
    assert next_run(schedule) == two + DAY


def test_weekly_on_sunday_after_two_weeks_away_starts_nothing_on_friday() -> None:
    """B2."""
    sunday = utc("2026-06-07 00:00")
    schedule = make_schedule(cron="0 0 * * 0", due=sunday)
    scan(utc("2026-06-19 10:00"))
    assert planned(schedule) == []
    assert skips(schedule) == [(sunday, sunday + 7 * DAY, 2)]
    assert next_run(schedule) == sunday + 14 * DAY


def test_both_fire_at_once_when_beat_was_away_over_the_instant() -> None:
    """B5: every minute and every ten minutes, away from 9:39:30 to 9:40:10; not nine minutes later."""
    nine_forty = utc("2026-06-02 09:40")
    often = make_schedule(cron="* * * * *", due=nine_forty)
    rare = make_schedule(cron="*/10 * * * *", due=nine_forty)
    scan(nine_forty - 30 * SECOND, nine_forty + 10 * SECOND)
    assert planned(often) == planned(rare) == [nine_forty]


def test_every_minute_after_a_hundred_and_one_minutes_away_goes_on() -> None:
    """B13: it works on, one make-up, the count of the skipped is kept."""
    schedule = make_schedule(cron="* * * * *", due=NOW)
    back = NOW + 101 * MINUTE + 20 * SECOND
    scan(back, back + MINUTE, back + 2 * MINUTE)
    assert planned(schedule) == [NOW + minutes * MINUTE for minutes in (101, 102, 103)]
    assert skips(schedule) == [(NOW, NOW + 100 * MINUTE, 101)]


def test_every_minute_that_was_paused_for_two_days_goes_on_with_one_skip() -> None:
    """B13, B20: paused time is no backlog: 0 made up, never thousands, never "stopped for good"."""
    schedule = make_schedule(cron="* * * * *", due=NOW)
    schedules.pause(schedule, now=NOW - SECOND, reason="holidays")
    scan(NOW, NOW + DAY)
    back = NOW + 2 * DAY + 20 * SECOND
    schedules.enable(schedule, now=back)
    scan(back, back + 40 * SECOND)
    assert planned(schedule) == [NOW + 2 * DAY + MINUTE]
    assert len(skips(schedule)) == 1


def test_every_minute_that_was_paused_for_four_minutes_makes_up_none() -> None:
    """B20."""
    schedule = make_schedule(cron="* * * * *", due=NOW)
    schedules.pause(schedule, now=NOW - SECOND, reason="")
    back = NOW + 3 * MINUTE + 30 * SECOND
    schedules.enable(schedule, now=back)
    scan(back)
    assert planned(schedule) == []
    assert skips(schedule) == [(NOW, NOW + 3 * MINUTE, 4)]


def test_hourly_enabled_at_ten_past_runs_at_the_next_full_hour_and_the_paused_hours_are_one_skip() -> None:
    """B4: also when the pause was written by a bulk update."""
    schedule = make_schedule(cron="0 * * * *", due=NOW)
    Schedule.objects.filter(pk=schedule.pk).update(enabled=False)
    scan(NOW, NOW + HOUR)
    schedules.enable(schedule, now=NOW + 2 * HOUR + 10 * MINUTE)
    scan(NOW + 2 * HOUR + 10 * MINUTE)
    assert planned(schedule) == []
    assert skips(schedule) == [(NOW, NOW + 2 * HOUR, 3)]
    assert next_run(schedule) == NOW + 3 * HOUR


def test_every_minute_after_three_hours_away_is_one_run_and_one_skip() -> None:
    """B14: no flood on waking."""
    schedule = make_schedule(cron="* * * * *", due=NOW)
    scan(*[NOW + 3 * HOUR + seconds * SECOND for seconds in range(30)])
    assert planned(schedule) == [NOW + 3 * HOUR]
    assert skips(schedule) == [(NOW, NOW + 3 * HOUR - MINUTE, 180)]


def test_a_first_yearly_fire_that_was_missed_is_made_up_at_start_and_the_next_is_next_year() -> None:
    """B16."""
    first = utc("2026-06-01 12:10")
    schedule = make_schedule(cron="10 12 1 6 *", now=NOW)
    scan(first + 25 * MINUTE)
    assert fires_of(schedule) == [(first, FireKind.MISFIRE, FireOutcome.STARTED)]
    assert next_run(schedule) == utc("2027-06-01 12:10")


def test_the_lateness_is_that_of_the_latest_instant_not_of_the_first_missed() -> None:
    """B17: `0,45`, last 08:45, now 10:20, grace 30 min: 10:00 is 20 min old and due."""
    schedule = make_schedule(cron="0,45 * * * *", due=utc("2026-06-02 09:00"), misfire_grace_seconds=1800)
    scan(utc("2026-06-02 10:20"))
    assert planned(schedule) == [utc("2026-06-02 10:00")]
    assert skips(schedule) == [(utc("2026-06-02 09:00"), utc("2026-06-02 09:45"), 2)]


def test_friday_evening_that_was_missed_over_the_weekend_is_not_run_on_monday() -> None:
    """B22."""
    friday = utc("2026-06-05 20:45")
    schedule = make_schedule(cron="45 20 * * 5", due=friday)
    scan(utc("2026-06-08 08:00"))
    assert planned(schedule) == []
    assert skips(schedule) == [(friday, friday, 1)]


def test_midnight_is_fired_by_a_scan_a_minute_and_a_half_late() -> None:
    """B25."""
    midnight = utc("2026-06-02 00:00")
    schedule = make_schedule(cron="0 0 * * *", due=midnight)
    scan(midnight + 90 * SECOND)
    assert planned(schedule) == [midnight]


# --- restarts and edits -------------------------------------------------------------------------------------------


def test_a_one_off_that_was_fired_is_fired_no_more_after_any_restart() -> None:
    """B7: what was fired stands in the row, there is nothing to flush."""
    schedule = make_schedule(once_at=NOW, due=NOW)
    scan(NOW, NOW + SECOND, NOW + HOUR, NOW + DAY)
    assert planned(schedule) == [NOW]


def test_a_weekly_interval_fires_at_creation_plus_a_week_however_often_it_is_scanned_or_edited() -> None:
    """B8."""
    weekly = make_schedule(interval_seconds=7 * 86_400, now=NOW)
    assert next_run(weekly) == NOW + 7 * DAY
    other = make_schedule()
    for day in range(1, 7):
        for edited in (weekly, other):
            edited.refresh_from_db()
            edited.description = f"edited on day {day}"
            schedules.save_changes(edited, expected_version=edited.version, now=NOW + day * DAY)
        scan(NOW + day * DAY)
    assert planned(weekly) == []
    scan(NOW + 7 * DAY)
    assert planned(weekly) == [NOW + 7 * DAY]


def test_two_one_offs_and_an_hourly_schedule_of_the_same_instant_fire_once_each() -> None:
    """B10."""
    together = [
        make_schedule(once_at=NOW, due=NOW),
        make_schedule(once_at=NOW, due=NOW),
        make_schedule(cron="0 * * * *", due=NOW),
    ]
    scan(NOW, NOW + SECOND, NOW + 2 * SECOND)
    assert [planned(schedule) for schedule in together] == [[NOW]] * 3


def test_what_was_fired_is_not_fired_again_when_another_schedule_is_edited() -> None:
    """B11."""
    fired, other = make_schedule(cron="3 18 * * *", due=utc("2026-06-01 18:03")), make_schedule()
    scan(utc("2026-06-01 18:03"))
    other.cron = "4 4 * * *"
    schedules.save_changes(other, expected_version=1, now=utc("2026-06-01 18:03:10"))
    scan(utc("2026-06-01 18:03:10"), utc("2026-06-01 18:04"))
    assert planned(fired) == [utc("2026-06-01 18:03")]


def test_runs_that_are_late_and_not_begun_survive_an_edit_of_their_schedule() -> None:
    """B23."""
    schedule = make_schedule(due=NOW)
    scan(NOW)
    schedule.refresh_from_db()
    schedule.cron = "0 5 * * *"
    schedules.save_changes(schedule, expected_version=1, now=NOW + HOUR)
    run = TaskRun.objects.get(schedule=schedule)
    assert (run.state, run.due_at, run.planned_at) == ("pending", NOW, NOW)


def test_a_manual_run_leaves_the_next_run_where_it_is() -> None:
    """B67: by hand at noon, planned at two: two runs, and the plan goes on as before."""
    schedule = make_schedule()
    due = next_run(schedule)
    operations.run_now(schedule, now=NOW, actor="ann")
    assert next_run(schedule) == due == utc("2026-06-02 02:00")
    scan(utc("2026-06-02 02:00"))
    assert planned(schedule) == [NOW, utc("2026-06-02 02:00")]


def test_a_manual_run_on_the_day_that_loses_an_hour_has_its_day_and_skips_no_plan() -> None:
    """B67: daily at two in New York, where that hour is left out."""
    schedule = make_schedule(cron="0 2 * * *", timezone="America/New_York", now=utc("2026-03-08 05:30"))
    run = operations.run_now(schedule, now=utc("2026-03-08 05:30"), actor="ann")
    assert str(run.stat_date) == "2026-03-08"
    scan(utc("2026-03-08 07:00"))
    assert planned(schedule)[1:] == [utc("2026-03-08 07:00")]
    assert next_run(schedule) == utc("2026-03-09 06:00")


# --- clocks -------------------------------------------------------------------------------------------------------


def test_a_clock_that_goes_back_an_hour_fires_nothing_twice_and_goes_on() -> None:
    """B79: every five seconds."""
    schedule = make_schedule(interval_seconds=5, anchor_at=NOW, due=NOW)
    scan(*[NOW + seconds * SECOND for seconds in range(0, 11)])
    scan(*[NOW - HOUR + seconds * SECOND for seconds in range(0, 11)])
    assert planned(schedule) == [NOW, NOW + 5 * SECOND, NOW + 10 * SECOND]
    scan(NOW + 15 * SECOND)
    assert planned(schedule)[3:] == [NOW + 15 * SECOND]


def test_a_clock_that_goes_forward_an_hour_and_back_skips_what_it_jumped_over_and_nothing_else() -> None:
    """B79, B80: one make-up, one recorded skip, and each instant has one of both at the most."""
    schedule = make_schedule(cron="*/10 * * * *", due=NOW)
    scan(NOW, NOW + 61 * MINUTE, NOW + 2 * MINUTE, NOW + 30 * MINUTE, NOW + 70 * MINUTE)
    assert planned(schedule) == [NOW, NOW + 60 * MINUTE, NOW + 70 * MINUTE]
    assert skips(schedule) == [(NOW + 10 * MINUTE, NOW + 50 * MINUTE, 5)]


@pytest.mark.parametrize("ahead", [A_MOMENT, SECOND, HOUR])
def test_only_the_given_now_decides_what_is_due(ahead: timedelta) -> None:
    """B80: a process whose own clock is ahead takes nothing early, because the database is asked what time it is."""
    schedule = make_schedule(due=NOW)
    scan(NOW - ahead)
    assert planned(schedule) == []
    assert next_run(schedule) == NOW


def test_hourly_over_the_change_of_the_clocks_fires_each_hour_of_real_time() -> None:
    """B65: London, 25 October: no hour of silence, none doubled."""
    start = utc("2026-10-24 23:00")
    schedule = make_schedule(cron="0 * * * *", timezone="Europe/London", due=start)
    scan(*[start + hours * HOUR for hours in range(5)])
    assert planned(schedule) == [start + hours * HOUR for hours in range(5)]


def test_an_appointment_in_the_repeated_hour_fires_the_first_time_only() -> None:
    """B58, B86: 01:30 in New York on 1 November."""
    first = utc("2026-11-01 05:30")
    schedule = make_schedule(cron="30 1 * * *", timezone="America/New_York", due=first)
    scan(*[first + quarters * 15 * MINUTE for quarters in range(8)])
    assert planned(schedule) == [first]
    assert next_run(schedule) == utc("2026-11-02 06:30")
