"""Backfills: one run a data day, beside the plan, at most so many at once, cancellable as a whole."""

import re
from datetime import date, timedelta

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from scheduler import backfilling, launching, operations
from scheduler.backfilling import cancel_backfill, open_backfill, planned_instant
from scheduler.firing import fire_all_due
from scheduler.models import Backfill, Fire, RunEvent, Schedule, TaskRun
from scheduler.states import FireKind, FireOutcome, RunState
from tests.scheduler.factories import (
    DAY,
    HOUR,
    NOW,
    SECOND,
    events_of,
    make_calendar,
    make_run,
    make_schedule,
    registered,
    utc,
)

pytestmark = pytest.mark.django_db

LATER = NOW + HOUR
MAY = date(2026, 5, 1)


def may(day: int) -> date:
    """Return a day of May."""
    return date(2026, 5, day)


def runs_of(backfill: Backfill) -> list[TaskRun]:
    """Return the backfill's runs, oldest first."""
    return list(TaskRun.objects.filter(backfill=backfill).order_by("id"))


def backfilled(schedule: Schedule | None = None, last: int = 5, **options: object) -> Backfill:
    """Return a backfill of the first days of May."""
    return open_backfill(schedule or make_schedule(), may(1), may(last), now=NOW, actor="ann", **options)  # type: ignore[arg-type]


# --- which days ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("last", [1, 2, 31])
def test_a_backfill_opens_one_run_for_each_data_day_of_the_range_oldest_first(last: int) -> None:
    runs = runs_of(backfilled(last=last))
    assert [run.stat_date for run in runs] == [MAY + timedelta(days=number) for number in range(last)]
    assert {run.state for run in runs} == {RunState.PENDING}
    assert {run.due_at for run in runs} == {NOW}


def test_each_run_has_its_fire_and_its_event_with_who_asked_and_why() -> None:
    schedule = make_schedule()
    backfill = backfilled(schedule, last=2, reason="The supplier sent May again.")
    for run in runs_of(backfill):
        assert events_of(run) == [("", "pending", "backfill")]
        assert RunEvent.objects.get(run=run).actor == "ann"
        fire = Fire.objects.get(run=run)
        assert (fire.kind, fire.outcome, fire.actor) == (FireKind.BACKFILL, FireOutcome.STARTED, "ann")
        assert fire.reason == run.reason == backfill.reason == "The supplier sent May again."


def test_days_that_are_done_are_left_out_unless_they_are_asked_for_again() -> None:
    schedule = make_schedule()
    make_run(RunState.DONE, schedule=schedule, stat_date=may(2))
    make_run(RunState.FAILED, schedule=schedule, stat_date=may(3), ended=True)
    make_run(RunState.CANCELLED, schedule=schedule, stat_date=may(4))
    make_run(RunState.DONE, schedule=make_schedule(), stat_date=may(5))
    assert [run.stat_date.day for run in runs_of(backfilled(schedule))] == [1, 3, 4, 5]
    assert [run.stat_date.day for run in runs_of(backfilled(schedule, again=True))] == [1, 2, 3, 4, 5]


def test_days_that_another_backfill_is_to_do_are_left_out_so_that_a_second_click_doubles_nothing() -> None:
    schedule = make_schedule()
    backfilled(schedule)
    with pytest.raises(ValidationError, match="another backfill is to do it"):
        backfilled(schedule)
    assert [run.stat_date.day for run in runs_of(backfilled(schedule, last=7))] == [6, 7]
    assert Backfill.objects.count() == 2


def test_what_a_backfill_would_open_is_known_before() -> None:
    schedule = make_schedule()
    make_run(RunState.DONE, schedule=schedule, stat_date=may(2))
    assert backfilling.days_to_do(schedule, may(1), may(3), now=NOW) == [may(1), may(3)]
    assert backfilling.days_to_do(schedule, may(1), may(3), now=NOW, again=True) == [may(1), may(2), may(3)]
    assert not Backfill.objects.exists()


def test_the_same_range_can_be_asked_for_again_at_the_same_instant() -> None:
    schedule = make_schedule()
    for _ in range(3):
        backfilled(schedule, last=31, again=True)
    assert Fire.objects.filter(schedule=schedule, kind=FireKind.BACKFILL).values("fire_at").distinct().count() == 93


def test_an_excluded_date_is_backfilled_as_a_person_asks_for_it() -> None:
    schedule = make_schedule(calendar=make_calendar("2026-05-01"))
    assert len(runs_of(backfilled(schedule, last=1))) == 1


@pytest.mark.parametrize(
    ("first", "last", "field", "sentence"),
    [
        (may(2), may(1), "last_day", "ends (2026-05-01) before it begins (2026-05-02)"),
        (may(30), date(2026, 6, 2), "last_day", "ends after 2026-06-01, the data day of this moment"),
        (date(1969, 12, 31), may(1), "first_day", "begins before 1970-01-01"),
        (date(2000, 1, 1), may(1), "last_day", "longer than 3660 days"),
    ],
)
def test_a_range_that_makes_no_sense_is_refused_at_its_field(
    first: date, last: date, field: str, sentence: str
) -> None:
    with pytest.raises(ValidationError) as refusal:
        open_backfill(make_schedule(), first, last, now=NOW, actor="ann")
    assert sentence in refusal.value.message_dict[field][0]
    assert not Fire.objects.exists()


def test_the_last_day_may_be_the_data_day_of_this_moment_in_the_schedules_zone() -> None:
    schedule = make_schedule(timezone="Pacific/Kiritimati")  # 02:00 on 2 June there
    open_backfill(schedule, date(2026, 6, 2), date(2026, 6, 2), now=NOW, actor="ann")
    yesterdays = make_schedule(stat_date_offset=-1)
    with pytest.raises(ValidationError, match="after 2026-05-31"):
        open_backfill(yesterdays, date(2026, 6, 1), date(2026, 6, 1), now=NOW, actor="ann")


def test_the_longest_range_is_taken_and_one_day_more_is_refused() -> None:
    schedule, last = make_schedule(), may(31)
    first = last - timedelta(days=backfilling.LONGEST_DAYS - 1)
    assert len(backfilling.days_to_do(schedule, first, last, now=NOW)) == backfilling.LONGEST_DAYS
    with pytest.raises(ValidationError):
        backfilling.days_to_do(schedule, first - timedelta(days=1), last, now=NOW)


def test_less_than_one_at_once_is_refused() -> None:
    with pytest.raises(ValidationError, match="At least one run at once"):
        backfilled(parallel=0)
    with pytest.raises(IntegrityError, match="backfill_is_bounded"), transaction.atomic():
        Backfill.objects.create(
            schedule=make_schedule(), first_day=MAY, last_day=MAY, parallel=0, created_at=NOW, created_by="ann"
        )


@pytest.mark.parametrize("fault", [{"timezone": "Mars/Olympus"}, {"cron": "61 * * * *"}])
def test_a_schedule_whose_trigger_cannot_be_read_is_refused_with_the_reason(fault: dict[str, str]) -> None:
    (wrong,) = fault.values()
    with pytest.raises(ValidationError, match=re.escape(wrong.split()[0])):
        backfilled(make_schedule(due=NOW, **fault))


# --- planned for when ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "planned"),
    [
        ({}, "2026-05-03 02:00"),
        ({"cron": "0 0 * * *"}, "2026-05-03 00:00"),
        ({"cron": "59 23 * * *"}, "2026-05-03 23:59"),
        ({"cron": "0 */6 * * *"}, "2026-05-03 00:00"),
        ({"cron": "0 2 * * *", "timezone": "Asia/Shanghai"}, "2026-05-02 18:00"),
        ({"stat_date_offset": -1}, "2026-05-04 02:00"),
        ({"stat_date_offset": 1}, "2026-05-02 02:00"),
        ({"cron": "0 2 1 * *"}, "2026-05-03 00:00"),  # it is not due on that day
        ({"starts_at": NOW}, "2026-05-03 02:00"),
        ({"ends_at": NOW + 9 * DAY, "starts_at": NOW}, "2026-05-03 02:00"),
    ],
)
def test_a_run_is_planned_for_the_first_due_time_of_its_data_day_or_the_days_beginning(
    fields: dict[str, object], planned: str
) -> None:
    assert planned_instant(make_schedule(**fields), may(3)) == utc(planned)


def test_a_planned_instant_follows_the_clocks_over_their_changes() -> None:
    schedule = make_schedule(cron="30 2 * * *", timezone="Europe/Berlin")
    assert planned_instant(schedule, date(2026, 3, 29)) == utc("2026-03-29T03:00+02:00")
    assert planned_instant(schedule, date(2026, 10, 25)) == utc("2026-10-25T02:30+02:00")


# --- beside the plan ----------------------------------------------------------------------------------------------


def test_a_backfill_leaves_the_plan_as_it_is() -> None:
    schedule = make_schedule()
    backfilled(schedule)
    after = Schedule.objects.get(pk=schedule.pk)
    assert (after.next_run_at, after.version, after.updated_at) == (schedule.next_run_at, 1, NOW)


def test_the_schedules_own_runs_go_on_meanwhile() -> None:
    schedule = make_schedule()
    backfilled(schedule)
    at = utc("2026-06-02 02:00")
    fire_all_due(now=at)
    own = TaskRun.objects.get(schedule=schedule, backfill=None)
    assert own.pk in [leased.claim.run_id for leased in launching._lease_due(at, at, 99)]


@pytest.mark.parametrize("parallel", [1, 2, 3])
def test_at_most_so_many_run_at_once_and_all_come_to_their_turn(parallel: int) -> None:
    backfill = backfilled(last=7, parallel=parallel)
    order: list[int] = []
    while len(order) < 7:
        leased = [item.claim.run_id for item in launching._lease_due(NOW, NOW, 99)]
        assert 1 <= len(leased) <= parallel
        for pk in leased:
            operations.cancel(TaskRun.objects.get(pk=pk), now=NOW, actor="ann")
        order += leased
    assert sorted(order) == [run.pk for run in runs_of(backfill)]


def test_more_at_once_than_days_is_all_at_once() -> None:
    backfilled(last=3, parallel=50)
    assert len(launching._lease_due(NOW, NOW, 99)) == 3


# --- cancelled as a whole -----------------------------------------------------------------------------------------


def test_cancelling_a_backfill_cancels_what_waits_and_asks_what_runs() -> None:
    backfill = backfilled()
    done, running, waiting, *pending = runs_of(backfill)
    TaskRun.objects.filter(pk=done.pk).update(state=RunState.DONE, finished_at=NOW, due_at=None)
    TaskRun.objects.filter(pk=running.pk).update(
        state=RunState.RUNNING,
        attempt_count=1,
        lease_owner="a worker",
        lease_expires_at=LATER,
        due_at=None,
    )
    TaskRun.objects.filter(pk=waiting.pk).update(state=RunState.FAILED, attempt_count=1, failure_count=1)
    assert cancel_backfill(backfill, now=LATER, actor="bob", reason="wrong month") == 4
    states = [run.state for run in runs_of(backfill)]
    assert states == [RunState.DONE, RunState.RUNNING, *[RunState.CANCELLED] * 3]
    running.refresh_from_db()
    assert (running.cancel_requested_at, running.cancel_requested_by) == (LATER, "bob")
    backfill.refresh_from_db()
    assert (backfill.cancelled_at, backfill.cancelled_by) == (LATER, "bob")
    for run in pending:
        assert RunEvent.objects.filter(run=run, actor="bob", reason="wrong month", to_state="cancelled").exists()


def test_what_holds_something_elsewhere_is_executed_once_more_to_end_it() -> None:
    with registered(lambda run: None, holds_outside=lambda progress: "task" in progress) as job:
        backfill = backfilled(make_schedule(job=job), last=2)
        holder, _ = runs_of(backfill)
        TaskRun.objects.filter(pk=holder.pk).update(
            state=RunState.DEFERRED, attempt_count=1, progress={"task": "abc"}, due_at=LATER
        )
        cancel_backfill(backfill, now=NOW + SECOND, actor="bob")
    states = [(run.state, run.due_at) for run in runs_of(backfill)]
    assert states == [(RunState.PENDING, NOW + SECOND), (RunState.CANCELLED, None)]


def test_a_second_cancel_finds_nothing_and_leaves_who_was_first() -> None:
    backfill = backfilled()
    cancel_backfill(backfill, now=LATER, actor="bob")
    assert cancel_backfill(backfill, now=LATER + HOUR, actor="eve") == 0
    backfill.refresh_from_db()
    assert (backfill.cancelled_at, backfill.cancelled_by) == (LATER, "bob")


def test_the_days_of_a_cancelled_backfill_can_be_asked_for_again() -> None:
    schedule = make_schedule()
    cancel_backfill(backfilled(schedule), now=NOW, actor="bob")
    assert len(runs_of(backfilled(schedule))) == 5


def test_cancelling_one_backfill_leaves_the_plan_and_other_backfills_alone() -> None:
    schedule = make_schedule()
    own = make_run(schedule=schedule)
    first, second = backfilled(schedule, last=2), backfilled(schedule, last=4)
    cancel_backfill(first, now=LATER, actor="bob")
    assert {run.state for run in runs_of(second)} == {RunState.PENDING}
    assert TaskRun.objects.get(pk=own.pk).state == RunState.PENDING
