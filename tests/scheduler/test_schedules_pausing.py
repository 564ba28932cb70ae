"""A schedule that is paused and enabled again: no backlog, and a record of what was left out."""

from datetime import datetime
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from scheduler import schedules
from scheduler.models import Fire, Schedule
from scheduler.states import FireKind, FireOutcome
from tests.scheduler.factories import A_MOMENT, DAY, HOUR, NOW, fires_of, make_schedule, utc

pytestmark = pytest.mark.django_db

TWO = utc("2026-06-02 02:00")


def test_a_pause_says_why_and_counts_as_a_change() -> None:
    schedule = make_schedule()
    assert schedules.pause(schedule, now=NOW, reason="moving house", actor="ada")
    after = Schedule.objects.get(pk=schedule.pk)
    assert (after.enabled, after.pause_reason, after.version, after.updated_at) == (False, "moving house", 2, NOW)
    assert not schedules.pause(schedule, now=NOW, reason="again", actor="bob")
    after = Schedule.objects.get(pk=schedule.pk)
    assert (after.pause_reason, after.paused_by) == ("moving house", "ada")


def test_enabling_what_is_enabled_changes_nothing() -> None:
    schedule = make_schedule(due=NOW - HOUR)
    assert not schedules.enable(schedule, now=NOW)
    assert Schedule.objects.get(pk=schedule.pk).next_run_at == NOW - HOUR


@pytest.mark.parametrize(
    ("enabled_at", "left_out", "upcoming"),
    [
        (TWO - A_MOMENT, [], TWO),
        (TWO, [(TWO, TWO, 1)], TWO + DAY),
        (TWO + A_MOMENT, [(TWO, TWO, 1)], TWO + DAY),
        (TWO + 2 * DAY - A_MOMENT, [(TWO, TWO + DAY, 2)], TWO + 2 * DAY),
        (TWO + 2 * DAY, [(TWO, TWO + 2 * DAY, 3)], TWO + 3 * DAY),
    ],
)
def test_enabling_starts_from_now_and_records_what_fell_due_meanwhile_as_one_skip(
    enabled_at: datetime, left_out: list[Any], upcoming: datetime
) -> None:
    """B4, B20: no instant is lost between the skip and the next run, not even that of the very moment."""
    schedule = make_schedule()
    schedules.pause(schedule, now=NOW, reason="moving house", actor="ada")
    assert schedules.enable(schedule, now=enabled_at)
    after = Schedule.objects.get(pk=schedule.pk)
    assert after.paused_by == ""
    assert (after.enabled, after.pause_reason, after.version, after.next_run_at) == (True, "", 3, upcoming)
    recorded = Fire.objects.filter(schedule=schedule, outcome=FireOutcome.SKIPPED_PAUSED)
    assert list(recorded.values_list("missed_from", "missed_until", "missed_count")) == left_out
    assert all("The schedule was paused (moving house): " in fire.reason for fire in recorded)


def test_an_edit_during_a_pause_keeps_the_record_of_what_the_pause_left_out() -> None:
    schedule = make_schedule()
    schedules.pause(schedule, now=NOW, reason="")
    edited = Schedule.objects.get(pk=schedule.pk)
    edited.cron = "0 4 * * *"
    schedules.save_changes(edited, expected_version=2, now=TWO + HOUR)
    schedules.enable(schedule, now=TWO + DAY)
    assert fires_of(schedule) == [
        (TWO, FireKind.MISFIRE, FireOutcome.SKIPPED_PAUSED),
        (TWO + 2 * HOUR, FireKind.MISFIRE, FireOutcome.SKIPPED_PAUSED),
    ]


def test_a_schedule_that_was_to_run_once_during_the_pause_is_recorded_and_over() -> None:
    schedule = make_schedule(once_at=TWO)
    schedules.pause(schedule, now=NOW, reason="")
    schedules.enable(schedule, now=TWO + HOUR)
    assert fires_of(schedule) == [(TWO, FireKind.MISFIRE, FireOutcome.SKIPPED_PAUSED)]
    assert Schedule.objects.get(pk=schedule.pk).next_run_at is None


def test_what_cannot_be_read_any_more_is_not_enabled() -> None:
    schedule = make_schedule(enabled=False)
    Schedule.objects.filter(pk=schedule.pk).update(timezone="Mars/Olympus")
    with pytest.raises(ValidationError) as refusal:
        schedules.enable(schedule, now=NOW)
    assert "Mars/Olympus" in refusal.value.message_dict["timezone"][0]
    assert not Schedule.objects.get(pk=schedule.pk).enabled
