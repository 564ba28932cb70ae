"""The runs of a worker that died on this machine are free at once; those of other machines wait for their leases."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from scheduler.identity import worker_name
from scheduler.keeping import free_of_dead_neighbours
from scheduler.states import RunState
from tests.scheduler.factories import NOW, make_run
from tests.scheduler.keepers import Child, now_is

pytestmark = pytest.mark.django_db


def dead_worker(child: Child) -> str:
    """Kill the process and return the name under which it would have worked."""
    host, _, _, boot = worker_name().rsplit(":", 3)
    started = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[19]
    child.kill()
    child.wait()
    return f"{host}:{child.pid}:{started}:{boot}"


def test_the_runs_of_a_dead_neighbour_are_free_before_their_leases_end(children: Callable[[], Child]) -> None:
    """B40: also when it was started again under the same host name and beats."""
    run = make_run(RunState.RUNNING, lease_owner=dead_worker(children()), lease_pid=None)
    mine = make_run(RunState.RUNNING, lease_owner=worker_name(), lease_pid=os.getpid())
    assert free_of_dead_neighbours(now=NOW) == 1
    assert now_is(run).state == RunState.PENDING
    assert now_is(run).reason.endswith("Its worker process died.")
    assert now_is(mine).state == RunState.RUNNING
    assert free_of_dead_neighbours(now=NOW) == 0


@pytest.mark.parametrize("part", [0, 3])
def test_what_belongs_to_another_host_or_boot_is_left_to_its_lease(children: Callable[[], Child], part: int) -> None:
    parts = dead_worker(children()).rsplit(":", 3)
    parts[part] = "b00b"
    run = make_run(RunState.RUNNING, lease_owner=":".join(parts))
    assert free_of_dead_neighbours(now=NOW) == 0
    assert now_is(run).state == RunState.RUNNING


def test_a_child_that_outlived_its_worker_keeps_its_run_until_the_lease_ends(children: Callable[[], Child]) -> None:
    orphan = children()
    run = make_run(RunState.RUNNING, lease_owner=dead_worker(children()), lease_pid=orphan.pid)
    assert free_of_dead_neighbours(now=NOW) == 0
    orphan.kill()
    orphan.wait()
    assert free_of_dead_neighbours(now=NOW) == 1
    assert now_is(run).state == RunState.PENDING


def test_an_owner_that_bears_no_name_of_ours_stops_no_rescue(children: Callable[[], Child]) -> None:
    make_run(RunState.RUNNING, lease_owner="somebody")
    lost = make_run(RunState.RUNNING, lease_owner=dead_worker(children()))
    assert free_of_dead_neighbours(now=NOW) == 1
    assert now_is(lost).state == RunState.PENDING
