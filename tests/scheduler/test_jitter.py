"""Jitter: a run is due a little later than its instant, always by the same for the same fire."""

from datetime import timedelta

import pytest

from scheduler.firing import fire_all_due, jitter
from scheduler.models import Schedule, TaskRun
from tests.scheduler.factories import DAY, HOUR, MINUTE, NOW, fires_of, make_calendar, make_schedule, utc

pytestmark = pytest.mark.django_db

TWO = utc("2026-06-02 02:00")


def test_the_same_fire_has_always_the_same_jitter_and_others_have_others() -> None:
    first, second = Schedule(pk=1, jitter_seconds=600), Schedule(pk=2, jitter_seconds=600)
    assert jitter(first, TWO) == jitter(Schedule(pk=1, jitter_seconds=600), utc("2026-06-02T04:00+02:00"))
    assert len({jitter(first, TWO), jitter(second, TWO), jitter(first, TWO + DAY)}) == 3


@pytest.mark.parametrize("seconds", [1, 60, 3600])
def test_jitter_is_spread_from_nothing_to_just_below_its_seconds(seconds: int) -> None:
    delays = [jitter(Schedule(pk=pk, jitter_seconds=seconds), TWO) for pk in range(1, 2001)]
    longest = timedelta(seconds=seconds)
    assert timedelta(0) <= min(delays) < longest / 20
    assert longest * 19 / 20 < max(delays) < longest
    assert longest * 0.45 < sum(delays, timedelta(0)) / len(delays) < longest * 0.55


def test_no_jitter_is_no_delay() -> None:
    assert jitter(Schedule(pk=1, jitter_seconds=0), TWO) == timedelta(0)


def test_a_run_is_due_after_its_jitter_and_planned_and_recorded_without_it() -> None:
    schedule = make_schedule(jitter_seconds=600)
    fire_all_due(now=TWO)
    run = TaskRun.objects.get(schedule=schedule)
    assert (run.planned_at, run.due_at) == (TWO, TWO + jitter(schedule, TWO))
    assert [at for at, *_ in fires_of(schedule)] == [TWO]
    assert Schedule.objects.get(pk=schedule.pk).next_run_at == TWO + DAY


def test_a_run_that_is_made_up_after_its_jitter_has_passed_is_due_now() -> None:
    schedule = make_schedule(jitter_seconds=600)
    fire_all_due(now=TWO + HOUR)
    assert TaskRun.objects.get(schedule=schedule).due_at == TWO + HOUR


def test_a_run_that_is_moved_to_another_day_keeps_its_jitter_there() -> None:
    schedule = make_schedule(
        jitter_seconds=600, calendar=make_calendar("2026-06-02"), on_excluded=Schedule.OnExcluded.MOVE
    )
    fire_all_due(now=TWO)
    assert TaskRun.objects.get(schedule=schedule).due_at == TWO + DAY + jitter(schedule, TWO)


def test_jitter_never_moves_a_run_to_another_data_day() -> None:
    schedule = make_schedule(jitter_seconds=6 * 3600, cron="59 23 * * *")
    at = NOW + 11 * HOUR + 59 * MINUTE
    fire_all_due(now=at)
    run = TaskRun.objects.get(schedule=schedule)
    assert run.due_at == at + jitter(schedule, at)
    assert run.stat_date == at.date()
