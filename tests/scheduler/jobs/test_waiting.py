"""What a job may rely on while it waits: a database that comes and goes, transactions, threads."""

import threading
from pathlib import Path

import pytest
from django.db import connection, transaction

from scheduler.identity import SharedSignals
from scheduler.jobs.context import RunContext
from scheduler.jobs.interrupts import LeaseLost
from scheduler.models import TaskRun
from scheduler.states import RunState
from tests.scheduler.jobs.conftest import Runs
from tests.scheduler.jobs.waiting import meanwhile, pids_in


@pytest.fixture
def context(runs: Runs) -> RunContext:
    """The context of a run that has just begun."""
    run = runs.open("command", {"command": "true"})
    TaskRun.objects.filter(pk=run.pk).update(attempt_count=1)
    run.attempts.create(number=1, token=0, worker="w", pid=1, due_at=run.due_at, started_at=run.created_at)
    return RunContext(TaskRun.objects.get(pk=run.pk), None, SharedSignals())


def shown(context: RunContext) -> str:
    return TaskRun.objects.get(pk=context.run_id).attempts.get().output


def our_session() -> int:
    """Return the number of this thread's session at the database, for another to end it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


@pytest.mark.slow
def test_a_command_outlives_a_restart_of_the_database(runs: Runs, tmp_path: Path) -> None:
    command = "echo $$ >> pids; while [ ! -e go ]; do sleep 0.05; done; echo end"
    run = runs.open("command", {"command": command, "cwd": str(tmp_path)})
    session = our_session()

    def cut() -> None:
        pids_in(tmp_path / "pids", 1)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s)", [session])
        runs.signals.wait_for_looks(8)  # more than a second's, so that the database was asked
        (tmp_path / "go").touch()

    with meanwhile(cut):
        executed = runs.execute(run)

    assert executed.state == RunState.DONE
    assert executed.output == "end\n"


def test_a_database_that_is_away_when_the_lease_has_ended_means_that_it_is_lost(
    context: RunContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    context._signals.leases_hold_until(0.0)
    with monkeypatch.context() as patch:
        patch.setitem(connection.settings_dict, "HOST", "/no/such/socket")
        connection.close()
        with pytest.raises(LeaseLost):
            context.raise_if_interrupted()


def test_output_amid_a_transaction_waits_for_its_end(context: RunContext) -> None:
    context.log("one")
    with transaction.atomic():
        context.output.flush()
        assert shown(context) == ""

    context.output.flush()

    assert shown(context) == "one\n"


def test_threads_may_write_to_the_output_and_leave_the_row_to_its_own(context: RunContext) -> None:
    context.output._flushed_at = float("-inf")  # a flush is overdue

    threads = [threading.Thread(target=context.log, args=["x" * 99]) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert shown(context) == ""
    context.output.refresh()
    assert shown(context) == f"{'x' * 99}\n" * 50


def test_the_bar_is_where_earlier_attempts_left_it(runs: Runs) -> None:
    run = runs.open("command", {"command": "true"}, progress_done=3, progress_total=9)

    context = RunContext(run, None, SharedSignals())

    assert (context.done, context.total) == (3, 9)


def test_a_runs_key_stays_and_is_its_own(runs: Runs) -> None:
    first, second = (runs.open("command", {"command": "true"}) for _ in range(2))

    keys = [RunContext(run, None, SharedSignals()).key for run in (first, TaskRun.objects.get(pk=first.pk), second)]

    assert keys[0] == keys[1] != keys[2]
