"""However an execution is interrupted, its run's rows say so and nothing is left running."""

import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from django.db import ProgrammingError, connection, transaction

from project.kit.clock import database_now
from quotas import defining
from quotas.models import Quota
from quotas.refusals import PauseNeeded, Refused
from quotas.states import Kind, WaitReason
from scheduler import operations
from scheduler.executing import execute
from scheduler.identity import ThisWorker
from scheduler.jobs import RunContext
from scheduler.jobs.interrupts import Cancelled, Deferred, LeaseLost, RunInterrupted, Stopping, TimedOut
from scheduler.models import TaskRun
from scheduler.states import AttemptOutcome, EventTrigger, RunState
from tests.scheduler.executions import attempt_of, raising, run_job
from tests.scheduler.factories import HOUR, SECOND, events_of, launched, make_run, registered

pytestmark = pytest.mark.django_db


# --- interruptions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [0, 90])
def test_a_job_that_defers_itself_waits_as_long_as_it_said(worker: ThisWorker, seconds: int) -> None:
    before = database_now()
    run = run_job(lambda run: run.defer(seconds=seconds, reason="the page is not ready"), worker)
    assert (run.state, run.reason) == (RunState.DEFERRED, "the page is not ready")
    assert run.due_at is not None
    assert before + seconds * SECOND <= run.due_at <= database_now() + seconds * SECOND
    assert (attempt_of(run).outcome, run.failure_count) == (AttemptOutcome.DEFERRED, 0)


def test_a_job_that_defers_itself_to_an_instant_waits_for_it(worker: ThisWorker) -> None:
    until = datetime(2030, 1, 1, tzinfo=UTC)
    assert run_job(lambda run: run.defer(until=until, reason=""), worker).due_at == until


def test_a_job_whose_worker_stops_is_due_elsewhere_at_once_with_its_last_checkpoint(worker: ThisWorker) -> None:
    def job(run: RunContext) -> None:
        worker.signals.stop()
        run.checkpoint(page=1)

    run = run_job(job, worker)
    assert (run.state, run.progress, run.interruption_count) == (RunState.PENDING, {"page": 1}, 0)
    assert run.due_at is not None
    assert run.due_at <= database_now()
    assert (attempt_of(run).outcome, run.reason) == (
        AttemptOutcome.HANDED_BACK,
        "The worker was stopping; the run goes on elsewhere.",
    )


def test_interruptions_of_tasks_side_by_side_are_one(worker: ThisWorker) -> None:
    """asyncio.TaskGroup raises them as a group, which no `except` for one of them catches."""

    def job(run: RunContext) -> None:
        raise BaseExceptionGroup("", [ValueError(), BaseExceptionGroup("", [Deferred("later", seconds=60)])])

    run = run_job(job, worker)
    assert (run.state, run.reason) == (RunState.DEFERRED, "later")


def test_a_run_that_was_refused_side_by_side_waits_for_all_that_refused_it(worker: ThisWorker) -> None:
    for key in ("calls", "tokens"):
        defining.create(key=key, kind=Kind.CAPACITY, limit=0, now=database_now())

    def job(run: RunContext) -> None:
        raise BaseExceptionGroup("", [PauseNeeded(_refusal("calls")), PauseNeeded(_refusal("tokens"))])

    run = run_job(job, worker)
    assert run.state == RunState.PAUSED
    assert sorted(run.waits.values_list("quota__key", flat=True)) == ["calls", "tokens"]


def test_a_group_without_interruptions_is_a_failure(worker: ThisWorker) -> None:
    def job(run: RunContext) -> None:
        raise ExceptionGroup("both", [ValueError("one"), ValueError("two")])

    assert run_job(job, worker).state == RunState.FAILED


def _refusal(key: str) -> Refused:
    quota_id = Quota.objects.get(key=key).pk
    return Refused(
        key,
        quota_id=quota_id,
        blocker=key,
        amount=1,
        available=0,
        why=WaitReason.OWN_BUDGET,
        expected_at=None,
    )


def test_a_job_that_is_cancelled_ends_at_its_next_checkpoint(worker: ThisWorker) -> None:
    def job(run: RunContext) -> None:
        run.checkpoint(page=1)
        operations.cancel(TaskRun.objects.get(pk=run.run_id), now=database_now(), actor="ann")
        run.checkpoint(page=2)

    run = run_job(job, worker)
    assert (run.state, run.progress) == (RunState.CANCELLED, {"page": 1})
    assert attempt_of(run).outcome == AttemptOutcome.CANCELLED


def test_a_job_that_catches_every_exception_is_interrupted_all_the_same(worker: ThisWorker) -> None:
    def job(run: RunContext) -> str:
        worker.signals.stop()
        try:
            run.checkpoint(page=1)
        except Exception:
            return "swallowed"
        return "went on"

    assert run_job(job, worker).state == RunState.PENDING


@pytest.mark.parametrize(
    "error", [Cancelled(), LeaseLost(), Stopping(), TimedOut("late"), RunInterrupted("odd")], ids=repr
)
def test_an_interruption_that_a_job_raises_by_itself_leaves_nothing_running(
    worker: ThisWorker, error: RunInterrupted
) -> None:
    run = run_job(raising(error), worker)
    assert run.state in (RunState.FAILED, RunState.PENDING)
    assert attempt_of(run).finished_at is not None


# --- the lease ----------------------------------------------------------------------------------------------------


def test_a_job_whose_lease_was_taken_over_writes_nothing_more(worker: ThisWorker) -> None:
    def job(run: RunContext) -> str:
        TaskRun.objects.filter(pk=run.run_id).update(lease_token=9, lease_owner="another")
        return "too late"

    run = run_job(job, worker)
    assert (run.state, run.lease_token, run.lease_owner, run.result) == (RunState.RUNNING, 9, "another", None)
    assert attempt_of(run).finished_at is None


def test_a_job_that_saw_its_lease_end_gives_the_run_free_if_nobody_has_it(worker: ThisWorker) -> None:
    """Otherwise the worker's next heartbeat would keep for ever what nobody works on."""

    def job(run: RunContext) -> None:
        run.checkpoint(page=1)
        TaskRun.objects.filter(pk=run.run_id).update(lease_expires_at=database_now() - SECOND)
        run.checkpoint(page=2)

    run = run_job(job, worker)
    assert (run.state, run.progress, run.interruption_count) == (RunState.PENDING, {"page": 1}, 1)
    assert attempt_of(run).outcome == AttemptOutcome.LOST
    assert "The lease or the database was away for too long." in run.reason


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "result", [{1, 2}, object(), float("nan"), {"a": float("inf")}, "a\x00b", ["\ud83d"]], ids=lambda one: repr(one)[:7]
)
def test_a_result_that_no_database_can_keep_is_kept_as_python_shows_it(worker: ThisWorker, result: object) -> None:
    def job(run: RunContext) -> object:
        run.log("did it")
        return result

    run = run_job(job, worker)
    assert run.state == RunState.DONE
    assert isinstance(run.result, str)
    assert repr(result)[:4] in run.result


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("broken", [False, True])
def test_a_job_that_leaves_a_transaction_open_or_broken_behind_is_settled_all_the_same(
    worker: ThisWorker, broken: bool
) -> None:
    def job(run: RunContext) -> None:
        transaction.set_autocommit(False)
        if broken:
            with suppress(ProgrammingError), connection.cursor() as cursor:
                cursor.execute("nonsense")

    run = run_job(job, worker)
    assert connection.get_autocommit()
    assert run.state == RunState.DONE


@pytest.mark.parametrize("error", [KeyboardInterrupt(), GeneratorExit()], ids=repr)
def test_an_execution_that_is_broken_off_leaves_nothing_running(worker: ThisWorker, error: BaseException) -> None:
    with registered(raising(error)) as key:
        run = make_run(now=database_now(), job=key)
        with pytest.raises(type(error)):
            execute(launched(run), worker, database_now)
    run.refresh_from_db()
    assert (run.state, attempt_of(run).outcome) == (RunState.PENDING, AttemptOutcome.LOST)
    assert f"Its execution broke off ({type(error).__name__})." in run.reason


def test_a_fault_between_begin_and_job_leaves_nothing_running(
    worker: ThisWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(now=database_now(), job="test.noop")
    monkeypatch.setattr("scheduler.executing.RunContext", raising(ZeroDivisionError()))
    with pytest.raises(TypeError):
        execute(launched(run), worker, database_now)
    run.refresh_from_db()
    assert run.state == RunState.PENDING


# --- timeouts -----------------------------------------------------------------------------------------------------


@pytest.fixture
def alarm() -> Iterator[None]:
    """Give the alarm signal back as it was."""
    handler, timer = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)
    yield
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, *timer)


class RunningAhead:
    """A clock that shows, from the third question on, that the timeout is nearly over."""

    def __init__(self) -> None:
        self._asked = 0

    def __call__(self) -> datetime:
        self._asked += 1
        ahead = timedelta(0) if self._asked < 3 else timedelta(seconds=59.9)
        return database_now() + ahead


@pytest.mark.usefixtures("alarm")
@pytest.mark.parametrize(("of_run", "of_job"), [(60, None), (None, 60), (60, 999)])
def test_an_attempt_that_takes_longer_than_its_timeout_is_ended(
    worker: ThisWorker, of_run: int | None, of_job: int | None
) -> None:
    never = threading.Event()
    with registered(lambda run: never.wait(60), timeout_seconds=of_job) as key:
        run = make_run(now=database_now(), job=key, timeout_seconds=of_run, retry_delays=[600])
        execute(launched(run), worker, RunningAhead())
    run.refresh_from_db()
    attempt = attempt_of(run)
    assert (run.state, attempt.outcome) == (RunState.FAILED, AttemptOutcome.TIMED_OUT)
    assert attempt.error.startswith("The attempt took longer than its timeout of ")
    assert events_of(run)[-1][2] == EventTrigger.TIMEOUT
    assert run.due_at is not None


@pytest.mark.usefixtures("alarm")
def test_an_attempt_within_its_timeout_leaves_no_alarm_behind(worker: ThisWorker) -> None:
    before = signal.getsignal(signal.SIGALRM)
    deadlines: list[datetime | None] = []
    run = run_job(lambda run: deadlines.append(run.deadline), worker, timeout_seconds=3600)
    assert run.state == RunState.DONE
    assert deadlines[0] is not None
    assert database_now() < deadlines[0] <= database_now() + HOUR
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    assert run.deadline_at is None


def test_a_job_without_a_timeout_has_no_deadline(worker: ThisWorker) -> None:
    deadlines: list[datetime | None] = []
    run_job(lambda run: deadlines.append(run.deadline), worker)
    assert deadlines == [None]
