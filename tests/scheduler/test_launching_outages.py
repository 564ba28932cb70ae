"""A broker that is away, dies amid a launch or refuses loses nothing; and the scans that launch."""

from collections.abc import Callable
from typing import Any

import pytest
import redis

from project.kit.clock import database_now
from project.services import Redis
from scheduler import launching, running, tasks
from scheduler.launching import Launched, launch_due
from scheduler.models import TaskRun
from scheduler.states import RunState
from scheduler.transitions import Claim
from tests.races.helpers import run_after
from tests.scheduler.factories import DAY, MINUTE, NOW, SECOND, WORKER, make_run, make_schedule, registered, row
from tests.scheduler.queue import Queue

pytestmark = pytest.mark.django_db


def now_is(run: TaskRun) -> TaskRun:
    """Return the run as the database has it now."""
    return TaskRun.objects.get(pk=run.pk)


# --- a broker that is away ----------------------------------------------------------------------------------------

SAID = "Broker unreachable ({}): due runs stay due until it is back."


def test_while_the_broker_is_away_the_rows_stay_due_and_the_scan_says_so(
    own_queue: Queue, redis_server: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run()
    before = row(run)
    redis_server.stop()
    slept: list[float] = []
    monkeypatch.setattr("kombu.utils.functional.sleep", slept.append)
    launched = launch_due(now=NOW)
    assert sum(slept) <= 1, "the scan waits for a broker that is away"
    assert (launched.runs, launched.hints) == (0, 0)
    assert launched.error.startswith("Broker unreachable (")
    assert launched.error.endswith("): due runs stay due until it is back.")
    assert row(run) == before
    assert tasks.launch_due() == launched.error

    redis_server.launch()
    assert launch_due(now=NOW + SECOND) == Launched(1, 1)
    assert own_queue.run_ids == [run.pk]


def test_when_the_broker_dies_between_lease_and_send_the_runs_are_due_again_at_once(
    own_queue: Queue, redis_server: Redis
) -> None:
    runs = [make_run() for _ in range(3)]
    with run_after("scheduler.launching._lease_due", redis_server.stop, elsewhere=False):
        launched = launch_due(now=NOW)
    assert launched.error
    assert {now_is(run).lease_expires_at for run in runs} == {None}

    redis_server.launch()
    assert launch_due(now=NOW).runs == 3
    assert own_queue.hints == [[(run.pk, 2)] for run in runs]


@pytest.mark.parametrize("error", [redis.ConnectionError, redis.TimeoutError, redis.ResponseError, OSError])
def test_whatever_the_broker_refuses_with_the_runs_are_given_back(
    queue: Queue, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    """A Redis out of memory refuses to take, and answers all the same."""

    def refuse(*args: Any) -> None:
        raise error("no")

    run = make_run()
    monkeypatch.setattr(launching, "_publish", refuse)
    assert launch_due(now=NOW) == Launched(error=SAID.format(error.__name__))
    assert now_is(run).lease_expires_at is None


def test_a_hint_of_a_run_that_was_given_back_begins_nothing(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some hints may have got through before the broker died."""
    make_run()
    send: Callable[..., None] = launching._publish

    def send_and_fail(*args: Any) -> None:
        send(*args)
        raise redis.ConnectionError("lost")

    monkeypatch.setattr(launching, "_publish", send_and_fail)
    launch_due(now=NOW)
    for hint in queue.hints:
        assert running.begin(Claim(*hint[0]), WORKER, now=NOW) is None


# --- the scans ----------------------------------------------------------------------------------------------------


def test_the_scan_that_fires_launches_what_it_opened(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = make_schedule(due=NOW)
    monkeypatch.setattr(tasks, "database_now", lambda: NOW)
    assert tasks.fire_due() == ""
    assert queue.run_ids == [TaskRun.objects.get(schedule=schedule).pk]
    assert tasks.fire_due() == ""
    assert tasks.launch_due() == ""
    assert len(queue.hints) == 1


def test_the_scans_ask_the_database_what_time_it_is(queue: Queue) -> None:
    """B80: no clock of a process decides."""
    now = database_now()
    make_run(due_at=now + MINUTE)
    due = make_run(due_at=now)
    lost, kept = make_run(RunState.RUNNING, now=now - MINUTE), make_run(RunState.RUNNING, now=now)
    assert tasks.launch_due() == ""
    assert queue.run_ids == [due.pk]
    tasks.rescue_lost()
    assert (now_is(lost).state, now_is(kept).state) == (RunState.PENDING, RunState.RUNNING)


def test_the_task_of_a_hint_executes_its_runs(queue: Queue) -> None:
    done: list[int] = []
    with registered(lambda run: done.append(run.run_id)) as key:
        run = make_run(job=key, due_at=NOW - DAY)
        launch_due(now=NOW)
        tasks.run([list(claim) for claim in queue.take()])
    assert done == [run.pk]
    assert now_is(run).state == RunState.DONE
