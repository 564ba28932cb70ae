"""When a worker stops, or cannot extend its leases, its jobs end in time."""

from collections.abc import Callable
from typing import Any

import pytest

from scheduler import keeping, operations
from scheduler.models import Attempt
from scheduler.states import AttemptOutcome, RunState
from tests.scheduler.factories import NOW, SECOND, events_of
from tests.scheduler.keepers import LEASE, Child, Station, held, lives, now_is, was_killed

pytestmark = pytest.mark.django_db


# --- the stop -----------------------------------------------------------------------------------------------------


def test_a_stop_is_told_to_the_jobs_at_once_and_kills_nobody_yet(
    station: Station, children: Callable[[], Child]
) -> None:
    child = children()
    run = held(station, child)
    station.tick()
    station.keeper.stop()
    assert station.worker.signals.stopping
    for seconds in (0.0, 4.0, 7.9):
        station.at(seconds).tick()
        station.guard()
    assert lives(child)
    assert now_is(run).state == RunState.RUNNING
    assert now_is(run).lease_expires_at == station.now + 30 * SECOND


@pytest.mark.parametrize("on_interrupt", ["resume", "suspend"])
def test_what_did_not_stop_after_eight_seconds_is_killed_and_handed_back(
    station: Station, children: Callable[[], Child], on_interrupt: str
) -> None:
    """A deploy is no interruption that a person must decide about, and no sign of poison."""
    child = children()
    run = held(station, child, on_interrupt=on_interrupt, progress={"page": 7}, interruption_count=4)
    station.tick()
    station.keeper.stop()
    station.at(8).tick()
    assert was_killed(child)
    after = now_is(run)
    assert (after.state, after.due_at, after.progress) == (RunState.PENDING, station.now, {"page": 7})
    assert (after.interruption_count, Attempt.objects.get(run=run).outcome) == (4, AttemptOutcome.HANDED_BACK)
    assert events_of(run)[-1] == ("running", "pending", "stop")


@pytest.mark.parametrize("on_interrupt", ["resume", "suspend"])
def test_it_is_handed_back_also_when_the_guard_killed_it_first(
    station: Station, children: Callable[[], Child], on_interrupt: str
) -> None:
    child = children()
    run = held(station, child, on_interrupt=on_interrupt)
    station.tick()
    station.keeper.stop()
    station.at(8.5).guard()
    assert was_killed(child)
    station.tick()
    assert (now_is(run).state, Attempt.objects.get(run=run).outcome) == (RunState.PENDING, AttemptOutcome.HANDED_BACK)


def test_a_run_that_was_begun_after_the_last_look_is_handed_back_too(
    station: Station, children: Callable[[], Child]
) -> None:
    station.tick()
    station.keeper.stop()
    child = children()
    run = held(station, child)
    station.at(8).tick()
    assert was_killed(child)
    assert now_is(run).state == RunState.PENDING


def test_at_the_stop_a_run_whose_cancel_was_asked_for_is_cancelled(station: Station) -> None:
    run = held(station)
    operations.cancel(run, now=NOW, actor="ann")
    station.keeper.stop()
    station.at(8).tick()
    assert now_is(run).state == RunState.CANCELLED


def test_a_second_stop_does_not_begin_anew(station: Station) -> None:
    run = held(station)
    station.keeper.stop()
    station.at(7)
    station.keeper.stop()
    station.at(8).tick()
    assert now_is(run).state == RunState.PENDING


@pytest.mark.parametrize(("later", "ends"), [(9.3, []), (9.5, [0])])
def test_a_process_that_still_waits_ends_within_the_ten_seconds_of_a_container(
    station: Station, later: float, ends: list[int]
) -> None:
    station.keeper.stop()
    station.at(later).guard()
    assert station.ended_with == ends


# --- without the database -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("later", "killed"), [(LEASE - 0.1, False), (LEASE, True), (LEASE + 5, True)])
def test_jobs_are_killed_when_their_leases_ran_out_and_no_database_is_needed_for_it(
    station: Station, children: Callable[[], Child], django_assert_num_queries: Any, later: float, killed: bool
) -> None:
    child = children()
    held(station, child)
    station.tick()
    with django_assert_num_queries(0):
        station.at(later).guard()
    assert was_killed(child) if killed else lives(child)


def test_after_a_freeze_the_jobs_are_killed_before_their_leases_are_extended(
    station: Station, children: Callable[[], Child]
) -> None:
    """B47: the host slept beyond the lease; somebody else may have the run by now."""
    child = children()
    run = held(station, child)
    station.tick()
    station.at(3600).tick()
    assert was_killed(child)
    station.at(3601).tick()
    assert now_is(run).state == RunState.PENDING


def test_the_guard_kills_each_child_once(station: Station, children: Callable[[], Child], monkeypatch: Any) -> None:
    killed: list[int] = []
    monkeypatch.setattr(keeping, "_kill", killed.append)
    child = children()
    held(station, child)
    station.tick()
    station.at(LEASE + 1)
    station.guard()
    station.guard()
    assert killed == [child.pid]


def test_a_run_that_was_begun_after_the_last_look_is_stopped_with_its_lease_all_the_same(
    station: Station, children: Callable[[], Child], monkeypatch: Any
) -> None:
    killed: list[int] = []
    monkeypatch.setattr(keeping, "_kill", killed.append)
    child = children()
    station.children.add(child.pid)
    station.tick()
    station.worker.signals.note_begun()
    station.at(LEASE - 1)
    station.guard()
    assert killed == []
    station.at(LEASE + 1)
    station.guard()
    station.guard()
    assert killed == [child.pid]


def test_idle_children_are_spared_when_the_leases_run_out(
    station: Station, children: Callable[[], Child], monkeypatch: Any
) -> None:
    killed: list[int] = []
    monkeypatch.setattr(keeping, "_kill", killed.append)
    station.children.add(children().pid)
    station.worker.signals.note_begun()
    station.tick()  # the rows tell of no run
    station.at(LEASE + 1)
    station.guard()
    assert killed == []
