"""Redis is emptied, restarted, hung, full or cut off: rows stay due, and nothing is lost or done twice."""

import os
import signal

import pytest
import redis

from project.models import ScanMark
from project.services import Redis
from scheduler.models import TaskRun
from scheduler.states import RunState
from tests.faults.house import House

pytestmark = pytest.mark.slow

ALL_TEN = list(range(1, 11))


def test_redis_emptied_while_runs_wait_and_run_loses_and_doubles_nothing(house: House) -> None:
    house.scanners()
    house.runner(TIDELINE_RUNNERS="1")
    working, *waiting = runs = [house.open(seconds=0.2), house.open(), house.open()]
    house.wait_for_item(working, 3)

    redis.Redis.from_url(house.broker.url).flushall()

    house.wait_for(RunState.DONE, *runs, seconds=45)
    each_done_once(house, runs)


def test_redis_killed_and_restarted_empty_loses_and_doubles_nothing(house: House) -> None:
    house.scanners()
    house.runner(TIDELINE_RUNNERS="1")
    working, waiting = house.open(seconds=0.4), house.open()
    house.wait_for_item(working, 3)

    kill(house.broker)
    opened_meanwhile = house.open()
    house.processes.wait_until(broker_is_said_to_be_unreachable, what="the scan to say so")
    house.wait_for(RunState.DONE, working)
    house.broker.launch()

    runs = [working, waiting, opened_meanwhile]
    house.wait_for(RunState.DONE, *runs, seconds=45)
    each_done_once(house, runs)


def test_a_hung_redis_leaves_rows_due_and_a_job_at_work(house: House) -> None:
    house.scanners()
    house.runner()
    working = house.open(seconds=0.4)
    house.wait_for_item(working, 2)

    hang(house.broker)
    waiting = house.open()
    house.processes.wait_until(broker_is_said_to_be_unreachable, what="the scan to say so")
    house.wait_for(RunState.DONE, working)
    waiting.refresh_from_db()
    assert (waiting.state, waiting.attempt_count) == (RunState.PENDING, 0)
    go_on(house.broker)

    house.wait_for(RunState.DONE, waiting, seconds=45)
    each_done_once(house, [working, waiting])


def each_done_once(house: House, runs: list[TaskRun]) -> None:
    """Assert that each run was executed once and took each item once."""
    for run in runs:
        assert house.outcomes(run) == ["done"]
        assert house.items(run) == ALL_TEN


def broker_is_said_to_be_unreachable() -> bool:
    """Return whether the rows say that the broker cannot be reached."""
    return ScanMark.objects.filter(note__startswith="Broker unreachable").exists()


def kill(server: Redis) -> None:
    """Kill the server; it forgets everything."""
    assert server.process is not None
    server.process.kill()
    server.process.wait()


def hang(server: Redis) -> None:
    """Stop the server in its tracks: connections stay open, and nobody answers."""
    assert server.process is not None
    os.kill(server.process.pid, signal.SIGSTOP)


def go_on(server: Redis) -> None:
    """Let a hung server go on."""
    assert server.process is not None
    os.kill(server.process.pid, signal.SIGCONT)
