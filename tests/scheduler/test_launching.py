"""Due runs are leased and a hint goes out for each: to a real Redis, which may be full, emptied or away."""

from datetime import timedelta
from typing import Any

import pytest
from celery import current_app

from scheduler import operations, running, tasks
from scheduler.launching import LAUNCH_LEASE, SHORT_RUNS_A_HINT, Launched, launch_due
from scheduler.models import TaskRun
from scheduler.states import LAUNCHABLE, RunState
from scheduler.transitions import Claim
from tests.scheduler.factories import (
    A_MOMENT,
    DAY,
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    WORKER,
    events_of,
    make_run,
    make_schedule,
    registered,
    row,
)
from tests.scheduler.queue import Queue

pytestmark = pytest.mark.django_db

LATER = NOW + HOUR


def now_is(run: TaskRun) -> TaskRun:
    """Return the run as the database has it now."""
    return TaskRun.objects.get(pk=run.pk)


# --- which runs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("since_due", "launched"), [(-A_MOMENT, 0), (timedelta(0), 1), (A_MOMENT, 1), (DAY, 1)])
def test_a_run_is_launched_when_it_is_due_and_not_before(queue: Queue, since_due: timedelta, launched: int) -> None:
    run = make_run()
    assert launch_due(now=NOW + since_due) == Launched(launched, launched)
    assert queue.run_ids == [run.pk] * launched


@pytest.mark.parametrize("state", RunState)
def test_exactly_the_states_that_wait_for_a_worker_are_launched(queue: Queue, state: RunState) -> None:
    run = make_run(state)
    assert launch_due(now=LATER).runs == int(state in LAUNCHABLE)
    assert queue.run_ids == ([run.pk] if state in LAUNCHABLE else [])


@pytest.mark.parametrize("state", [RunState.FAILED, RunState.DEFERRED])
@pytest.mark.parametrize(("since_due", "launched"), [(-A_MOMENT, 0), (timedelta(0), 1)])
def test_a_run_with_a_future_time_is_not_touched_before_it_whatever_restarts(
    queue: Queue, state: RunState, since_due: timedelta, launched: int
) -> None:
    make_run(state, due_at=LATER)
    queue.empty()
    assert launch_due(now=LATER + since_due).runs == launched


def test_a_launch_is_a_lease_and_no_transition(queue: Queue) -> None:
    run = make_run(RunState.FAILED)
    launch_due(now=LATER)
    after = now_is(run)
    assert (after.state, after.due_at, after.attempt_count) == (RunState.FAILED, NOW, 1)
    assert (after.lease_token, after.lease_owner, after.lease_expires_at) == (2, "", LATER + LAUNCH_LEASE)
    assert len(events_of(run)) == 1
    assert queue.hints == [[(run.pk, 2)]]


def test_the_most_urgent_goes_first_then_what_is_due_longest_then_what_was_opened_first(queue: Queue) -> None:
    low = make_run(priority=-1, due_at=NOW - DAY)
    late = make_run(due_at=NOW)
    early, early_too = make_run(due_at=NOW - MINUTE), make_run(due_at=NOW - MINUTE)
    high = make_run(priority=9)
    launch_due(now=NOW)
    assert queue.run_ids == [high.pk, early.pk, early_too.pk, late.pk, low.pk]


def test_what_is_leased_is_not_launched_again(queue: Queue) -> None:
    make_run()
    assert launch_due(now=NOW).runs == 1
    assert launch_due(now=NOW + SECOND) == Launched()
    assert len(queue.hints) == 1


# --- one key after the other --------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", [state for state in RunState if state not in (RunState.DONE, RunState.CANCELLED)])
def test_a_run_waits_while_an_older_one_of_its_key_has_not_ended(queue: Queue, state: RunState) -> None:
    schedule = make_schedule()
    due: dict[str, Any] = {"due_at": LATER} if state in LAUNCHABLE else {}
    older = make_run(state, schedule=schedule, **due)
    make_run(schedule=schedule)
    assert launch_due(now=NOW) == Launched()
    launch_due(now=LATER)
    assert queue.run_ids == ([older.pk] if state in LAUNCHABLE else [])


@pytest.mark.parametrize(
    ("state", "ended"), [(RunState.DONE, False), (RunState.CANCELLED, False), (RunState.FAILED, True)]
)
def test_a_run_does_not_wait_for_one_that_has_ended(queue: Queue, state: RunState, ended: bool) -> None:
    schedule = make_schedule()
    make_run(state, ended=ended, schedule=schedule)
    waiting = make_run(schedule=schedule)
    launch_due(now=NOW)
    assert queue.run_ids == [waiting.pk]


def test_a_run_waits_for_nobody_of_another_key_and_without_a_key_for_nobody_at_all(queue: Queue) -> None:
    make_run(RunState.RUNNING, schedule=make_schedule())
    side_by_side = make_schedule(overlap="allow")
    make_run(RunState.RUNNING, schedule=side_by_side)
    runs = [make_run(schedule=make_schedule()), make_run(schedule=side_by_side), make_run()]
    launch_due(now=NOW)
    assert queue.run_ids == [run.pk for run in runs]


def test_of_many_runs_of_a_key_the_oldest_is_launched_whatever_their_priorities(queue: Queue) -> None:
    """B52: thirty runs of one schedule made due at once; never two at a time."""
    schedule = make_schedule()
    runs = [make_run(schedule=schedule, priority=number) for number in range(30)]
    for run in runs[:3]:
        launch_due(now=NOW)
        assert queue.run_ids == [run.pk]
        queue.take()
        operations.cancel(run, now=NOW, actor="ann")


# --- hints that are lost ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("since_lease_end", "launched"), [(-A_MOMENT, 0), (timedelta(0), 0), (A_MOMENT, 1)])
def test_a_hint_that_left_the_queue_and_began_nothing_is_replaced_after_its_lease(
    queue: Queue, since_lease_end: timedelta, launched: int
) -> None:
    """B46: between "acquired" and "fired" the worker died; the run is not frozen."""
    run = make_run()
    launch_due(now=NOW)
    lost = queue.take()
    assert launch_due(now=NOW + LAUNCH_LEASE + since_lease_end).runs == launched
    if launched:
        assert queue.take() == [(run.pk, 2)] != lost


def test_the_hint_that_was_thought_lost_begins_nothing_when_it_comes_after_its_replacement(queue: Queue) -> None:
    make_run()
    launch_due(now=NOW)
    (late,) = queue.take()
    launch_due(now=NOW + MINUTE)
    (new,) = queue.take()
    assert running.begin(Claim(*late), WORKER, now=LATER) is None
    assert running.begin(Claim(*new), WORKER, now=LATER) is not None


def test_a_hint_that_only_waits_in_the_queue_behind_long_jobs_is_not_sent_again(queue: Queue) -> None:
    runs = [make_run() for _ in range(3)]
    launch_due(now=NOW)
    assert launch_due(now=NOW + DAY) == Launched()
    assert queue.run_ids == [run.pk for run in runs]


def test_of_the_hints_only_those_that_left_the_queue_are_replaced(queue: Queue) -> None:
    first, second = make_run(), make_run(due_at=NOW + SECOND)
    launch_due(now=NOW)
    launch_due(now=NOW + SECOND)
    queue.take()
    assert launch_due(now=NOW + DAY).runs == 1
    assert queue.run_ids == [second.pk, first.pk]


def test_a_broker_that_was_emptied_has_lost_all_hints_and_they_are_sent_again_at_once(queue: Queue) -> None:
    runs = [make_run() for _ in range(3)]
    launch_due(now=NOW)
    queue.empty()
    assert launch_due(now=NOW + SECOND).runs == 3
    assert queue.hints == [[(run.pk, 2)] for run in runs]
    assert launch_due(now=NOW + 2 * SECOND) == Launched()


def test_what_runs_is_not_launched_again_when_the_broker_was_emptied(queue: Queue) -> None:
    run = make_run()
    launch_due(now=NOW)
    running.begin(Claim(*queue.take()[0]), WORKER, now=NOW)
    before = row(run)
    queue.empty()
    assert launch_due(now=NOW + SECOND) == Launched()
    assert row(run) == before


# --- how many -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("room", "launched"), [(0, 0), (1, 1), (4, 4), (5, 5), (6, 5)])
def test_the_broker_holds_few_hints_and_the_rest_stays_in_the_rows(
    queue: Queue, settings: Any, room: int, launched: int
) -> None:
    settings.TIDELINE_QUEUE_LIMIT = room
    runs = [make_run(priority=number) for number in range(5)]
    assert launch_due(now=NOW).runs == launched
    assert queue.run_ids == [run.pk for run in reversed(runs)][:launched]
    assert TaskRun.objects.filter(lease_token=0).count() == 5 - launched


def test_what_waits_in_the_broker_already_takes_room(queue: Queue, settings: Any) -> None:
    settings.TIDELINE_QUEUE_LIMIT = 3
    for _ in range(5):
        make_run()
    assert launch_due(now=NOW, limit=2).runs == 2
    assert launch_due(now=NOW).runs == 1
    assert launch_due(now=NOW) == Launched()
    queue.take()
    assert launch_due(now=NOW).runs == 1


def test_a_backlog_of_less_urgent_hints_does_not_grow_ahead_of_an_urgent_run(queue: Queue, settings: Any) -> None:
    settings.TIDELINE_QUEUE_LIMIT = 2
    for _ in range(5):
        make_run()
    launch_due(now=NOW)
    urgent = make_run(priority=9)
    queue.take()
    launch_due(now=NOW)
    assert queue.run_ids[-1] == urgent.pk


@pytest.mark.parametrize("emptied", [False, True])
def test_short_runs_that_share_hints_are_launched_beyond_their_number(
    queue: Queue, settings: Any, emptied: bool
) -> None:
    settings.TIDELINE_QUEUE_LIMIT = 30
    if emptied:
        queue.empty()
    with registered(lambda run: None, short=True) as short:
        for _ in range(70):
            make_run(job=short)
        launched = launch_due(now=NOW)
    assert launched.runs == 70
    assert launched.hints < 30
    assert TaskRun.objects.filter(lease_token=1).count() == 70


# --- what a hint is -----------------------------------------------------------------------------------------------


def test_short_runs_share_hints_and_others_have_their_own(queue: Queue) -> None:
    with registered(lambda run: None, short=True) as short:
        for _ in range(SHORT_RUNS_A_HINT + 1):
            make_run(job=short)
        for _ in range(2):
            make_run()
        launched = launch_due(now=NOW)
    assert launched == Launched(SHORT_RUNS_A_HINT + 3, 4)
    assert sorted(len(hint) for hint in queue.hints) == [1, 1, 1, SHORT_RUNS_A_HINT]
    assert len(set(queue.run_ids)) == SHORT_RUNS_A_HINT + 3


def test_a_hint_is_the_message_of_the_task_that_executes_it(queue: Queue) -> None:
    run = make_run()
    launch_due(now=NOW)
    with current_app.connection_for_read() as connection:
        message = connection.SimpleQueue(current_app.amqp.queues["runs"]).get(timeout=5)
        headers, (args, kwargs, _) = message.headers, message.payload
        message.ack()
    assert (headers["task"], args, kwargs) == (tasks.run.name, [[[run.pk, 1]]], {})
    assert (headers["argsrepr"], headers["launched_at"]) == (f"#{run.pk}", NOW.isoformat())
    assert headers["eta"] is None
    assert headers["expires"] is None
