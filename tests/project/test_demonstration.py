"""What the try-out shows of quotas works as its descriptions say."""

from collections.abc import Iterator
from types import ModuleType

import pytest

from project.kit.clock import database_now
from quotas import charging
from quotas.models import Quota
from scheduler import launching, operations, recovering
from scheduler.executing import execute
from scheduler.identity import SharedSignals, ThisWorker
from scheduler.jobs.registry import JOBS
from scheduler.models import Schedule, TaskRun
from scheduler.states import RunState

pytestmark = pytest.mark.django_db

WORKER = ThisWorker("host:1:1:boot", SharedSignals())


@pytest.fixture(scope="module")
def demonstration() -> Iterator[ModuleType]:
    """The module, whose jobs are not left behind for other tests."""
    before = dict(JOBS)
    from project import demonstration

    yield demonstration
    JOBS.clear()
    JOBS.update(before)


@pytest.fixture
def run(demonstration: ModuleType, monkeypatch: pytest.MonkeyPatch) -> TaskRun:
    """The first run of the schedule that spends, without the pauses that stand for its calls."""
    monkeypatch.setattr(demonstration, "SECONDS_A_CALL", 0)
    demonstration.load(now=database_now())
    schedule = Schedule.objects.get(quota__key=demonstration.DEMO_QUOTA)
    return operations.run_now(schedule, now=database_now(), actor="ada")


def go_on() -> None:
    """Let the launcher and a worker do what they have to do."""
    for leased in launching._lease_due(database_now(), database_now(), 1):
        execute(leased.claim, WORKER, database_now)


def test_the_run_that_spends_pauses_whenever_in_a_minute_it_begins(demonstration: ModuleType, run: TaskRun) -> None:
    assert demonstration.ITEMS > 2 * demonstration.CALLS_A_MINUTE
    go_on()
    run.refresh_from_db()
    assert run.state == RunState.PAUSED
    assert demonstration.CALLS_A_MINUTE <= run.progress["call"] < demonstration.ITEMS


def test_it_goes_on_where_it_was_when_somebody_raises_the_limit(demonstration: ModuleType, run: TaskRun) -> None:
    go_on()
    charging.set_limit(demonstration.DEMO_QUOTA, 100, now=database_now())
    assert recovering.resume_by_events(now=database_now()) == 1
    go_on()

    run.refresh_from_db()
    assert (run.state, run.progress["call"]) == (RunState.DONE, demonstration.ITEMS)
    assert Quota.objects.get(key=demonstration.DEMO_QUOTA).spent_total == demonstration.ITEMS
