"""What keeps a planned instant from opening a run, and under which data day it opens one."""

from datetime import date, timedelta
from typing import Any

import pytest

from scheduler.firing import Fired, fire_due
from scheduler.models import Fire, TaskRun
from scheduler.states import FireKind, FireOutcome, RunState
from tests.scheduler.factories import (
    A_MOMENT,
    DAY,
    HOUR,
    MINUTE,
    NOW,
    events_of,
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


# --- overlap ------------------------------------------------------------------------------------------------------

UNFINISHED = [state for state in RunState if state not in (RunState.DONE, RunState.CANCELLED)]
WORDINGS = {
    RunState.AWAITING_APPROVAL: "Run #{} is waiting for an approval. Answer it, then the schedule goes on.",
    RunState.SUSPENDED: "Run #{} is suspended. Let it go on or give it up, then the schedule goes on.",
}


@pytest.mark.parametrize("state", UNFINISHED)
def test_skip_gives_way_to_a_run_that_has_not_ended_and_names_it(state: RunState) -> None:
    schedule = make_schedule(overlap="skip")
    run = make_run(state, schedule=schedule)
    assert fire_due(now=TWO) == (1, Fired(skipped=1))
    wording = WORDINGS.get(state, f"Run #{{}} is still in progress ({state.label}).")
    assert fires_of(schedule) == [(TWO, ON_TIME, FireOutcome.SKIPPED_OVERLAP)]
    assert the_skip(schedule).reason == wording.format(run.pk)
    assert planned(schedule) == [run.planned_at]


@pytest.mark.parametrize(
    ("state", "ended"), [(RunState.DONE, False), (RunState.CANCELLED, False), (RunState.FAILED, True)]
)
def test_skip_does_not_give_way_to_a_run_that_has_ended(state: RunState, ended: bool) -> None:
    schedule = make_schedule(overlap="skip")
    make_run(state, ended=ended, schedule=schedule)
    assert fire_due(now=TWO) == (1, Fired(started=1))


def test_skip_names_the_oldest_run_that_has_not_ended() -> None:
    schedule = make_schedule(overlap="skip")
    oldest = make_run(RunState.SUSPENDED, schedule=schedule)
    make_run(RunState.PENDING, schedule=schedule)
    fire_due(now=TWO)
    assert f"Run #{oldest.pk} is suspended" in the_skip(schedule).reason


def test_skip_does_not_give_way_to_another_schedule() -> None:
    make_run(RunState.RUNNING, schedule=make_schedule(overlap="skip", cron="0 5 * * *"))
    schedule = make_schedule(overlap="skip")
    fire_due(now=TWO)
    assert planned(schedule) == [TWO]


@pytest.mark.parametrize("overlap", ["queue", "allow"])
def test_queue_and_allow_open_the_run_beside_one_that_has_not_ended(overlap: str) -> None:
    schedule = make_schedule(overlap=overlap)
    make_run(RunState.RUNNING, schedule=schedule)
    assert fire_due(now=TWO) == (1, Fired(started=1))


@pytest.mark.parametrize(("overlap", "has_key"), [("skip", True), ("queue", True), ("allow", False)])
def test_only_runs_that_may_overlap_have_no_key(overlap: str, has_key: bool) -> None:
    schedule = make_schedule(overlap=overlap)
    fire_due(now=TWO)
    assert (the_run(schedule).exclusive_key is not None) == has_key


def test_what_was_made_up_gives_way_as_what_is_on_time_does() -> None:
    schedule = make_schedule(cron="*/10 * * * *", due=NOW, overlap="skip")
    make_run(RunState.RUNNING, schedule=schedule)
    assert fire_due(now=NOW + 25 * MINUTE) == (1, Fired(skipped=2))
    assert fires_of(schedule) == [
        (NOW, MADE_UP, SKIPPED),
        (NOW + 20 * MINUTE, MADE_UP, FireOutcome.SKIPPED_OVERLAP),
    ]


# --- the data day -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("zone", "cron", "due", "offset", "day"),
    [
        ("UTC", "0 2 * * *", "2026-06-02 02:00", 0, "2026-06-02"),
        ("UTC", "0 2 * * *", "2026-06-02 02:00", -1, "2026-06-01"),
        ("UTC", "0 2 * * *", "2026-06-01 02:00", -1, "2026-05-31"),
        ("UTC", "0 2 * * *", "2026-12-31 02:00", 1, "2027-01-01"),
        ("Asia/Shanghai", "59 23 * * *", "2026-06-02 15:59", 0, "2026-06-02"),
        ("Asia/Shanghai", "0 0 * * *", "2026-06-02 16:00", 0, "2026-06-03"),
        ("America/New_York", "0 20 * * *", "2026-06-03 00:00", 0, "2026-06-02"),
        ("America/New_York", "30 2 * * *", "2026-03-08 07:00", 0, "2026-03-08"),  # the gap: 03:00 local
        ("Africa/Cairo", "0 0 * * *", "2026-04-23 22:00", 0, "2026-04-24"),  # no midnight: 01:00 local
        ("Europe/Berlin", "0 0 * * *", "2026-10-24 22:00", -1, "2026-10-24"),  # the day of 25 hours
        ("Europe/Berlin", "0 0 * * *", "2026-10-25 23:00", -1, "2026-10-25"),
        ("Pacific/Apia", "0 12 * * *", "2011-12-30 10:00", 0, "2011-12-31"),  # 30 December was left out
    ],
)
def test_the_data_day_is_the_local_date_of_the_planned_instant_and_the_offset(
    zone: str, cron: str, due: str, offset: int, day: str
) -> None:
    """B56, B59, B61, B62: an instant that exists, once, under the day that the zone's clocks show."""
    at = utc(due)
    schedule = make_schedule(cron=cron, timezone=zone, now=at - A_MOMENT, stat_date_offset=offset)
    assert schedule.next_run_at == at
    fire_due(now=at)
    assert the_run(schedule).stat_date == date.fromisoformat(day)


def test_what_is_made_up_after_midnight_belongs_to_the_day_for_which_it_was_planned() -> None:
    schedule = make_schedule(cron="50 23 * * *", due=utc("2026-06-01 23:50"))
    fire_due(now=utc("2026-06-02 00:20"))
    run = the_run(schedule)
    assert (run.stat_date, run.planned_at) == (date(2026, 6, 1), utc("2026-06-01 23:50"))
    assert run.due_at == run.created_at == utc("2026-06-02 00:20")


def test_the_new_day_has_its_own_run_and_nothing_of_the_old_one_which_keeps_its_day() -> None:
    schedule = make_schedule()
    old = make_run(
        RunState.FAILED, now=TWO - DAY, schedule=schedule, progress={"page": 7}, progress_done=7, failure_count=2
    )
    fire_due(now=TWO)
    new = TaskRun.objects.latest("id")
    assert (new.stat_date, new.progress, new.progress_done) == (TWO.date(), {}, None)
    assert (new.attempt_count, new.failure_count, new.interruption_count) == (0, 0, 0)
    old.refresh_from_db()
    assert (old.stat_date, old.state, old.progress) == ((TWO - DAY).date(), RunState.FAILED, {"page": 7})


def test_a_run_is_opened_with_what_its_schedule_says_at_that_moment() -> None:
    schedule = make_schedule(
        params={"a": 1}, priority=5, timeout_seconds=60, retry_delays=[60, 300], on_interrupt="suspend"
    )
    fire_due(now=TWO)
    run = the_run(schedule)
    assert (run.name, run.job, run.params) == (schedule.name, "test.noop", {"a": 1})
    assert (run.priority, run.timeout_seconds, run.retry_delays, run.on_interrupt) == (5, 60, [60, 300], "suspend")
    assert (run.state, run.due_at, run.started_at, run.lease_expires_at) == (RunState.PENDING, TWO, None, None)
    assert run.fire == Fire.objects.get(schedule=schedule)
    assert events_of(run) == [("", "pending", "schedule")]


# --- work that is done already ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("started", "opens"), [(-A_MOMENT, True), (timedelta(0), False), (A_MOMENT, False), (-2 * HOUR, True)], ids=str
)
def test_work_counts_as_the_planned_work_only_if_it_started_at_or_after_the_planned_instant(
    started: timedelta, opens: bool
) -> None:
    schedule = make_schedule()
    done = make_run(
        RunState.DONE,
        now=TWO + HOUR,
        schedule=schedule,
        stat_date=TWO.date(),
        started_at=TWO + started,
    )
    fire_due(now=TWO + HOUR)
    assert planned(schedule).count(TWO) == int(opens)
    if not opens:
        assert fires_of(schedule) == [(TWO, MADE_UP, FireOutcome.ALREADY_DONE)]
        assert f"Run #{done.pk} did this data day's work" in the_skip(schedule).reason


@pytest.mark.parametrize(
    "fields",
    [
        {"state": RunState.FAILED},
        {"state": RunState.CANCELLED},
        {"state": RunState.RUNNING},
        {"stat_date": (TWO - DAY).date()},
        {"stat_date": (TWO + DAY).date()},
    ],
    ids=str,
)
def test_only_work_that_is_done_and_of_the_same_day_counts(fields: dict[str, Any]) -> None:
    schedule = make_schedule()
    make_run(**{"state": RunState.DONE, "now": TWO, "schedule": schedule, "stat_date": TWO.date(), **fields})
    fire_due(now=TWO + MINUTE)
    assert fires_of(schedule) == [(TWO, ON_TIME, STARTED)]


def test_the_work_of_another_schedule_does_not_count() -> None:
    schedule = make_schedule()
    make_run(RunState.DONE, now=TWO, schedule=make_schedule(cron="0 5 * * *"), stat_date=TWO.date())
    fire_due(now=TWO)
    assert planned(schedule) == [TWO]


def test_work_of_the_day_of_another_schedule_in_the_same_scan_does_not_count() -> None:
    today, yesterday = make_schedule(), make_schedule(stat_date_offset=-1)
    make_run(RunState.DONE, now=TWO, schedule=today, stat_date=(TWO - DAY).date())
    make_run(RunState.DONE, now=TWO, schedule=yesterday, stat_date=TWO.date())
    assert fire_due(now=TWO) == (2, Fired(started=2))


def test_the_data_day_of_the_work_is_compared_with_its_offset() -> None:
    schedule = make_schedule(stat_date_offset=-1)
    make_run(RunState.DONE, now=TWO, schedule=schedule, stat_date=(TWO - DAY).date())
    fire_due(now=TWO + MINUTE)
    assert fires_of(schedule) == [(TWO, ON_TIME, FireOutcome.ALREADY_DONE)]


@pytest.mark.parametrize(
    "fields",
    [
        {"cron": "*/30 * * * *"},
        {"cron": "0 * * * *"},
        {"interval_seconds": 86_400, "anchor_at": TWO},
        {"once_at": TWO},
    ],
    ids=str,
)
def test_only_fixed_times_ask_whether_the_work_is_done_already(fields: dict[str, Any]) -> None:
    schedule = make_schedule(due=TWO, **fields)
    make_run(RunState.DONE, now=TWO, schedule=schedule, stat_date=TWO.date())
    fire_due(now=TWO)
    assert fires_of(schedule) == [(TWO, ON_TIME, STARTED)]


def test_that_the_work_is_done_is_said_rather_than_what_overlaps() -> None:
    schedule = make_schedule(overlap="skip")
    make_run(RunState.DONE, now=TWO, schedule=schedule)
    make_run(RunState.RUNNING, schedule=schedule)
    fire_due(now=TWO)
    assert fires_of(schedule) == [(TWO, ON_TIME, FireOutcome.ALREADY_DONE)]
