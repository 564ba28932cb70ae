"""Jobs that hang, crash, block or return nonsense: each has an end, and its neighbours do not notice."""

import pytest

from scheduler.states import RunState
from tests.faults.house import LEASE_SECONDS, House

pytestmark = pytest.mark.slow

ALL_TEN = list(range(1, 11))


def test_a_job_that_hangs_ends_at_its_timeout_and_the_slot_is_free(house: House) -> None:
    house.scanners()
    house.runner(TIDELINE_RUNNERS="1")
    waiting = house.open(hold_at=1, timeout_seconds=1)
    asking = house.open("test.statement", seconds=60, timeout_seconds=1)
    stubborn = house.open("test.stubborn", seconds=60, timeout_seconds=1)
    next_one = house.open("test.one")

    house.wait_for(RunState.DONE, next_one, seconds=45)

    for run in (waiting, asking, stubborn):
        run.refresh_from_db()
        assert run.state == RunState.FAILED
        assert house.outcomes(run) == ["timed_out"]


def test_a_job_that_is_busy_in_c_for_longer_than_a_lease_keeps_it(house: House) -> None:
    house.scanners()
    house.runner()

    run = house.open("test.busy", seconds=LEASE_SECONDS * 1.5)

    house.wait_for(RunState.DONE, run)
    assert house.items(run) == ["begin", "end"]
    assert house.outcomes(run) == ["done"]


def test_a_job_that_takes_its_process_along_is_given_up_after_five_times_and_its_neighbours_go_on(house: House) -> None:
    house.scanners()
    house.runner()
    neighbour = house.open(seconds=1.0)
    house.wait_for_item(neighbour, 1)

    deadly = house.open("test.exits")

    house.wait_for(RunState.FAILED, deadly)
    assert house.outcomes(deadly) == ["lost"] * 5
    assert "5 times in a row" in deadly.reason
    house.wait_for(RunState.DONE, neighbour)
    assert house.outcomes(neighbour) == ["done"]
    assert house.items(neighbour) == ALL_TEN


def test_a_job_that_holds_its_own_row_does_not_cost_its_neighbour_the_lease(house: House) -> None:
    house.scanners()
    house.runner()

    holding = house.open("test.transaction", seconds=LEASE_SECONDS * 1.5)
    house.wait_for_item(holding, "begin")
    neighbour = house.open(items=10, seconds=LEASE_SECONDS * 0.15)

    house.wait_for(RunState.DONE, neighbour, holding)
    assert house.outcomes(neighbour) == ["done"]
    assert house.items(neighbour) == ALL_TEN


def test_a_job_that_fails_puts_itself_off_or_returns_nonsense_leaves_its_worker_at_work(house: House) -> None:
    house.scanners()
    house.runner(TIDELINE_RUNNERS="1")
    failing = house.open("test.raises", retry_delays=[1])
    deferring = house.open("test.defers", seconds=1)
    returning = house.open("test.returns")
    house.wait_for(RunState.DONE, deferring, returning)
    house.processes.wait_until(lambda: len(house.outcomes(failing)) == 2, what="the retry")

    house.wait_for(RunState.FAILED, failing)
    assert failing.finished_at is not None
    assert house.outcomes(failing) == ["failed", "failed"]
    assert house.outcomes(deferring) == ["deferred", "done"]
    assert house.outcomes(returning) == ["done"]
    assert len({mark["pid"] for mark in house.marks()}) == 1
