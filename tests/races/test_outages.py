"""The database goes away in the middle of an execution: what the job did counts, and nothing is left running."""

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from django.db import OperationalError, connection

from project.kit import outages
from project.kit.clock import database_now
from scheduler.executing import execute
from scheduler.identity import SharedSignals, ThisWorker
from scheduler.jobs import RunContext
from scheduler.models import Attempt, TaskRun
from scheduler.states import AttemptOutcome, RunState
from tests.races.helpers import do_elsewhere, run_after, run_before
from tests.scheduler.factories import launched, make_run, registered

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again at once."""
    monkeypatch.setattr(outages, "PAUSE_SECONDS", 0)


def cut_the_connection() -> None:
    """End this process's database session from outside, as a restart of PostgreSQL does."""
    connection.ensure_connection()
    pid = connection.connection.info.backend_pid

    def terminate() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s, 20000)", [pid])

    do_elsewhere(terminate)


def execute_with(job: Callable[[RunContext], object], **fields: Any) -> TaskRun:
    """Execute the function as a job of a run that was just launched, and return the run."""
    worker = ThisWorker("host:1:1:boot", SharedSignals())
    with registered(job) as key:
        run = make_run(now=database_now(), job=key, **fields)
        try:
            execute(launched(run, now=database_now()), worker, database_now)
        except OperationalError:
            connection.close()
    return TaskRun.objects.get(pk=run.pk)


def outcomes() -> list[str]:
    """Return how the attempts ended."""
    return list(Attempt.objects.values_list("outcome", flat=True))


def test_the_outcome_of_a_job_is_written_when_the_database_is_back() -> None:
    run = execute_with(lambda run: cut_the_connection())
    assert (run.state, outcomes()) == (RunState.DONE, [AttemptOutcome.DONE])


def test_a_connection_that_breaks_again_and_again_only_delays_the_outcome() -> None:
    cuts = iter(range(3))

    def cut_now_and_then() -> None:
        if next(cuts, None) is not None:
            connection.close()
            raise OperationalError("the database is away")

    with run_before("scheduler.transitions.move", cut_now_and_then, elsewhere=False):
        run = execute_with(lambda run: "result")
    assert (run.state, run.result) == (RunState.DONE, "result")


def test_a_begin_that_was_cut_off_before_it_was_written_is_made_up() -> None:
    with run_before("scheduler.transitions.begin", cut_the_connection, elsewhere=False):
        run = execute_with(lambda run: run.attempt)
    assert (run.state, run.result, outcomes()) == (RunState.DONE, 1, [AttemptOutcome.DONE])


def test_a_begin_whose_answer_is_lost_is_found_in_the_row_and_is_no_second_attempt() -> None:
    def lose_the_answer() -> None:
        raise OperationalError("the answer is lost")

    with run_after("scheduler.transitions.begin", lose_the_answer, elsewhere=False):
        run = execute_with(lambda run: run.attempt)
    assert (run.state, run.result, outcomes()) == (RunState.DONE, 1, [AttemptOutcome.DONE])


def test_a_cut_between_the_begin_and_the_job_frees_the_run_and_calls_no_job() -> None:
    called: list[int] = []
    with run_before("scheduler.running.limit_attempt", cut_the_connection, elsewhere=False):
        run = execute_with(lambda run: called.append(run.attempt), timeout_seconds=60)
    assert (run.state, outcomes(), called) == (RunState.PENDING, [AttemptOutcome.LOST], [])


def test_a_job_whose_own_statement_meets_the_cut_goes_on_elsewhere_and_has_not_failed() -> None:
    def job(run: RunContext) -> None:
        run.checkpoint(page=1)
        cut_the_connection()
        TaskRun.objects.count()

    run = execute_with(job, retry_delays=[])
    assert (run.state, run.progress, outcomes()) == (RunState.PENDING, {"page": 1}, [AttemptOutcome.LOST])


def test_a_checkpoint_that_meets_the_cut_is_saved_when_the_database_is_back() -> None:
    def job(run: RunContext) -> None:
        cut_the_connection()
        run.checkpoint(page=1)

    run = execute_with(job)
    assert (run.state, run.progress) == (RunState.DONE, {"page": 1})


def test_a_job_that_ends_while_the_database_is_away_has_not_failed() -> None:
    away = mock.patch.object(connection, "connect", side_effect=OperationalError("the database is away"))

    def job(run: RunContext) -> str:
        connection.close()
        away.start()
        return "result"

    with run_before("project.kit.outages.time.sleep", away.stop, elsewhere=False):
        run = execute_with(job)
    assert (run.state, run.result) == (RunState.DONE, "result")
