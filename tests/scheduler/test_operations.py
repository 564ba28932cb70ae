"""What a person does with schedules and runs."""

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from scheduler import operations, running
from scheduler.models import Attempt, Fire, RunEvent, Schedule, TaskRun
from scheduler.operations import NotPossible
from scheduler.running import Outcome
from scheduler.states import AttemptOutcome, FireKind, FireOutcome, RunState
from tests.scheduler.factories import (
    DAY,
    HOUR,
    NOW,
    events_of,
    fires_of,
    launched,
    make_run,
    make_schedule,
    row,
    utc,
)

pytestmark = pytest.mark.django_db

LATER = NOW + HOUR
UNFINISHED = [state for state in RunState if state not in (RunState.DONE, RunState.CANCELLED)]
ENDED = [(RunState.DONE, False), (RunState.CANCELLED, False), (RunState.FAILED, True)]


# --- run now ------------------------------------------------------------------------------------------------------


def test_run_now_opens_a_run_beside_the_plan() -> None:
    """The next run, the version and the time of the last change stay as they are."""
    schedule = make_schedule()
    run = operations.run_now(schedule, now=LATER, actor="ann", reason="the figures are needed")
    assert (run.state, run.planned_at, run.due_at) == (RunState.PENDING, LATER, LATER)
    assert events_of(run) == [("", "pending", "manual")]
    assert RunEvent.objects.get(run=run).actor == "ann"
    assert fires_of(schedule) == [(LATER, FireKind.MANUAL, FireOutcome.STARTED)]
    fire = Fire.objects.get(run=run)
    assert (fire.actor, fire.reason) == ("ann", "the figures are needed")
    after = Schedule.objects.get(pk=schedule.pk)
    assert (after.next_run_at, after.version, after.updated_at) == (schedule.next_run_at, 1, NOW)


def test_run_now_works_while_the_schedule_is_paused() -> None:
    assert operations.run_now(make_schedule(enabled=False), now=NOW, actor="ann")


def test_run_now_takes_the_data_day_of_this_instant_or_the_one_that_is_asked_for() -> None:
    schedule = make_schedule(timezone="Asia/Shanghai", stat_date_offset=-1)
    evening = utc("2026-06-01 16:30")  # 00:30 on 2 June there
    assert operations.run_now(schedule, now=evening, actor="ann").stat_date == date(2026, 6, 1)
    wanted = operations.run_now(schedule, now=evening + HOUR, actor="ann", stat_date=date(2026, 5, 3))
    assert (wanted.stat_date, wanted.planned_at) == (date(2026, 5, 3), evening + HOUR)


def test_run_now_waits_for_its_predecessor_unless_runs_may_overlap() -> None:
    queued = operations.run_now(make_schedule(overlap="skip"), now=NOW, actor="ann")
    beside = operations.run_now(make_schedule(overlap="allow"), now=NOW, actor="ann")
    assert (queued.exclusive_key is not None, beside.exclusive_key) == (True, None)


def test_run_now_twice_in_one_instant_is_one_run_and_a_sentence() -> None:
    schedule = make_schedule(name="figures")
    operations.run_now(schedule, now=NOW, actor="ann")
    with pytest.raises(NotPossible, match="“figures” was started by hand at this very moment"):
        operations.run_now(schedule, now=NOW, actor="ann")
    assert TaskRun.objects.count() == Fire.objects.count() == 1


def test_run_now_of_a_schedule_whose_zone_is_gone_says_so() -> None:
    schedule = make_schedule()
    schedule.timezone = "Mars/Olympus"
    with pytest.raises(NotPossible, match="“Mars/Olympus” is not known"):
        operations.run_now(schedule, now=NOW, actor="ann")
    assert Fire.objects.count() == 0


def test_a_job_runs_without_a_schedule_and_beside_whatever_runs() -> None:
    run = operations.run_job("test.noop", {"a": 1}, now=NOW, actor="ann")
    assert (run.name, run.job, run.params) == ("test.noop", "test.noop", {"a": 1})
    assert (run.schedule, run.fire, run.exclusive_key, run.due_at) == (None, None, None, NOW)


@pytest.mark.parametrize(
    ("options", "day"),
    [
        ({}, date(2026, 6, 1)),
        ({"zone": "Pacific/Auckland"}, date(2026, 6, 2)),
        ({"zone": "Pacific/Auckland", "stat_date": date(2026, 5, 1)}, date(2026, 5, 1)),
    ],
)
def test_a_job_without_a_schedule_has_the_data_day_of_the_zone_or_the_one_asked_for(
    options: dict[str, Any], day: date
) -> None:
    assert operations.run_job("test.noop", {}, now=NOW, actor="ann", **options).stat_date == day


# --- run again ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("state", "ended"), ENDED)
@pytest.mark.parametrize("from_progress", [False, True])
def test_run_again_opens_a_new_run_of_the_same_day_and_leaves_the_old_one_as_it_is(
    state: RunState, ended: bool, from_progress: bool
) -> None:
    schedule = make_schedule(overlap="skip")
    old = make_run(
        state,
        ended=ended,
        schedule=schedule,
        stat_date=date(2026, 5, 3),
        progress={"page": 7},
        params={"a": 1},
        priority=3,
        timeout_seconds=60,
        retry_delays=[1, 2],
        on_interrupt="suspend",
    )
    before = row(old)
    new = operations.run_again(old, now=LATER, actor="ann", from_progress=from_progress, reason="figures were wrong")
    new.refresh_from_db()
    assert (new.state, new.due_at, new.rerun_of, new.fire) == (RunState.PENDING, LATER, old, None)
    assert new.progress == ({"page": 7} if from_progress else {})
    assert (new.attempt_count, new.failure_count, new.started_at, new.result) == (0, 0, None, None)
    for name in ("stat_date", "planned_at", "schedule", "exclusive_key", "name", "job", "params", "priority"):
        assert getattr(new, name) == getattr(old, name)
    assert (new.timeout_seconds, new.retry_delays, new.on_interrupt) == (60, [1, 2], "suspend")
    assert events_of(new) == [("", "pending", "manual")]
    assert RunEvent.objects.get(run=new).reason == "figures were wrong"
    assert row(old) == before


@pytest.mark.parametrize("state", UNFINISHED)
def test_run_again_is_not_possible_before_the_run_has_ended(state: RunState) -> None:
    run = make_run(state)
    with pytest.raises(NotPossible, match=rf"Run #{run.pk} has not ended \({state.label}\)"):
        operations.run_again(run, now=NOW, actor="ann", from_progress=False)
    assert TaskRun.objects.count() == 1


def test_a_run_that_was_run_again_with_its_progress_keeps_its_bar() -> None:
    old = make_run(RunState.CANCELLED, progress={"page": 7}, progress_done=7, progress_total=9)
    kept = operations.run_again(old, now=NOW, actor="ann", from_progress=True)
    fresh = operations.run_again(old, now=NOW, actor="ann", from_progress=False)
    assert (kept.progress_done, kept.progress_total) == (7, 9)
    assert (fresh.progress_done, fresh.progress_total) == (None, None)


# --- make due -----------------------------------------------------------------------------------------------------

MakeDue = Callable[..., None]
DUE_BY_HAND: list[tuple[MakeDue, set[RunState]]] = [
    (operations.retry_now, {RunState.FAILED, RunState.DEFERRED}),
    (operations.let_go_on, {RunState.SUSPENDED}),
]


@pytest.mark.parametrize("state", RunState)
@pytest.mark.parametrize(("make_due", "possible"), DUE_BY_HAND)
def test_a_run_is_made_due_by_hand_in_the_states_that_wait_for_it_and_in_no_other(
    make_due: MakeDue, possible: set[RunState], state: RunState
) -> None:
    run = make_run(state, progress={"page": 7}, failure_count=2)
    if state not in possible:
        before = row(run)
        with pytest.raises(NotPossible, match=f"Run #{run.pk}"):
            make_due(run, now=LATER, actor="ann")
        assert row(run) == before
        return
    make_due(run, now=LATER, actor="ann", reason="go")
    after = TaskRun.objects.get(pk=run.pk)
    assert (after.state, after.due_at, after.reason) == (RunState.PENDING, LATER, "go")
    assert (after.progress, after.failure_count, after.stat_date) == ({"page": 7}, 2, run.stat_date)
    assert events_of(run)[-1] == (state, "pending", "manual")
    assert RunEvent.objects.filter(run=run).latest("id").actor == "ann"


def test_a_retry_that_is_not_possible_says_where_the_run_is() -> None:
    run = make_run(RunState.RUNNING)
    with pytest.raises(NotPossible, match=f"Run #{run.pk} is running now, not failed or deferred"):
        operations.retry_now(run, now=NOW, actor="ann")


@pytest.mark.parametrize(("state", "ended"), ENDED)
@pytest.mark.parametrize("make_due", [operations.retry_now, operations.let_go_on])
def test_a_run_that_has_ended_is_not_made_due_and_the_sentence_says_what_to_do(
    make_due: MakeDue, state: RunState, ended: bool
) -> None:
    run = make_run(state, ended=ended)
    with pytest.raises(NotPossible, match=rf"Run #{run.pk} has ended \({state.label}\); run it again instead"):
        make_due(run, now=NOW, actor="ann")


def test_a_retry_by_hand_of_a_run_that_is_launched_already_waits_for_a_new_hint() -> None:
    run = make_run(RunState.FAILED)
    launched(run)
    operations.retry_now(run, now=LATER, actor="ann")
    assert TaskRun.objects.get(pk=run.pk).lease_expires_at is None


# --- cancel -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", [state for state in UNFINISHED if state != RunState.RUNNING])
def test_what_has_not_ended_and_does_not_run_is_cancelled_at_once(state: RunState) -> None:
    run = make_run(state, progress={"page": 7})
    assert operations.cancel(run, now=LATER, actor="ann", reason="not needed") is True
    after = TaskRun.objects.get(pk=run.pk)
    assert (after.state, after.finished_at, after.due_at) == (RunState.CANCELLED, LATER, None)
    assert (after.reason, after.progress) == ("not needed", {"page": 7})
    assert events_of(run)[-1] == (state, "cancelled", "manual")


def test_a_cancel_without_a_reason_says_who_it_was() -> None:
    run = make_run()
    operations.cancel(run, now=NOW, actor="ann")
    assert TaskRun.objects.get(pk=run.pk).reason == "Cancelled by ann."


def test_a_running_run_is_asked_and_goes_on_until_it_sees_it() -> None:
    run = make_run(RunState.RUNNING)
    assert operations.cancel(run, now=LATER, actor="ann", reason="not needed") is False
    after = TaskRun.objects.get(pk=run.pk)
    assert (after.state, after.cancel_requested_at, after.cancel_requested_by) == (RunState.RUNNING, LATER, "ann")
    assert after.reason == "ann asked to cancel it: not needed. It ends at its next checkpoint."
    assert (after.lease_token, after.lease_expires_at) == (run.lease_token, run.lease_expires_at)


def test_the_reason_for_which_a_running_run_was_to_be_cancelled_is_kept_when_it_is() -> None:
    run, silent = make_run(RunState.RUNNING), make_run(RunState.RUNNING)
    operations.cancel(run, now=NOW, actor="ann", reason="Wrong day.")
    operations.cancel(silent, now=NOW, actor="ann")
    for working in (run, silent):
        assert running.settle(working, Outcome(RunState.CANCELLED, AttemptOutcome.CANCELLED), now=LATER)
    assert TaskRun.objects.get(pk=run.pk).reason == "Cancelled while it was running. Wrong day."
    assert TaskRun.objects.get(pk=silent.pk).reason == "Cancelled while it was running."


def test_the_first_to_ask_for_a_cancel_is_the_one_who_is_named() -> None:
    run = make_run(RunState.RUNNING)
    operations.cancel(run, now=LATER, actor="ann")
    assert operations.cancel(run, now=LATER + HOUR, actor="bob") is False
    after = TaskRun.objects.get(pk=run.pk)
    assert (after.cancel_requested_at, after.cancel_requested_by) == (LATER, "ann")


@pytest.mark.parametrize(("state", "ended"), ENDED)
def test_a_run_that_has_ended_is_not_cancelled(state: RunState, ended: bool) -> None:
    run = make_run(state, ended=ended)
    with pytest.raises(NotPossible, match=rf"Run #{run.pk} has ended already \({state.label}\)"):
        operations.cancel(run, now=NOW, actor="ann")


def test_what_a_person_sees_may_be_old_and_the_row_decides() -> None:
    run = make_run(RunState.SUSPENDED)
    seen = TaskRun.objects.get(pk=run.pk)
    operations.let_go_on(run, now=NOW, actor="ann")
    with pytest.raises(NotPossible, match="is pending now, not suspended"):
        operations.let_go_on(seen, now=NOW + DAY, actor="bob")
    assert len(events_of(run)) == 2


def test_the_attempts_that_were_closed_stay_as_they_were() -> None:
    run = make_run(RunState.SUSPENDED)
    operations.cancel(run, now=LATER, actor="ann")
    assert Attempt.objects.get(run=run).outcome == AttemptOutcome.LOST
