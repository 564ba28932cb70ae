"""Many runs at once: the broker holds few hints, memory stays flat, and stops and kills lose none."""

from datetime import timedelta

import psutil
import pytest
import redis
from django.db import connection

from project.kit.clock import database_now
from project.models import ScanMark
from scheduler.models import TaskRun
from scheduler.states import RunState
from tests.faults.books import audit_runs
from tests.faults.house import House
from tests.processes import Started

pytestmark = pytest.mark.slow

HINTS = "tideline:runs"
MEGABYTE = 1024 * 1024


def test_a_long_backlog_waits_in_rows_and_the_broker_holds_few_hints(house: House) -> None:
    limit = 20
    house.start("worker", "beat", TIDELINE_QUEUE_LIMIT=str(limit))
    runs = [house.open("test.single") for _ in range(100)]
    broker = redis.Redis.from_url(house.broker.url)
    house.wait_until(lambda: broker.llen(HINTS) >= limit, what="the first hints")
    scans = scans_so_far()
    house.wait_until(lambda: scans_so_far() >= scans + 3, what="three scans")
    scanners_at_once = 2  # each sees the same room
    assert limit <= broker.llen(HINTS) <= limit * scanners_at_once

    house.runner()

    house.wait_for(RunState.DONE, *runs)
    assert [house.items(run) for run in runs] == [[1]] * len(runs)


def test_runners_that_stop_amid_five_hundred_hints_lose_and_fail_none(house: House) -> None:
    house.scanners()
    runs = [house.open("test.single") for _ in range(500)]
    for already_done in (100, 250):
        runner = house.runner()
        house.wait_until(lambda least=already_done: done() >= least, what=f"{already_done} runs to be done")
        runner.terminate()
        runner.wait()
    house.runner()

    house.wait_for(RunState.DONE, *runs, seconds=60)
    assert sorted(mark["run"] for mark in house.marks() if "item" in mark) == [run.pk for run in runs]
    audit_runs()


def test_runs_that_are_due_later_cost_the_workers_no_memory(house: House) -> None:
    (worker, _), runner = house.start("worker", "beat"), house.runner()
    house.wait_for(RunState.DONE, house.open("test.one"))
    warm = scans_so_far() + 20  # a scan's first time makes pages of a child its own
    house.wait_until(lambda: scans_so_far() >= warm, what="the scans to have been done")
    before = memory(worker) + memory(runner)

    tomorrow = database_now() + timedelta(days=1)
    open_for_later(house.open(due_at=tomorrow), 20_000)
    scans = scans_so_far()
    house.wait_until(lambda: scans_so_far() >= scans + 5, what="five scans")

    assert redis.Redis.from_url(house.broker.url).llen(HINTS) == 0
    assert memory(worker) + memory(runner) - before < 10 * MEGABYTE


def test_a_run_that_failed_and_waits_is_not_started_early_by_a_restart(house: House) -> None:
    house.supervise("worker", "beat", "runner")
    failing = house.open("test.raises", retry_delays=[3600])
    house.wait_for(RunState.FAILED, failing)
    due_at = failing.due_at

    for process in house.processes.started:
        process.kill9()
    house.wait_for(RunState.DONE, house.open("test.one"))

    failing.refresh_from_db()
    assert (failing.state, failing.due_at) == (RunState.FAILED, due_at)
    assert len(house.marks(failing)) == 1


def done() -> int:
    """Return how many runs are done."""
    return TaskRun.objects.filter(state=RunState.DONE).count()


def scans_so_far() -> int:
    """Return how often due runs were looked for."""
    marks = ScanMark.objects.filter(name="launch due runs").values_list("beat_count", "watch_count")
    return sum(map(sum, marks))


def memory(process: Started) -> int:
    """Return the bytes that a process and its children have for themselves."""
    family = [psutil.Process(pid) for pid in (process.pid, *process.children())]
    return sum(member.memory_full_info().uss for member in family)


def open_for_later(like: TaskRun, number: int) -> None:
    """Open many runs like one that waits, due within the next hour."""
    columns = [field.column for field in TaskRun._meta.concrete_fields if field.column not in {"id", "due_at"}]
    names = ", ".join(columns)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO scheduler_taskrun ({names}, due_at)"  # noqa: S608 - the names are the model's
            f" SELECT {names}, now() + interval '1 minute' + interval '1 hour' * random()"
            " FROM scheduler_taskrun, generate_series(1, %s) WHERE id = %s",
            [number, like.pk],
        )
