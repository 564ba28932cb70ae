"""A worker that stands still for longer than its lease, and goes on afterwards: it is fenced, down to the item."""

import pytest

from scheduler.states import RunState
from tests.faults.books import audit_marks, audit_runs
from tests.faults.house import House
from tests.processes import lives

pytestmark = pytest.mark.slow


def test_a_worker_frozen_beyond_its_lease_is_fenced_when_it_goes_on_and_works_again(house: House) -> None:
    house.scanners()
    frozen = house.runner()
    run = house.open(seconds=0.5)
    house.wait_for_item(run, 4)

    frozen.freeze()
    other = house.runner()
    house.wait_for(RunState.DONE, run)
    frozens_child = house.marks(run)[0]["pid"]
    marks_until_then = house.marks(run)
    frozen.thaw()
    house.wait_until(lambda: not lives(frozens_child), what="the job that outlived its lease to be ended")

    assert house.marks(run) == marks_until_then
    assert house.outcomes(run) == ["lost", "done"]
    audit_marks(run, house.marks(run))
    other.kill9()
    another = house.open()
    house.wait_for(RunState.DONE, another)
    audit_runs()
