"""Runs whose worker is gone go on elsewhere, under their day and with their progress, or wait for a person."""

from datetime import timedelta
from typing import Any

import pytest

from scheduler import operations, rescuing
from scheduler.models import Attempt, RunEvent, TaskRun
from scheduler.rescuing import POISON_AFTER, free, rescue_lost
from scheduler.states import AttemptOutcome, RunState
from scheduler.transitions import Claim
from tests.scheduler.factories import (
    A_MOMENT,
    DAY,
    HOUR,
    NOW,
    SECOND,
    claim_of,
    events_of,
    launched,
    make_run,
    make_schedule,
    row,
)

pytestmark = pytest.mark.django_db

LEASE_END = NOW + 30 * SECOND  # of the factory's running runs
LATER = NOW + HOUR


def rescued(now: Any = LATER, **fields: Any) -> TaskRun:
    """Make a running run, rescue what is lost, and return the run's row."""
    run = make_run(RunState.RUNNING, **fields)
    rescue_lost(now=now)
    return TaskRun.objects.get(pk=run.pk)


# --- when ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("since_lease_end", "freed"), [(-SECOND, 0), (-A_MOMENT, 0), (timedelta(0), 0), (A_MOMENT, 1), (DAY, 1)], ids=str
)
def test_a_run_is_freed_only_after_its_lease_has_ended(since_lease_end: timedelta, freed: int) -> None:
    """B38, B44: not in the first second, and not while a heartbeat may still come."""
    make_run(RunState.RUNNING)
    assert rescue_lost(now=LEASE_END + since_lease_end) == freed


def test_a_healthy_job_of_three_hours_is_never_rescued_while_it_beats() -> None:
    """B41."""
    run = make_run(RunState.RUNNING)
    for minutes in range(180):
        now = NOW + timedelta(minutes=minutes)
        TaskRun.objects.filter(pk=run.pk).update(lease_expires_at=now + 30 * SECOND)
        assert rescue_lost(now=now + 29 * SECOND) == 0


@pytest.mark.parametrize("state", [state for state in RunState if state != RunState.RUNNING])
def test_only_running_runs_are_rescued(state: RunState) -> None:
    run = make_run(state)
    if run.due_at:
        launched(run)
    before = row(run)
    assert rescue_lost(now=LATER) == 0
    assert row(run) == before


def test_all_that_is_lost_is_freed_batch_after_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rescuing, "BATCH", 2)
    for _ in range(5):
        make_run(RunState.RUNNING)
    assert rescue_lost(now=LATER) == 5
    assert rescue_lost(now=LATER) == 0


def test_a_lost_run_of_each_kind_in_one_batch_goes_where_it_belongs() -> None:
    resumed = [make_run(RunState.RUNNING) for _ in range(2)]
    suspended = make_run(RunState.RUNNING, on_interrupt="suspend")
    poisoned = make_run(RunState.RUNNING, interruption_count=POISON_AFTER - 1)
    cancelled = make_run(RunState.RUNNING, cancel_requested_at=NOW)
    assert rescue_lost(now=LATER) == 5
    states = [TaskRun.objects.get(pk=run.pk).state for run in (*resumed, suspended, poisoned, cancelled)]
    assert states == [
        RunState.PENDING,
        RunState.PENDING,
        RunState.SUSPENDED,
        RunState.FAILED,
        RunState.CANCELLED,
    ]


# --- where to -----------------------------------------------------------------------------------------------------


def test_a_lost_run_is_due_at_once_under_its_day_with_its_progress() -> None:
    """B37."""
    run = rescued(progress={"page": 7}, progress_done=7, failure_count=1, retry_delays=[60])
    assert (run.state, run.due_at, run.stat_date) == (RunState.PENDING, LATER, NOW.date())
    assert (run.progress, run.progress_done, run.failure_count) == ({"page": 7}, 7, 1)
    assert (run.interruption_count, run.lease_owner, run.lease_expires_at) == (1, "", None)
    assert run.reason == "The worker was lost; the run goes on where it was."
    assert events_of(run)[-1] == ("running", "pending", "rescue")
    attempt = Attempt.objects.get(run=run)
    assert (attempt.outcome, attempt.finished_at) == (AttemptOutcome.LOST, LATER)


def test_a_lost_run_makes_room_for_its_key() -> None:
    """B38: the slot is free again."""
    schedule = make_schedule()
    rescued(schedule=schedule)
    assert make_run(RunState.RUNNING, schedule=schedule)


def test_a_lost_run_whose_schedule_says_so_waits_for_a_person() -> None:
    run = rescued(on_interrupt="suspend")
    assert (run.state, run.due_at, run.interruption_count) == (RunState.SUSPENDED, None, 1)
    assert run.reason == "The worker was lost; the schedule says that a person decides how it goes on."


@pytest.mark.parametrize(
    ("interruptions", "state"),
    [(0, RunState.PENDING), (POISON_AFTER - 2, RunState.PENDING), (POISON_AFTER - 1, RunState.FAILED)],
)
@pytest.mark.parametrize("on_interrupt", ["resume", "suspend"])
def test_a_run_that_keeps_killing_its_workers_is_given_up(
    interruptions: int, state: RunState, on_interrupt: str
) -> None:
    run = rescued(interruption_count=interruptions, on_interrupt=on_interrupt, retry_delays=[60, 60])
    if state == RunState.PENDING and on_interrupt == "suspend":
        state = RunState.SUSPENDED
    assert (run.state, run.interruption_count) == (state, interruptions + 1)
    if state == RunState.FAILED:
        assert (run.due_at, run.finished_at) == (None, LATER)
        assert run.reason == "The worker was lost 5 times in a row without a checkpoint: given up."


@pytest.mark.parametrize("on_interrupt", ["resume", "suspend"])
@pytest.mark.parametrize("interruptions", [0, POISON_AFTER])
def test_a_lost_run_whose_cancel_was_asked_for_is_cancelled(on_interrupt: str, interruptions: int) -> None:
    run = make_run(RunState.RUNNING, on_interrupt=on_interrupt, interruption_count=interruptions)
    operations.cancel(run, now=NOW, actor="ann")
    rescue_lost(now=LATER)
    run.refresh_from_db()
    assert (run.state, run.finished_at) == (RunState.CANCELLED, LATER)
    assert run.reason == "The worker was lost; a cancel had been asked for."


def test_lost_runs_are_cancelled_each_for_the_reason_that_was_given_for_it() -> None:
    runs = {reason: make_run(RunState.RUNNING) for reason in ("Wrong day.", "No use.", "")}
    for reason, run in runs.items():
        operations.cancel(run, now=NOW, actor="ann", reason=reason)
    assert rescue_lost(now=LATER) == 3
    for reason, run in runs.items():
        said = f"The worker was lost; a cancel had been asked for. {reason}".strip()
        assert TaskRun.objects.get(pk=run.pk).reason == said


# --- the guard ----------------------------------------------------------------------------------------------------


def test_who_is_known_to_be_gone_is_freed_before_the_lease_ends() -> None:
    run = make_run(RunState.RUNNING)
    assert free([run], now=NOW, detail="Its process died.") == 1
    run.refresh_from_db()
    assert run.reason == "The worker was lost; the run goes on where it was. Its process died."
    assert RunEvent.objects.filter(run=run).latest("id").reason == run.reason


@pytest.mark.parametrize(
    "meanwhile",
    [
        {"lease_token": 2, "lease_owner": "another"},
        {"state": RunState.DONE, "finished_at": NOW, "lease_expires_at": None},
        {"state": RunState.PENDING, "due_at": NOW, "lease_expires_at": None},
        {"cancel_requested_at": NOW},
    ],
    ids=str,
)
def test_what_changed_since_it_was_read_is_left_alone(meanwhile: dict[str, Any]) -> None:
    run = make_run(RunState.RUNNING)
    read = TaskRun.objects.get(pk=run.pk)
    TaskRun.objects.filter(pk=run.pk).update(**meanwhile)
    before = row(run)
    assert free([read], now=NOW) == 0
    assert row(run) == before


def test_a_cancel_that_came_while_a_lost_run_was_freed_is_heeded_at_the_next_look() -> None:
    run = make_run(RunState.RUNNING)
    read = TaskRun.objects.get(pk=run.pk)
    operations.cancel(run, now=NOW, actor="ann")
    assert free([read], now=NOW) == 0
    assert rescue_lost(now=LATER) == 1
    assert TaskRun.objects.get(pk=run.pk).state == RunState.CANCELLED


def test_a_worker_frees_an_attempt_only_while_it_still_holds_the_run() -> None:
    run = make_run(RunState.RUNNING)
    assert not rescuing.free_attempt(Claim(run.pk, run.lease_token + 1), now=NOW, detail="")
    assert not rescuing.free_attempt(Claim(run.pk), now=NOW, detail="")
    assert rescuing.free_attempt(claim_of(run), now=NOW, detail="It broke off.")
    assert not rescuing.free_attempt(claim_of(run), now=NOW, detail="")
    assert TaskRun.objects.get(pk=run.pk).reason.endswith("It broke off.")


def test_nobody_lost_is_nothing_to_free() -> None:
    assert free([], now=NOW) == 0
