"""A runner that is killed or asked to stop in the middle of a job: the run goes on where it was."""

import os
import signal
import time

import psutil
import pytest

from scheduler.models import TaskRun
from scheduler.states import RunState
from tests.faults.house import CONTAINER_GRACE_SECONDS, LONG_LEASE, House
from tests.processes import Started, lives

pytestmark = pytest.mark.slow

ALL_TEN = list(range(1, 11))


def went_on_where_it_was(house: House, run: TaskRun, first_outcome: str) -> None:
    """Assert that the run, interrupted at item 5, took each item once, in two attempts of one data day."""
    stat_date = run.stat_date
    house.wait_for(RunState.DONE, run)
    assert house.items(run) == ALL_TEN
    assert run.stat_date == stat_date
    assert {mark["stat_date"] for mark in house.marks(run)} == {stat_date.isoformat()}
    assert house.outcomes(run) == [first_outcome, "done"]


def test_kill_9_of_the_main_process_ends_its_children_and_the_run_goes_on_at_the_next_item(house: House) -> None:
    house.scanners()
    runner = house.runner(**LONG_LEASE)
    run = house.open(hold_at=5)
    house.wait_until_holds(run)
    children = runner.children()

    runner.kill_main()
    house.processes.wait_until(lambda: not any(map(lives, children)), what="the children to die with their parent")
    house.runner(**LONG_LEASE)

    went_on_where_it_was(house, run, "lost")


def test_kill_9_of_the_child_that_executes_and_the_run_goes_on_at_the_next_item(house: House) -> None:
    house.scanners()
    runner = house.runner(**LONG_LEASE)
    run, neighbour = house.open(hold_at=5), house.open(hold_at=1)
    child, neighbours_child = house.wait_until_holds(run, neighbour)

    os.kill(child["pid"], signal.SIGKILL)

    went_on_where_it_was(house, run, "lost")
    assert runner.runs()
    assert lives(neighbours_child["pid"])


def test_sigterm_hands_the_run_over_at_its_next_checkpoint(house: House) -> None:
    house.scanners()
    runner = house.runner(**LONG_LEASE)
    run = house.open(seconds=0.3)
    house.wait_for_item(run, 4)

    runner.terminate()
    assert_ends_within_grace(runner)
    house.runner(**LONG_LEASE)

    went_on_where_it_was(house, run, "handed_back")


def test_sigterm_to_the_whole_process_group_hands_the_run_over_at_its_next_checkpoint(house: House) -> None:
    house.scanners()
    runner = house.runner(**LONG_LEASE)
    run = house.open(seconds=0.3)
    house.wait_for_item(run, 4)

    runner.terminate_group()
    assert_ends_within_grace(runner)
    house.runner(**LONG_LEASE)

    went_on_where_it_was(house, run, "handed_back")


def test_a_job_that_ends_in_the_grace_time_is_not_run_again(house: House) -> None:
    house.scanners()
    runner = house.runner(**LONG_LEASE)
    run = house.open("test.graceful", seconds=1.0)
    house.wait_for_item(run, "begin")

    runner.terminate()
    assert_ends_within_grace(runner)
    house.wait_for(RunState.DONE, run)
    other = house.runner(**LONG_LEASE)
    house.wait_for(RunState.DONE, house.open("test.one"))

    assert other.runs()
    assert house.items(run) == ["begin", "end"]
    assert house.outcomes(run) == ["done"]


def test_a_job_that_ignores_the_stop_is_killed_and_its_run_handed_back(house: House) -> None:
    house.scanners()
    runner = house.runner(**LONG_LEASE)
    run = house.open("test.stubborn", seconds=60)
    house.wait_for_item(run, "begin")

    runner.terminate()
    assert_ends_within_grace(runner)

    run.refresh_from_db()
    assert run.state == RunState.PENDING
    assert house.outcomes(run) == ["handed_back"]
    assert not lives(house.marks(run)[0]["pid"])


def test_sigterm_to_one_child_interrupts_its_job_and_leaves_the_runner_at_work(house: House) -> None:
    house.scanners()
    runner = house.runner(**LONG_LEASE)
    run = house.open(seconds=0.3)
    house.wait_for_item(run, 4)

    os.kill(house.marks(run)[0]["pid"], signal.SIGTERM)

    house.wait_for(RunState.DONE, run)
    assert house.items(run) == ALL_TEN
    assert runner.runs()


def test_the_processes_of_a_command_end_with_their_killed_runner_and_the_command_runs_again(house: House) -> None:
    house.scanners()
    runner = house.runner(**LONG_LEASE)
    pids = house.marks_file.with_name("pids")
    run = house.open("command", command=f"echo $$ >> {pids}; sleep 300 & wait")
    house.wait_until(pids.exists, what="the command to begin")
    shell = psutil.Process(int(pids.read_text()))
    family = [shell.pid, *(child.pid for child in shell.children())]

    runner.kill_main()
    house.wait_until(lambda: not any(map(lives, family)), what="the command's processes to end")
    house.runner(**LONG_LEASE)

    house.wait_until(lambda: len(pids.read_text().split()) == 2, what="the command to begin again")
    assert house.outcomes(run) == ["lost", ""]


def test_a_runner_whose_children_begin_slowly_comes_up_and_replaces_them(house: House) -> None:
    house.scanners()
    runner = house.runner(TIDELINE_JOBS="tests.demo_jobs,tests.faults.slow_start")
    house.wait_for(RunState.DONE, house.open("test.one"))

    for child in runner.children():
        os.kill(child, signal.SIGKILL)

    house.wait_for(RunState.DONE, house.open("test.one"))


def assert_ends_within_grace(runner: Started) -> None:
    """Assert the promise of the product: a stop fits into the time that containers give."""
    asked = time.monotonic()
    assert runner.wait() == 0
    assert time.monotonic() - asked < CONTAINER_GRACE_SECONDS
