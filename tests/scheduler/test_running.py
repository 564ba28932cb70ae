"""The worker's side of a run's rows: begin it, settle it, give it back."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from scheduler import operations, running
from scheduler.models import Attempt, RunEvent, TaskRun
from scheduler.running import RETRY_JITTER, Outcome, next_retry_at
from scheduler.states import TERMINAL, AttemptOutcome, EventTrigger, RunState
from scheduler.transitions import AttemptEnd, Claim
from tests.scheduler.factories import (
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    WORKER,
    claim_of,
    events_of,
    launched,
    make_run,
    make_schedule,
    row,
)

pytestmark = pytest.mark.django_db

LATER = NOW + HOUR
DONE = Outcome(RunState.DONE, AttemptOutcome.DONE)
FAILED = Outcome(RunState.FAILED, AttemptOutcome.FAILED, error="it broke", reason="it broke", traceback="line 1")
DEFERRED = Outcome(RunState.DEFERRED, AttemptOutcome.DEFERRED, reason="not yet", due_at=LATER + HOUR)
HANDED_BACK = Outcome(RunState.PENDING, AttemptOutcome.HANDED_BACK, EventTrigger.STOP, due_at=LATER)
CANCELLED = Outcome(RunState.CANCELLED, AttemptOutcome.CANCELLED)


def settle(run: TaskRun, outcome: Outcome) -> TaskRun:
    """Settle a run at LATER and return its row."""
    assert running.settle(run, outcome, now=LATER)
    return TaskRun.objects.get(pk=run.pk)


# --- begin --------------------------------------------------------------------------------------------------------


def test_the_worker_that_begins_a_run_has_its_lease(settings: Any) -> None:
    settings.TIDELINE_LEASE_SECONDS = 45
    run = running.begin(launched(make_run()), WORKER, now=LATER)
    assert run is not None
    assert (run.state, run.attempt_count, run.lease_token) == (RunState.RUNNING, 1, 1)
    assert (run.lease_owner, run.lease_expires_at) == (WORKER.name, LATER + 45 * SECOND)


def test_a_hint_that_is_out_of_date_begins_nothing() -> None:
    """B34, B35."""
    run = make_run()
    claim = launched(run)
    assert running.begin(claim, WORKER, now=NOW)
    assert running.begin(claim, WORKER, now=NOW) is None
    assert running.begin(Claim(0, 1), WORKER, now=NOW) is None


def test_a_run_whose_key_is_taken_gives_its_launch_back_and_waits() -> None:
    """B52: never two at once, whatever the hints say."""
    schedule = make_schedule()
    make_run(RunState.RUNNING, schedule=schedule)
    waiting = make_run(schedule=schedule)
    assert running.begin(launched(waiting), WORKER, now=NOW) is None
    after = TaskRun.objects.get(pk=waiting.pk)
    assert (after.state, after.due_at, after.lease_expires_at) == (RunState.PENDING, NOW, None)
    assert (after.attempt_count, len(events_of(waiting))) == (0, 1)


def test_runs_without_a_key_run_side_by_side() -> None:
    schedule = make_schedule(overlap="allow")
    make_run(RunState.RUNNING, schedule=schedule)
    assert running.begin(launched(make_run(schedule=schedule)), WORKER, now=NOW)


def test_a_launch_is_given_back_only_by_its_own_token_and_only_before_it_is_begun() -> None:
    own, stale, begun = make_run(), make_run(), make_run()
    claims = [launched(own), launched(stale), launched(begun)]
    launched(stale)
    running.begin(claims[2], WORKER, now=NOW)
    running.give_back(claims)
    leases = [TaskRun.objects.get(pk=run.pk).lease_expires_at is not None for run in (own, stale, begun)]
    assert leases == [False, True, True]


def test_the_runs_of_a_shared_hint_are_held_while_it_is_executed_but_only_those_that_are_launched_by_it() -> None:
    own, longer, stale, begun, returned = (make_run() for _ in range(5))
    claims = [launched(own), launched(longer, seconds=7200), launched(stale), launched(begun), launched(returned)]
    launched(stale)
    running.begin(claims[3], WORKER, now=NOW)
    running.give_back([claims[4]])
    before = {run.pk: TaskRun.objects.get(pk=run.pk).lease_expires_at for run in (longer, stale, begun, returned)}
    running.keep_launched(claims, now=LATER)
    assert TaskRun.objects.get(pk=own.pk).lease_expires_at == LATER + running.SHARED_HINT_LEASE
    assert {pk: TaskRun.objects.get(pk=pk).lease_expires_at for pk in before} == before


def test_nothing_is_given_back_by_nobody() -> None:
    running.give_back([])


@pytest.mark.parametrize(("seconds", "deadline"), [(None, None), (90, NOW + 90 * SECOND)])
def test_an_attempt_has_a_deadline_if_it_has_a_timeout(seconds: int | None, deadline: Any) -> None:
    run = make_run(RunState.RUNNING)
    running.limit_attempt(run, seconds, now=NOW)
    assert run.deadline_at == TaskRun.objects.get(pk=run.pk).deadline_at == deadline


def test_a_worker_that_lost_its_lease_sets_no_deadline() -> None:
    run = make_run(RunState.RUNNING)
    TaskRun.objects.filter(pk=run.pk).update(lease_token=2)
    running.limit_attempt(run, 90, now=NOW)
    assert TaskRun.objects.get(pk=run.pk).deadline_at is None


# --- settle -------------------------------------------------------------------------------------------------------


def test_a_run_that_is_done_keeps_its_result_and_output() -> None:
    run = make_run(RunState.RUNNING)
    after = settle(run, replace(DONE, result={"pages": 3}, output="all well"))
    assert (after.state, after.result, after.finished_at, after.due_at) == (RunState.DONE, {"pages": 3}, LATER, None)
    attempt = Attempt.objects.get(run=run)
    assert (attempt.outcome, attempt.output, attempt.finished_at) == (AttemptOutcome.DONE, "all well", LATER)
    assert events_of(run)[-1] == ("running", "done", "job")


def test_a_deferred_run_waits_for_its_time_and_says_why() -> None:
    run = make_run(RunState.RUNNING)
    after = settle(run, DEFERRED)
    assert (after.state, after.due_at, after.reason) == (RunState.DEFERRED, LATER + HOUR, "not yet")
    assert Attempt.objects.get(run=run).outcome == AttemptOutcome.DEFERRED


def test_a_run_that_is_handed_back_is_due_at_once() -> None:
    run = make_run(RunState.RUNNING)
    after = settle(run, HANDED_BACK)
    assert (after.state, after.due_at, after.interruption_count) == (RunState.PENDING, LATER, 0)
    assert events_of(run)[-1] == ("running", "pending", "stop")


@pytest.mark.parametrize("outcome", [DONE, FAILED, DEFERRED, HANDED_BACK, CANCELLED], ids=lambda one: one.attempt)
@pytest.mark.parametrize("asked", [False, True])
def test_no_settling_clears_the_progress(outcome: Outcome, asked: bool) -> None:
    run = make_run(RunState.RUNNING, progress={"page": 7}, progress_done=7, progress_total=9)
    if asked:
        operations.cancel(run, now=NOW, actor="ann")
    after = settle(run, outcome)
    assert (after.progress, after.progress_done, after.progress_total) == ({"page": 7}, 7, 9)


@pytest.mark.parametrize("outcome", [DONE, FAILED, DEFERRED, HANDED_BACK, CANCELLED], ids=lambda one: one.attempt)
def test_the_outcome_of_a_lost_lease_does_not_count(outcome: Outcome) -> None:
    """B43: a late finish is rejected, never two successes."""
    run = make_run(RunState.RUNNING)
    TaskRun.objects.filter(pk=run.pk).update(lease_token=2)
    before = row(run)
    assert not running.settle(run, outcome, now=LATER)
    assert row(run) == before
    assert Attempt.objects.get(run=run).finished_at is None


@pytest.mark.parametrize("state", [state for state in RunState if state != RunState.RUNNING])
@pytest.mark.parametrize("outcome", [DONE, FAILED, CANCELLED], ids=lambda one: one.attempt)
def test_only_a_running_run_is_settled(state: RunState, outcome: Outcome) -> None:
    run = make_run(state)
    before = row(run)
    assert not running.settle(run, outcome, now=LATER)
    assert row(run) == before


@pytest.mark.parametrize("text", ["a\x00b", "half a character: \udcff", "\ud83d"])
def test_whatever_a_job_says_can_be_written(text: str) -> None:
    run = make_run(RunState.RUNNING)
    settle(run, replace(FAILED, error=text, reason=text, traceback=text, output=text))
    attempt = Attempt.objects.get(run=run)
    assert {attempt.error, attempt.traceback, attempt.output} == {
        text.replace("\x00", "").replace("\udcff", "?").replace("\ud83d", "?")
    }


# --- failures and retries -----------------------------------------------------------------------------------------


def test_a_failure_without_retries_is_final() -> None:
    run = make_run(RunState.RUNNING)
    after = settle(run, FAILED)
    assert (after.state, after.due_at, after.finished_at, after.failure_count) == (RunState.FAILED, None, LATER, 1)
    assert after.reason == "it broke"
    attempt = Attempt.objects.get(run=run)
    assert (attempt.outcome, attempt.error, attempt.traceback) == (AttemptOutcome.FAILED, "it broke", "line 1")


@pytest.mark.parametrize(("failures", "delay"), [(0, 60), (1, 600), (2, None), (3, None)])
def test_each_failure_takes_the_next_delay_and_the_last_is_final(failures: int, delay: int | None) -> None:
    """B49: the retry is due at now plus the delay, in no zone but UTC."""
    run = make_run(RunState.RUNNING, retry_delays=[60, 600], failure_count=failures)
    after = settle(run, FAILED)
    assert after.failure_count == failures + 1
    if delay is None:
        assert (after.due_at, after.finished_at) == (None, LATER)
    else:
        assert after.finished_at is None
        assert after.due_at is not None
        assert delay * SECOND <= after.due_at - LATER <= delay * SECOND * (1 + RETRY_JITTER)


def test_a_retry_is_never_early_and_never_later_than_its_jitter() -> None:
    waits = [_wait(TaskRun(pk=number, retry_delays=[100])) for number in range(1, 500)]
    assert min(waits) >= 100 * SECOND
    assert max(waits) <= 110 * SECOND


def test_failures_of_one_moment_do_not_come_back_as_one() -> None:
    waits = {_wait(TaskRun(pk=number, retry_delays=[100])) for number in range(1, 500)}
    assert len(waits) > 450
    assert max(waits) - min(waits) > 9 * SECOND


def test_the_same_failure_of_the_same_run_always_waits_the_same_and_the_next_one_not() -> None:
    run = TaskRun(pk=7, retry_delays=[100, 100])
    assert _wait(run) == _wait(run)
    assert _wait(run) != _wait(TaskRun(pk=7, retry_delays=[100, 100], failure_count=1))


def test_a_retry_without_delay_is_due_at_once() -> None:
    assert next_retry_at(TaskRun(pk=1, retry_delays=[0]), NOW) == NOW


def _wait(run: TaskRun) -> timedelta:
    retry_at = next_retry_at(run, NOW)
    assert retry_at is not None
    return retry_at - NOW


# --- cancel asked -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", [FAILED, DEFERRED, HANDED_BACK, CANCELLED], ids=lambda one: one.attempt)
def test_a_run_whose_cancel_was_asked_for_is_cancelled_however_it_stops(outcome: Outcome) -> None:
    run = make_run(RunState.RUNNING, retry_delays=[60])
    operations.cancel(run, now=NOW + MINUTE, actor="ann")
    after = settle(run, replace(outcome, output="so far"))
    assert (after.state, after.finished_at, after.due_at) == (RunState.CANCELLED, LATER, None)
    assert after.failure_count == 0
    attempt = Attempt.objects.get(run=run)
    assert (attempt.outcome, attempt.output, attempt.error) == (AttemptOutcome.CANCELLED, "so far", outcome.error)
    assert events_of(run)[-1] == ("running", "cancelled", "manual")
    assert RunEvent.objects.filter(run=run).latest("id").actor == "ann"


def test_a_run_that_is_done_stays_done_although_its_cancel_was_asked_for() -> None:
    run = make_run(RunState.RUNNING)
    operations.cancel(run, now=NOW, actor="ann")
    assert settle(run, DONE).state == RunState.DONE


def test_a_job_that_says_it_is_cancelled_though_nobody_asked_has_failed() -> None:
    run = make_run(RunState.RUNNING)
    after = settle(run, CANCELLED)
    assert (after.state, after.reason) == (
        RunState.FAILED,
        "The job ended itself as cancelled, but nobody had asked to cancel it.",
    )
    assert Attempt.objects.get(run=run).outcome == AttemptOutcome.FAILED


def test_only_a_cancel_that_was_asked_for_cancels() -> None:
    run = make_run(RunState.RUNNING)
    end = AttemptEnd(AttemptOutcome.HANDED_BACK)
    assert not running.cancel_asked_for(claim_of(run), end, now=NOW)
    operations.cancel(run, now=NOW, actor="ann")
    assert not running.cancel_asked_for(Claim(run.pk, run.lease_token + 1), end, now=NOW)
    assert running.cancel_asked_for(claim_of(run), end, now=NOW)
    assert TaskRun.objects.get(pk=run.pk).state in TERMINAL


def test_a_launch_is_given_back_in_one_statement_however_many_they_are(django_assert_num_queries: Any) -> None:
    claims = [launched(make_run()) for _ in range(20)]
    with django_assert_num_queries(1, connection=connection):
        running.give_back(claims)
    assert not TaskRun.objects.filter(lease_expires_at__isnull=False).exists()
