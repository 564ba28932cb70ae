"""The one door through which runs come into being."""

from datetime import date
from typing import Any

import pytest
from django.db import DataError

from scheduler import opening
from scheduler.models import RunEvent, Schedule, TaskRun
from scheduler.opening import Opening, for_schedule, open_runs
from scheduler.states import EventTrigger, RunState
from tests.scheduler.factories import DAY, HOUR, NOW, events_of, make_run, make_schedule, utc

pytestmark = pytest.mark.django_db


def an_opening(**fields: Any) -> Opening:
    """Return an opening of the job that does nothing."""
    values: dict[str, Any] = {
        "name": "figures",
        "job": "test.noop",
        "stat_date": date(2026, 5, 31),
        "planned_at": NOW - DAY,
        "due_at": NOW,
    }
    return Opening(**values | fields)


def test_a_run_is_opened_pending_with_its_event() -> None:
    (run,) = open_runs([an_opening(reason="why not")], now=NOW, trigger=EventTrigger.MANUAL, actor="ann")
    run.refresh_from_db()
    assert (run.state, run.due_at, run.created_at, run.reason) == (RunState.PENDING, NOW, NOW, "why not")
    assert (run.attempt_count, run.failure_count, run.interruption_count, run.lease_token) == (0, 0, 0, 0)
    assert (run.progress, run.started_at, run.finished_at, run.exclusive_key) == ({}, None, None, None)
    event = RunEvent.objects.get(run=run)
    assert (event.at, event.actor, event.reason, event.attempt) == (NOW, "ann", "why not", None)
    assert events_of(run) == [("", "pending", "manual")]


def test_runs_come_back_in_the_order_in_which_they_were_given() -> None:
    names = [f"run {number}" for number in range(9, 0, -1)]
    runs = open_runs([an_opening(name=name) for name in names], now=NOW, trigger=EventTrigger.SCHEDULE)
    assert [run.name for run in runs] == names
    assert sorted(run.pk for run in runs) == [run.pk for run in runs]


def test_many_runs_are_opened_in_as_many_statements_as_one(django_assert_max_num_queries: Any) -> None:
    with django_assert_max_num_queries(50) as one:
        open_runs([an_opening()], now=NOW, trigger=EventTrigger.SCHEDULE)
    with django_assert_max_num_queries(len(one)):
        open_runs([an_opening() for _ in range(50)], now=NOW, trigger=EventTrigger.SCHEDULE)
    assert RunEvent.objects.count() == TaskRun.objects.count() == 51


def test_nothing_to_open_opens_nothing() -> None:
    assert open_runs([], now=NOW, trigger=EventTrigger.SCHEDULE) == []


@pytest.mark.django_db(transaction=True)
def test_a_run_without_its_event_is_not_opened() -> None:
    unknown_event = "surprise" * 10  # longer than the column
    with pytest.raises(DataError):
        open_runs([an_opening()], now=NOW, trigger=unknown_event)  # type: ignore[arg-type]
    assert TaskRun.objects.count() == 0


def test_a_run_of_a_schedule_is_due_now_under_the_day_of_its_planned_instant() -> None:
    schedule = make_schedule(timezone="Asia/Shanghai", stat_date_offset=-1)
    planned_at = utc("2026-06-01 17:30")  # 01:30 on 2 June there
    opened = for_schedule(schedule, planned_at, now=planned_at + HOUR)
    assert (opened.stat_date, opened.planned_at, opened.due_at) == (
        date(2026, 6, 1),
        planned_at,
        planned_at + HOUR,
    )


def test_an_edit_of_the_schedule_changes_what_comes_not_what_is_open() -> None:
    schedule = make_schedule(retry_delays=[60], priority=1)
    (run,) = open_runs([for_schedule(schedule, NOW, now=NOW)], now=NOW, trigger=EventTrigger.SCHEDULE)
    Schedule.objects.filter(pk=schedule.pk).update(name="other", retry_delays=[1, 2], priority=9, params={"b": 1})
    schedule.retry_delays.append(5)
    run.refresh_from_db()
    assert (run.name, run.retry_delays, run.priority, run.params) == (schedule.name, [60], 1, {})


def test_runs_of_one_schedule_share_a_key_and_those_of_another_do_not() -> None:
    one, other = make_schedule(), make_schedule()
    assert opening.exclusive_key(one) == opening.exclusive_key(Schedule.objects.get(pk=one.pk))
    assert opening.exclusive_key(one) != opening.exclusive_key(other)


def test_a_rerun_points_to_the_run_that_it_repeats() -> None:
    first = make_run(RunState.DONE)
    (again,) = open_runs([an_opening(rerun_of=first)], now=NOW, trigger=EventTrigger.MANUAL)
    assert list(first.reruns.all()) == [again]
