"""One hint, one execution: what a job does is in its run's rows."""

import os
import sys
from datetime import datetime
from typing import Any

import pytest
from pydantic import BaseModel
from structlog.contextvars import get_contextvars

from project.kit.clock import database_now
from scheduler import executing
from scheduler.executing import execute, execute_hint
from scheduler.identity import ThisWorker
from scheduler.jobs import RunContext
from scheduler.jobs.interrupts import JobFailed
from scheduler.models import TaskRun
from scheduler.states import AttemptOutcome, RunState
from scheduler.transitions import Claim
from tests.scheduler.executions import attempt_of, raising, run_job
from tests.scheduler.factories import SECOND, events_of, launched, make_run, registered

pytestmark = pytest.mark.django_db


# --- how it goes --------------------------------------------------------------------------------------------------


def test_a_job_that_returns_is_done_with_its_result_and_output(worker: ThisWorker) -> None:
    def job(run: RunContext) -> dict[str, int]:
        run.log("hello")
        return {"pages": 3}

    run = run_job(job, worker)
    assert (run.state, run.result) == (RunState.DONE, {"pages": 3})
    attempt = attempt_of(run)
    assert (attempt.outcome, attempt.output, attempt.pid) == (AttemptOutcome.DONE, "hello\n", os.getpid())
    assert [event[1] for event in events_of(run)] == ["pending", "running", "done"]


def test_what_is_logged_in_an_execution_names_it(worker: ThisWorker) -> None:
    seen: list[dict[str, Any]] = []
    run = run_job(lambda run: seen.append(get_contextvars()), worker, attempt_count=2)
    assert seen == [{"run": run.pk, "attempt": 3, "schedule": run.schedule_id}]
    assert get_contextvars() == {}


def test_a_job_sees_its_day_its_instant_its_parameters_and_the_number_of_its_attempt(worker: ThisWorker) -> None:
    seen: list[Any] = []
    run = run_job(
        lambda run: seen.append((run.stat_date, run.planned_at, run.params, run.attempt, run.progress)),
        worker,
        params={"a": 1},
        progress={"page": 7},
        attempt_count=2,
        lease_token=5,
    )
    assert seen == [(run.stat_date, run.planned_at, {"a": 1}, 3, {"page": 7})]


class PageParams(BaseModel):
    """Parameters of a job of these tests."""

    pages: int


def test_a_job_with_a_model_gets_its_parameters_as_that_model(worker: ThisWorker) -> None:
    run = run_job(lambda run: run.params.pages, worker, job={"params": PageParams}, params={"pages": "3"})
    assert run.result == 3


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("no such page"), "ValueError: no such page"),
        (ValueError(), "ValueError"),
        (ValueError("two\nlines   of\ttext"), "ValueError: two lines of text"),
        (ValueError("long " * 1000), ("ValueError: " + "long " * 1000)[:1012]),
        (
            FileNotFoundError(2, "No such file", "\udcff.csv"),
            "FileNotFoundError: [Errno 2] No such file: '\\udcff.csv'",
        ),
        (ValueError("a\x00b \udcff"), "ValueError: ab ?"),
        (MemoryError(), "MemoryError"),
        (RecursionError("deep"), "RecursionError: deep"),
        (JobFailed("The page is empty."), "The page is empty."),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_job_that_raises_has_failed_and_says_why_in_one_line(worker: ThisWorker, error: Exception, said: str) -> None:
    run = run_job(raising(error), worker)
    assert (run.state, run.reason, run.finished_at is not None) == (RunState.FAILED, said, True)
    attempt = attempt_of(run)
    assert (attempt.outcome, attempt.error) == (AttemptOutcome.FAILED, said)
    assert ("raise error" in attempt.traceback) == (not isinstance(error, JobFailed))


def test_a_failure_that_came_from_elsewhere_brings_its_traceback(worker: ThisWorker) -> None:
    run = run_job(raising(JobFailed("It broke there.", traceback="line 1")), worker)
    assert attempt_of(run).traceback == "line 1"


@pytest.mark.parametrize("status", [0, 1, "bye", None])
def test_a_job_that_ends_its_process_has_failed_and_the_worker_lives(worker: ThisWorker, status: Any) -> None:
    run = run_job(lambda run: sys.exit(status), worker)
    assert (run.state, run.reason) == (RunState.FAILED, f"The job ended the process: exit status {status}.")


def test_a_job_that_failed_is_tried_again_after_its_delay_and_keeps_what_it_reached(worker: ThisWorker) -> None:
    def job(run: RunContext) -> None:
        run.checkpoint(page=run.progress.get("page", 0) + 1)
        raise ValueError("after the page")

    run = run_job(job, worker, retry_delays=[60])
    assert (run.state, run.progress, run.failure_count) == (RunState.FAILED, {"page": 1}, 1)
    assert run.due_at is not None
    assert run.due_at > database_now() + 50 * SECOND


def test_a_job_that_is_not_known_here_fails_with_a_sentence(worker: ThisWorker) -> None:
    run = make_run(now=database_now(), job="test.gone")
    execute(launched(run), worker, database_now)
    run.refresh_from_db()
    assert run.state == RunState.FAILED
    assert run.reason.startswith("No job “test.gone” is registered here.")


def test_parameters_that_do_not_fit_fail_with_a_sentence_and_the_job_is_not_called(worker: ThisWorker) -> None:
    run = run_job(raising(AssertionError("called")), worker, job={"params": PageParams}, params={"pages": "many"})
    assert run.state == RunState.FAILED
    assert run.reason.startswith("Parameter “pages”: ")


# --- hints --------------------------------------------------------------------------------------------------------


def test_a_hint_that_is_out_of_date_calls_no_job(worker: ThisWorker) -> None:
    """B34, B35."""
    called: list[int] = []
    with registered(lambda run: called.append(run.attempt)) as key:
        run = make_run(now=database_now(), job=key)
        claim = launched(run)
        for _ in range(3):
            execute(claim, worker, database_now)
        execute(Claim(run.pk, claim.token and claim.token - 1), worker, database_now)
    assert called == [1]


def hints(count: int, key: str) -> list[Claim]:
    """Return the claims of runs that were just launched."""
    return [launched(make_run(now=database_now(), job=key), now=database_now()) for _ in range(count)]


def test_the_later_runs_of_a_shared_hint_are_not_taken_for_lost_while_the_first_ones_are_executed(
    worker: ThisWorker,
) -> None:
    holding: list[bool] = []

    def look(run: RunContext) -> None:
        waiting = TaskRun.objects.filter(state=RunState.PENDING)
        holding.extend(run.lease_expires_at > database_now() for run in waiting if run.lease_expires_at)

    with registered(look) as key:
        claims = hints(3, key)
        TaskRun.objects.update(lease_expires_at=database_now() - SECOND)
        execute_hint(claims, worker, database_now)
    assert holding == [True, True, True]  # two wait for the first one, one for the second


def test_a_hint_for_several_runs_executes_them_in_their_order(worker: ThisWorker) -> None:
    order: list[int] = []
    with registered(lambda run: order.append(run.run_id)) as key:
        claims = hints(5, key)
        execute_hint(claims, worker, database_now)
    assert order == [claim.run_id for claim in claims]


def test_a_worker_that_is_stopping_gives_back_what_it_has_not_begun(worker: ThisWorker) -> None:
    def job(run: RunContext) -> None:
        worker.signals.stop()

    with registered(job) as key:
        claims = hints(3, key)
        execute_hint(claims, worker, database_now)
    states = [TaskRun.objects.get(pk=claim.run_id) for claim in claims]
    assert [run.state for run in states] == [RunState.DONE, RunState.PENDING, RunState.PENDING]
    assert all(run.lease_expires_at is None and run.attempt_count == 0 for run in states[1:])


def test_runs_that_turn_out_long_are_given_back_to_other_workers(
    worker: ThisWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executing, "HINT_SECONDS", -1.0)
    with registered(lambda run: None) as key:
        claims = hints(2, key)
        execute_hint(claims, worker, database_now)
    assert {TaskRun.objects.get(pk=claim.run_id).lease_expires_at for claim in claims} == {None}


def test_a_job_that_fails_does_not_keep_the_next_run_of_its_hint_from_its_turn(worker: ThisWorker) -> None:
    with registered(raising(ValueError("each time"))) as key:
        claims = hints(3, key)
        execute_hint(claims, worker, database_now)
    assert TaskRun.objects.filter(state=RunState.FAILED).count() == 3


def test_the_later_runs_of_a_hint_are_not_taken_for_lost_while_the_earlier_ones_run(worker: ThisWorker) -> None:
    leases: list[datetime | None] = []

    def look_at_all_leases(run: RunContext) -> None:
        leases.extend(TaskRun.objects.filter(state=RunState.PENDING).values_list("lease_expires_at", flat=True))

    with registered(look_at_all_leases) as key:
        late = database_now() - 14 * SECOND  # it waited in the queue for nearly as long as a launch holds
        claims = [launched(make_run(now=late, job=key), now=late) for _ in range(3)]
        execute_hint(claims, worker, database_now)
    assert len(leases) == 3
    assert all(lease is not None and lease > database_now() + 5 * SECOND for lease in leases)
