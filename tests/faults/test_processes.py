"""What the tests start they can kill to the last, and nothing else."""

import signal
from pathlib import Path

import psutil
import pytest

from tests.processes import Processes, Started, lives

pytestmark = pytest.mark.django_db(transaction=True)


def start_family(processes: Processes, folder: Path) -> tuple[Started, int]:
    """Start a process with a child; return it, and the number of the child."""
    note = folder / "child"
    parent = processes.run("family", f"sleep 300 & echo $! > {note}.new; mv {note}.new {note}; wait")
    processes.wait_until(note.exists, what="the child")
    return parent, int(note.read_text())


def test_children_that_outlived_their_parent_are_killed_with_its_group(processes: Processes, tmp_path: Path) -> None:
    parent, child = start_family(processes, tmp_path)
    parent.kill_main()
    assert (parent.runs(), lives(child)) == (False, True)

    parent.kill9()

    processes.wait_until(lambda: not lives(child), what="the child to end")


def test_the_number_of_a_group_stays_ours_until_all_of_it_was_killed(processes: Processes, tmp_path: Path) -> None:
    parent, _ = start_family(processes, tmp_path)
    parent.kill_main()
    assert parent.wait() == -signal.SIGKILL
    assert psutil.Process(parent.pid).status() == psutil.STATUS_ZOMBIE

    parent.kill9()

    assert not psutil.pid_exists(parent.pid)
    parent.terminate_group()  # reaches nobody: the number may be another's by now
    assert parent.wait() == -signal.SIGKILL


def test_the_exit_status_is_that_of_the_process(processes: Processes) -> None:
    assert processes.run("three", "exit 3").wait() == 3
