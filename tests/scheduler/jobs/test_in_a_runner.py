"""The built-in jobs where they belong: in the children of a real runner, by hints through a real broker."""

import os
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest

from project.kit.clock import database_now
from scheduler import launching, operations
from scheduler.models import TaskRun
from scheduler.states import RunState
from tests.processes import Processes
from tests.scheduler.jobs.waiting import is_alive, pids_in, wait_until

pytestmark = pytest.mark.slow


def open_run(job: str, **params: Any) -> TaskRun:
    return operations.run_job(job, params, now=database_now(), actor="a test")


def launch() -> None:
    launching.launch_due(now=database_now())


def state(run: TaskRun) -> str:
    return TaskRun.objects.get(pk=run.pk).state


def test_each_kind_of_job_is_done(processes: Processes) -> None:
    runs = [
        open_run("command", command="echo hello"),
        open_run("management", command="check"),
        open_run("celery", task="demo.add", args=[2, 3]),
        open_run("http", url="http://127.0.0.1:1/", expected_status=[200]),
    ]
    processes.start("runner", TIDELINE_JOBS="project.demonstration")
    launch()

    processes.wait_until(lambda: [state(run) for run in runs] == ["done", "done", "done", "failed"], what="the runs")
    assert TaskRun.objects.get(pk=runs[2].pk).result == 5


def test_a_killed_runner_leaves_no_command_behind(processes: Processes, tmp_path: Path) -> None:
    run = open_run("command", command="echo $$ >> pids; exec sleep 600", cwd=str(tmp_path))
    runner = processes.start("runner")
    launch()
    (pid,) = pids_in(tmp_path / "pids", 1)

    runner.kill9()

    wait_until(lambda: not is_alive(pid), "the command's end")
    assert state(run) == RunState.RUNNING  # until somebody rescues it


def test_a_stopped_runner_hands_a_stubborn_command_back_in_time(processes: Processes, tmp_path: Path) -> None:
    command = "trap '' TERM; echo $$ >> pids; while :; do sleep 0.1; done"
    run = open_run("command", command=command, cwd=str(tmp_path))
    runner = processes.start("runner")
    launch()
    (pid,) = pids_in(tmp_path / "pids", 1)

    runner.terminate()
    runner.wait(30)

    assert not is_alive(pid)
    assert state(run) == RunState.PENDING
    assert TaskRun.objects.get(pk=run.pk).attempts.get().error == ""  # it was not killed by the worker


def test_a_child_that_is_told_to_stop_amid_a_celery_task_settles_its_run(processes: Processes, tmp_path: Path) -> None:
    run = open_run("celery", task="test.hold", args=[str(tmp_path)])
    processes.start("runner", TIDELINE_JOBS="tests.scheduler.jobs.held_tasks")
    launch()
    (pid,) = pids_in(tmp_path / "pids", 1)

    os.kill(pid, signal.SIGTERM)
    (tmp_path / "go").touch()

    processes.wait_until(lambda: state(run) == RunState.DONE, what="the run")
    wait_until(lambda: not psutil.pid_exists(pid), "the child's end")
    assert TaskRun.objects.get(pk=run.pk).attempt_count == 1
