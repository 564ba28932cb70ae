"""Schedules come, change, pause and go on: what is written, what is refused, and what is recorded."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from project.kit.versions import StaleVersion
from scheduler import cron, schedules
from scheduler.firing import fire_due
from scheduler.models import Fire, Schedule
from scheduler.schedules import EDITABLE_FIELDS, TRIGGER_FIELDS
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

DAILY = cron.cron("0 2 * * *", "UTC")
TWO = utc("2026-06-02 02:00")


def edit(schedule: Schedule, *, now: datetime = NOW, version: int | None = None, **changes: Any) -> list[str]:
    """Change a schedule as a form does: a fresh row, the changed fields, the version that was shown."""
    edited = Schedule.objects.get(pk=schedule.pk)
    for name, value in changes.items():
        setattr(edited, name, value)
    return schedules.save_changes(edited, expected_version=version or edited.version, now=now)


# --- create -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("before", "first"), [(A_MOMENT, TWO), (timedelta(0), TWO + DAY), (-A_MOMENT, TWO + DAY)])
def test_the_first_fire_is_the_next_instant_strictly_after_the_creation(before: timedelta, first: datetime) -> None:
    schedule = schedules.create(name="figures", job="test.noop", trigger=DAILY, now=TWO - before)
    assert schedule.next_run_at == first
    assert (schedule.version, schedule.created_at, schedule.updated_at) == (1, TWO - before, TWO - before)


@pytest.mark.parametrize(
    ("trigger", "zone"),
    [
        (cron.cron("0 2 * * *", "Asia/Shanghai"), "Asia/Shanghai"),
        (cron.interval(60, NOW), "UTC"),
        (cron.once(NOW + HOUR), "UTC"),
    ],
)
def test_each_kind_of_trigger_comes_back_from_the_row_as_it_was_given(trigger: cron.Trigger, zone: str) -> None:
    schedule = schedules.create(name="figures", job="test.noop", trigger=trigger, now=NOW)
    read = Schedule.objects.get(pk=schedule.pk)
    assert (read.as_trigger(), read.timezone) == (trigger, zone)


def test_an_interval_without_an_anchor_counts_from_the_moment_of_saving() -> None:
    schedule = Schedule(name="often", job="test.noop", trigger="interval", interval_seconds=600)
    schedules.save_new(schedule, now=NOW)
    assert (schedule.anchor_at, schedule.next_run_at) == (NOW, NOW + 10 * MINUTE)


@pytest.mark.parametrize(
    ("trigger", "overlap"),
    [
        (DAILY, "queue"),
        (cron.cron("0 0 * * 1", "UTC"), "queue"),
        (cron.cron("0 2,14 * * *", "UTC"), "skip"),
        (cron.cron("*/5 * * * *", "UTC"), "skip"),
        (cron.interval(86_400, NOW), "queue"),
        (cron.interval(86_399, NOW), "skip"),
        (cron.once(NOW + HOUR), "queue"),
    ],
)
def test_what_fires_at_most_daily_queues_and_what_fires_more_often_skips(trigger: cron.Trigger, overlap: str) -> None:
    assert schedules.create(name="figures", job="test.noop", trigger=trigger, now=NOW).overlap == overlap
    chosen = schedules.create(name="chosen", job="test.noop", trigger=trigger, now=NOW, overlap="allow")
    assert chosen.overlap == "allow"


# --- change -------------------------------------------------------------------------------------------------------


def test_a_whole_form_posted_back_changes_nothing() -> None:
    """B8: what counts is whether a value changed, not whether it was sent."""
    schedule = make_schedule(due=NOW - MINUTE, params={"a": [1, {"b": None}]}, retry_delays=[60])
    assert edit(schedule, **{name: getattr(schedule, name) for name in EDITABLE_FIELDS}) == []
    after = Schedule.objects.get(pk=schedule.pk)
    assert (after.version, after.updated_at, after.next_run_at) == (1, schedule.updated_at, NOW - MINUTE)


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "other"},
        {"description": "more"},
        {"params": {"a": 2}},
        {"misfire_grace_seconds": 1},
        {"overlap": "allow"},
        {"stat_date_offset": -1},
        {"on_interrupt": "suspend"},
        {"retry_delays": [1]},
        {"timeout_seconds": 9},
        {"priority": 3},
        {"on_excluded": "move"},
        {"jitter_seconds": 30},
        {"resume_limit": 2},
        {"resume_by_hand": True},
    ],
    ids=lambda changes: next(iter(changes)),
)
@pytest.mark.parametrize("due", [NOW - HOUR, NOW + HOUR])
def test_a_change_that_is_not_of_the_trigger_leaves_the_plan(changes: dict[str, Any], due: datetime) -> None:
    schedule = make_schedule(due=due)
    assert edit(schedule, **changes) == list(changes)
    after = Schedule.objects.get(pk=schedule.pk)
    assert (after.next_run_at, after.version, after.updated_at) == (due, 2, NOW)
    assert fires_of(schedule) == []


def test_every_editable_field_is_either_of_the_trigger_or_tested_to_leave_the_plan() -> None:
    left = {"name", "description", "params", "misfire_grace_seconds", "overlap", "stat_date_offset"}
    left |= {"on_interrupt", "retry_delays", "timeout_seconds", "priority", "job"}
    left |= {"calendar", "on_excluded", "jitter_seconds", "quiet_from", "quiet_until"}
    left |= {"quota", "quota_need", "resume_limit", "resume_by_hand"}
    assert left | set(TRIGGER_FIELDS) == set(EDITABLE_FIELDS)


@pytest.mark.parametrize(
    ("changes", "upcoming"),
    [
        ({"cron": "0 5 * * *"}, utc("2026-06-02 05:00")),
        ({"timezone": "Asia/Shanghai"}, utc("2026-06-01 18:00")),
        ({"trigger": "interval", "interval_seconds": 600}, NOW + 10 * MINUTE),
        ({"trigger": "once", "once_at": NOW + A_MOMENT}, NOW + A_MOMENT),
    ],
    ids=str,
)
def test_a_changed_trigger_counts_from_now(changes: dict[str, Any], upcoming: datetime) -> None:
    schedule = make_schedule()
    edit(schedule, **changes)
    assert Schedule.objects.get(pk=schedule.pk).next_run_at == upcoming
    assert fires_of(schedule) == []


def test_the_first_to_save_wins_and_the_second_is_told_and_shown_what_is_there_now() -> None:
    schedule = make_schedule(name="figures")
    edit(schedule, version=1, priority=1)
    with pytest.raises(StaleVersion, match="“figures” was changed by somebody else meanwhile") as stale:
        edit(schedule, version=1, priority=2)
    assert (stale.value.current.priority, stale.value.current.version) == (1, 2)
    assert Schedule.objects.get(pk=schedule.pk).priority == 1


def test_a_fire_between_reading_and_saving_is_no_conflict_and_its_plan_stays() -> None:
    schedule = make_schedule()
    edited = Schedule.objects.get(pk=schedule.pk)
    fire_due(now=TWO)
    edited.priority = 5
    assert schedules.save_changes(edited, expected_version=1, now=TWO + SECOND) == ["priority"]
    assert Schedule.objects.get(pk=schedule.pk).next_run_at == TWO + DAY


# --- change while due ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("late", [timedelta(0), A_MOMENT, 30 * SECOND, 20 * MINUTE], ids=str)
def test_a_fire_that_is_due_and_that_the_new_trigger_covers_is_still_made(late: timedelta) -> None:
    """B19."""
    schedule = make_schedule(due=TWO)
    edit(schedule, now=TWO + late, cron="0 2,14 * * *")
    fire_due(now=TWO + late)
    assert planned(schedule) == [TWO]
    assert Schedule.objects.get(pk=schedule.pk).next_run_at == TWO + 12 * HOUR


@pytest.mark.parametrize("late", [timedelta(0), A_MOMENT, 30 * SECOND, 20 * MINUTE], ids=str)
def test_a_fire_that_is_due_and_that_the_new_trigger_does_not_cover_is_one_recorded_skip(late: timedelta) -> None:
    """B19: one decision about each due instant, and it is recorded."""
    schedule = make_schedule(due=TWO)
    edit(schedule, now=TWO + late, cron="0 11 * * *")
    fire_due(now=TWO + late)
    assert fires_of(schedule) == [(TWO, FireKind.MISFIRE, FireOutcome.SKIPPED_MISFIRE)]
    assert Fire.objects.get().reason == (
        "The schedule was changed before it fired: 1 due time (2026-06-02 02:00:00 UTC) left out."
    )
    assert Schedule.objects.get(pk=schedule.pk).next_run_at == TWO + 9 * HOUR


def test_a_fire_that_is_not_due_yet_follows_the_new_trigger_without_a_word() -> None:
    """B19: due at 10:00, edited to 11:00 two seconds before."""
    schedule = make_schedule(cron="0 10 * * *", due=utc("2026-06-02 10:00"))
    edit(schedule, now=utc("2026-06-02 09:59:58"), cron="0 11 * * *")
    fire_due(now=utc("2026-06-02 10:00"))
    assert fires_of(schedule) == []
    fire_due(now=utc("2026-06-02 11:00"))
    assert planned(schedule) == [utc("2026-06-02 11:00")]


def test_all_that_was_due_under_the_old_trigger_is_in_the_skip() -> None:
    schedule = make_schedule(cron="*/10 * * * *", due=NOW)
    edit(schedule, now=NOW + 25 * MINUTE, cron="5 * * * *")
    skip = Fire.objects.get(schedule=schedule)
    assert (skip.missed_from, skip.missed_until, skip.missed_count) == (NOW, NOW + 20 * MINUTE, 3)


@pytest.mark.parametrize("broken", [{"cron": "nonsense"}, {"timezone": "Mars/Olympus"}], ids=str)
def test_what_was_due_when_the_trigger_was_broken_in_the_database_is_recorded_too(broken: dict[str, str]) -> None:
    schedule = make_schedule(due=TWO)
    Schedule.objects.filter(pk=schedule.pk).update(**broken)
    edit(schedule, now=TWO + MINUTE, cron="0 11 * * *", timezone="UTC")
    assert fires_of(schedule) == [(TWO, FireKind.MISFIRE, FireOutcome.SKIPPED_MISFIRE)]


def test_correcting_a_broken_trigger_schedules_it_again() -> None:
    schedule = make_schedule()
    Schedule.objects.filter(pk=schedule.pk).update(timezone="Mars/Olympus")
    fire_due(now=TWO)
    edit(schedule, now=TWO + HOUR, timezone="UTC")
    after = Schedule.objects.get(pk=schedule.pk)
    assert (after.broken_reason, after.next_run_at) == ("", TWO + DAY)
