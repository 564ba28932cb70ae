"""Due schedules become fires and runs: when, which instants, and what keeps one from opening a run."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from alerts import noticing
from scheduler.firing import Fired, fire_all_due, fire_due
from scheduler.models import Schedule, TaskRun
from scheduler.states import FireKind, FireOutcome, RunState
from tests.races.helpers import run_before
from tests.scheduler.factories import (
    A_MOMENT,
    DAY,
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    fires_of,
    make_run,
    make_schedule,
    planned,
    the_run,
    the_skip,
    utc,
)

pytestmark = pytest.mark.django_db

TWO = utc("2026-06-02 02:00")  # when the factory's schedule is next due
STARTED, SKIPPED = FireOutcome.STARTED, FireOutcome.SKIPPED_MISFIRE
ON_TIME, MADE_UP = FireKind.SCHEDULED, FireKind.MISFIRE


# --- on time, late, too late --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lateness", "kind", "outcome"),
    [
        (timedelta(0), ON_TIME, STARTED),
        (60 * SECOND - A_MOMENT, ON_TIME, STARTED),
        (60 * SECOND, ON_TIME, STARTED),
        (60 * SECOND + A_MOMENT, MADE_UP, STARTED),
        (HOUR - A_MOMENT, MADE_UP, STARTED),
        (HOUR, MADE_UP, STARTED),
        (HOUR + A_MOMENT, MADE_UP, SKIPPED),
    ],
)
def test_late_by_a_minute_is_on_time_within_the_grace_made_up_and_beyond_it_skipped(
    lateness: timedelta, kind: FireKind, outcome: FireOutcome
) -> None:
    """B25: a planner that ticks a minute and a half late still fires."""
    schedule = make_schedule(misfire_grace_seconds=3600)
    fire_due(now=TWO + lateness)
    assert fires_of(schedule) == [(TWO, kind, outcome)]
    assert planned(schedule) == ([TWO] if outcome == STARTED else [])


@pytest.mark.parametrize(("lateness", "outcome"), [(60 * SECOND, STARTED), (60 * SECOND + A_MOMENT, SKIPPED)])
def test_without_a_grace_what_is_on_time_still_fires(lateness: timedelta, outcome: FireOutcome) -> None:
    schedule = make_schedule(misfire_grace_seconds=0)
    fire_due(now=TWO + lateness)
    assert [fire[2] for fire in fires_of(schedule)] == [outcome]


@pytest.mark.parametrize(("early", "claimed"), [(A_MOMENT, 0), (timedelta(0), 1)])
def test_nothing_fires_before_its_instant(early: timedelta, claimed: int) -> None:
    make_schedule()
    assert fire_due(now=TWO - early)[0] == claimed


def test_a_paused_schedule_does_not_fire() -> None:
    schedule = make_schedule(enabled=False)
    assert fire_due(now=TWO) == (0, Fired())
    assert fires_of(schedule) == []


def test_of_what_was_missed_only_the_latest_is_made_up_and_the_older_are_one_skip() -> None:
    schedule = make_schedule(cron="*/10 * * * *", due=NOW)
    fire_due(now=NOW + timedelta(minutes=44))
    assert fires_of(schedule) == [(NOW, MADE_UP, SKIPPED), (NOW + 40 * MINUTE, MADE_UP, STARTED)]
    skip = the_skip(schedule)
    assert (skip.missed_from, skip.missed_until, skip.missed_count) == (NOW, NOW + 30 * MINUTE, 4)
    assert skip.reason == (
        "Nobody scanned: 4 due times (2026-06-01 12:00:00 UTC to 2026-06-01 12:30:00 UTC) missed."
        " Only the latest is made up."
    )
    assert the_run(schedule).reason == "Made up 4 min late."


def test_when_the_latest_is_on_time_the_older_are_still_one_skip() -> None:
    schedule = make_schedule(cron="*/10 * * * *", due=NOW)
    fire_due(now=NOW + 20 * MINUTE + 30 * SECOND)
    assert fires_of(schedule) == [(NOW, MADE_UP, SKIPPED), (NOW + 20 * MINUTE, ON_TIME, STARTED)]
    assert the_run(schedule).reason == ""


def test_beyond_the_grace_all_that_was_missed_is_one_skip() -> None:
    schedule = make_schedule(cron="0 */4 * * *", timezone="Asia/Shanghai", due=NOW, misfire_grace_seconds=600)
    fire_due(now=NOW + 9 * HOUR)
    skip = the_skip(schedule)
    assert (skip.missed_from, skip.missed_until, skip.missed_count) == (NOW, NOW + 8 * HOUR, 3)
    assert skip.reason == (
        "Nobody scanned: 3 due times (2026-06-01 20:00:00 Asia/Shanghai to 2026-06-02 04:00:00 Asia/Shanghai)"
        " missed, beyond the misfire grace of 10 min."
    )
    assert planned(schedule) == []


def test_a_backlog_too_long_to_count_is_one_skip_that_says_so() -> None:
    schedule = make_schedule(cron="* * * * *", due=NOW)
    fire_due(now=NOW + 7 * DAY)
    skip = the_skip(schedule)
    assert (skip.missed_from, skip.missed_until) == (NOW, NOW + 7 * DAY - MINUTE)
    assert skip.missed_count == 1000
    assert "more than 1000 due times" in skip.reason
    assert planned(schedule) == [NOW + 7 * DAY]


# --- the next run -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now", "upcoming"),
    [
        (NOW, NOW + MINUTE),
        (NOW + MINUTE - A_MOMENT, NOW + MINUTE),
        (NOW + MINUTE, NOW + 2 * MINUTE),
        (NOW + MINUTE + A_MOMENT, NOW + 2 * MINUTE),
        (NOW + 3 * DAY, NOW + 3 * DAY + MINUTE),
    ],
)
def test_the_next_run_is_the_first_instant_strictly_after_now(now: datetime, upcoming: datetime) -> None:
    schedule = make_schedule(cron="* * * * *", due=NOW)
    fire_due(now=now)
    schedule.refresh_from_db()
    assert schedule.next_run_at == upcoming


def test_firing_changes_neither_the_version_nor_the_time_of_the_last_change() -> None:
    schedule = make_schedule()
    fire_due(now=TWO)
    after = Schedule.objects.get(pk=schedule.pk)
    assert (after.version, after.updated_at) == (schedule.version, schedule.updated_at)
    assert after.next_run_at == TWO + DAY


def test_an_interval_does_not_drift_however_late_it_fires() -> None:
    schedule = make_schedule(interval_seconds=90, anchor_at=NOW, due=NOW)
    for lateness in (0, 59, 100, 700):
        fire_due(now=NOW + timedelta(seconds=lateness))
    assert planned(schedule) == [NOW, NOW + 90 * SECOND, NOW + 630 * SECOND]
    schedule.refresh_from_db()
    assert schedule.next_run_at == NOW + 720 * SECOND


def test_a_schedule_that_runs_once_fires_and_has_no_next_run() -> None:
    schedule = make_schedule(once_at=TWO)
    fire_due(now=TWO)
    fire_due(now=TWO + MINUTE)
    schedule.refresh_from_db()
    assert planned(schedule) == [TWO]
    assert schedule.next_run_at is None
    assert schedule.enabled


def test_a_schedule_that_runs_once_and_was_missed_beyond_the_grace_is_one_skip() -> None:
    schedule = make_schedule(once_at=TWO)
    fire_due(now=TWO + 2 * HOUR)
    schedule.refresh_from_db()
    assert fires_of(schedule) == [(TWO, MADE_UP, SKIPPED)]
    assert the_skip(schedule).missed_count == 1
    assert schedule.next_run_at is None


def test_the_next_run_moves_only_from_the_claimed_instant_and_what_has_not_moved_does_not_fire() -> None:
    schedule = make_schedule()
    elsewhere = TWO + 5 * DAY

    def set_by_hand() -> None:
        Schedule.objects.filter(pk=schedule.pk).update(next_run_at=elsewhere)

    with run_before("scheduler.firing._move_on", set_by_hand, elsewhere=False):
        fire_due(now=TWO)
    schedule.refresh_from_db()
    assert (schedule.next_run_at, fires_of(schedule)) == (elsewhere, [])


# --- the second guard: an instant fires once, whatever the plan says -----------------------------------------------


@pytest.mark.parametrize("late", [timedelta(0), 60 * SECOND, 5 * MINUTE, 59 * MINUTE, 2 * HOUR], ids=str)
@pytest.mark.parametrize("late_again", [timedelta(0), 60 * SECOND, 5 * MINUTE, 59 * MINUTE, 2 * HOUR], ids=str)
@pytest.mark.parametrize("fields", [{}, {"once_at": TWO}, {"interval_seconds": 86_400, "anchor_at": TWO}], ids=str)
def test_an_instant_that_the_plan_comes_back_to_is_neither_fired_nor_skipped_again(
    fields: dict[str, Any], late: timedelta, late_again: timedelta
) -> None:
    """B32: the loser of the unique race leaves no task row, and says nothing of one."""
    schedule = make_schedule(due=TWO, **fields)
    fire_due(now=TWO + late)
    fires, runs = fires_of(schedule), planned(schedule)
    assert len(fires) == 1

    Schedule.objects.filter(pk=schedule.pk).update(next_run_at=TWO)
    assert fire_due(now=TWO + late_again) == (1, Fired())
    assert (fires_of(schedule), planned(schedule)) == (fires, runs)


def test_a_plan_that_was_set_back_over_many_instants_doubles_none_of_them() -> None:
    schedule = make_schedule(cron="*/10 * * * *", due=NOW)
    for minutes in (0, 10, 20):
        fire_due(now=NOW + timedelta(minutes=minutes))
    Schedule.objects.filter(pk=schedule.pk).update(next_run_at=NOW)
    fire_due(now=NOW + 25 * MINUTE)
    assert planned(schedule) == [NOW, NOW + 10 * MINUTE, NOW + 20 * MINUTE]
    assert TaskRun.objects.filter(fire=None).count() == 0


# --- what cannot be read ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"cron": "61 2 * * *"}, "minute field"),
        ({"cron": "nonsense"}, "1 field instead of five"),
        ({"timezone": "Mars/Olympus"}, "Mars/Olympus"),
        ({"trigger": "interval", "interval_seconds": 2_000_000_000, "anchor_at": NOW}, "interval"),
    ],
)
def test_a_trigger_that_was_broken_later_is_unscheduled_says_so_and_stops_no_other(
    fields: dict[str, Any], said: str
) -> None:
    """B64, B71: one schedule that cannot be read never ends the loop of the others."""
    broken, sound = make_schedule(), make_schedule()
    Schedule.objects.filter(pk=broken.pk).update(**fields)
    assert fire_due(now=TWO) == (2, Fired(started=1, broken=1))

    broken.refresh_from_db()
    assert broken.next_run_at is None
    assert said in broken.broken_reason
    assert fires_of(broken) == [(TWO, ON_TIME, FireOutcome.FAILED_TO_START)]
    assert broken.broken_reason in the_skip(broken).reason
    assert planned(sound) == [TWO]
    assert fire_due(now=TWO + HOUR) == (0, Fired())


# --- many at once -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 2, 3, 5, 6, 100])
def test_all_that_is_due_fires_batch_after_batch(batch: int) -> None:
    schedules = [make_schedule() for _ in range(5)]
    assert fire_all_due(now=TWO, batch=batch) == Fired(started=5)
    assert all(planned(schedule) == [TWO] for schedule in schedules)


def test_what_is_longest_due_is_claimed_first() -> None:
    later, earlier = make_schedule(due=TWO), make_schedule(cron="0 1 * * *", due=TWO - HOUR)
    fire_due(now=TWO, limit=1)
    assert (planned(earlier), planned(later)) == ([TWO - HOUR], [])


def test_a_batch_asks_the_database_as_often_for_many_schedules_as_for_a_few(
    django_assert_max_num_queries: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Who wants notices is asked every five seconds, whatever fires: here once, in the first scan.
    monkeypatch.setattr(noticing, "subscriptions", noticing.Subscriptions(clock=lambda: 0.0))

    def schedules(count: int) -> None:
        for number in range(count):
            make_run(RunState.DONE, now=TWO, schedule=make_schedule(overlap=["skip", "queue", "allow"][number % 3]))

    schedules(3)
    with django_assert_max_num_queries(100) as few:
        fire_due(now=TWO)
    schedules(30)
    with django_assert_max_num_queries(len(few)):
        fire_due(now=TWO)


def test_a_scan_with_nothing_due_looks_at_no_schedule() -> None:
    for _ in range(20):
        make_schedule()
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        query = Schedule.objects.filter(enabled=True, next_run_at__lte=NOW).order_by("next_run_at", "id")
        assert "schedule_is_due" in query.explain()
