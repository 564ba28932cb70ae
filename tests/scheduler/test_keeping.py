"""The worker process's care for the runs of its children: with real children, and an hour that passes at will."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError

from scheduler import keeping, operations
from scheduler.identity import SharedSignals, ThisWorker
from scheduler.keeping import KILL_AFTER, LeaseKeeper
from scheduler.models import Attempt, TaskRun
from scheduler.states import AttemptOutcome, RunState
from tests.scheduler.factories import A_MOMENT, NOW, SECOND, events_of, make_run, row

pytestmark = pytest.mark.django_db

LEASE = 30.0
Child = subprocess.Popen[bytes]


class House:
    """A worker process whose clocks stand still until they are moved."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = self._began = time.monotonic()
        monkeypatch.setattr(time, "monotonic", lambda: self.seconds)
        self.worker = ThisWorker("host:1:1:boot", SharedSignals())
        self.ended_with: list[int] = []
        self.keeper = LeaseKeeper(self.worker, lambda: self.now, lambda: self.seconds, self.ended_with.append)

    @property
    def now(self) -> datetime:
        """What the database's clock shows."""
        return NOW + timedelta(seconds=self.seconds - self._began)

    def at(self, seconds: float) -> "House":
        """Move the clocks to so many seconds after the beginning."""
        self.seconds = self._began + seconds
        return self

    def tick(self) -> None:
        """Look after the rows."""
        self.keeper.tick()

    def guard(self) -> None:
        """Look after the leases without the database."""
        self.keeper.guard()


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch, settings: Any) -> House:
    """A worker process with a lease of 30 seconds."""
    settings.TIDELINE_LEASE_SECONDS = int(LEASE)
    return House(monkeypatch)


@pytest.fixture
def children() -> Iterator[Callable[[], Child]]:
    """Makes processes that wait, and buries them."""
    born: list[Child] = []

    def bear() -> Child:
        born.append(subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE))
        return born[-1]

    yield bear
    for child in born:
        child.kill()
        child.communicate()


def held(house: House, child: Child | None = None, **fields: Any) -> TaskRun:
    """Make a run that the house's worker holds, in a child or in no process that is known."""
    values = {"lease_owner": house.worker.name, "lease_pid": child.pid if child else None, **fields}
    return make_run(RunState.RUNNING, now=house.now, **values)


def now_is(run: TaskRun) -> TaskRun:
    """Return the run as the database has it now."""
    return TaskRun.objects.get(pk=run.pk)


def was_killed(child: Child) -> bool:
    """Return whether the child was killed, which must be at once."""
    try:
        return child.wait(5) == -9
    except subprocess.TimeoutExpired:
        return False


def lives(child: Child) -> bool:
    """Return whether the child is there and nobody has killed it."""
    return child.poll() is None


# --- leases -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("later", "extended"), [(4.9, False), (5.0, True), (5.1, True)])
def test_the_leases_are_extended_each_sixth_of_their_length(house: House, later: float, extended: bool) -> None:
    run = held(house)
    house.tick()
    assert now_is(run).lease_expires_at == NOW + 30 * SECOND
    house.at(later).tick()
    assert now_is(run).lease_expires_at == (house.now if extended else NOW) + 30 * SECOND


@pytest.mark.parametrize(("later", "looks"), [(0.9, False), (1.0, True)])
def test_the_rows_are_looked_at_once_a_second(
    house: House, later: float, looks: bool, django_assert_max_num_queries: Any
) -> None:
    house.tick()
    with django_assert_max_num_queries(10) as asked:
        house.at(later).tick()
    assert bool(len(asked)) == looks


def test_only_the_worker_s_own_running_runs_are_extended(house: House) -> None:
    others = make_run(RunState.RUNNING, lease_owner="another")
    waiting = make_run(RunState.SUSPENDED)
    before = [row(others), row(waiting)]
    house.at(10).tick()
    assert [row(others), row(waiting)] == before


def test_a_lease_is_said_to_hold_from_before_the_question_was_sent(house: House) -> None:
    house.tick()
    house.at(LEASE - 0.1)
    assert house.worker.signals.leases_hold
    house.at(LEASE)
    assert not house.worker.signals.leases_hold


def test_a_worker_of_which_nothing_runs_keeps_its_leases_as_well(house: House) -> None:
    for seconds in range(0, 120, 5):
        house.at(seconds).tick()
    assert house.worker.signals.leases_hold


def test_many_runs_cost_no_more_statements_than_one(house: House, django_assert_max_num_queries: Any) -> None:
    held(house)
    with django_assert_max_num_queries(20) as one:
        house.tick()
    for _ in range(20):
        held(house)
    with django_assert_max_num_queries(len(one)):
        house.at(5).tick()


def test_a_database_that_is_away_is_borne(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> datetime:
        raise OperationalError("the database is away")

    monkeypatch.setattr("scheduler.keeping.connection.close", lambda: None)
    keeper = LeaseKeeper(house.worker, away, lambda: house.seconds)
    keeper.tick()


# --- children that die --------------------------------------------------------------------------------------------


def test_the_runs_of_a_child_that_died_are_free_at_once(house: House, children: Callable[[], Child]) -> None:
    """B37, B38."""
    dead, living = children(), children()
    lost, kept = held(house, dead, progress={"page": 7}), held(house, living)
    house.tick()
    assert now_is(lost).state == RunState.RUNNING
    dead.kill()
    dead.wait()
    house.at(1).tick()
    assert (now_is(lost).state, now_is(lost).progress) == (RunState.PENDING, {"page": 7})
    assert now_is(lost).reason.endswith("Its process died.")
    assert now_is(kept).state == RunState.RUNNING


def test_a_child_that_is_dead_and_not_yet_buried_is_dead(house: House, children: Callable[[], Child]) -> None:
    child = children()
    run = held(house, child)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it stays a zombie
    house.tick()
    assert now_is(run).state == RunState.PENDING


def test_the_dead_children_of_others_are_left_to_them(house: House, children: Callable[[], Child]) -> None:
    child = children()
    run = make_run(RunState.RUNNING, lease_owner="another", lease_pid=child.pid)
    child.kill()
    child.wait()
    house.tick()
    assert now_is(run).state == RunState.RUNNING


# --- jobs that hang -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("since_deadline", "ended"), [(KILL_AFTER - A_MOMENT, False), (KILL_AFTER, False), (KILL_AFTER + A_MOMENT, True)]
)
def test_a_job_that_does_not_heed_its_timeout_is_killed_some_seconds_later(
    house: House, children: Callable[[], Child], since_deadline: timedelta, ended: bool
) -> None:
    child = children()
    run = held(house, child, deadline_at=NOW - since_deadline, retry_delays=[60])
    Attempt.objects.filter(run=run).update(output="so far")
    house.tick()
    assert lives(child) != ended or was_killed(child)
    if not ended:
        assert now_is(run).state == RunState.RUNNING
        return
    after, attempt = now_is(run), Attempt.objects.get(run=run)
    assert (after.state, after.failure_count, after.interruption_count) == (RunState.FAILED, 1, 0)
    assert after.due_at is not None
    assert (attempt.outcome, attempt.output) == (AttemptOutcome.TIMED_OUT, "so far")
    assert attempt.error == "The attempt did not heed its timeout; its process was killed."
    assert events_of(run)[-1] == ("running", "failed", "timeout")


def test_a_child_that_settled_its_overdue_run_meanwhile_is_not_killed(
    house: House, children: Callable[[], Child], monkeypatch: pytest.MonkeyPatch
) -> None:
    child = children()
    run = held(house, child, deadline_at=NOW - 60 * SECOND)
    looked = list(TaskRun.objects.filter(pk=run.pk))
    TaskRun.objects.filter(pk=run.pk).update(state="done", finished_at=NOW, lease_expires_at=None)
    monkeypatch.setattr(house.keeper, "_held", lambda: looked)
    house.tick()
    assert lives(child)


def test_a_hanging_job_whose_cancel_was_asked_for_is_cancelled_and_killed(
    house: House, children: Callable[[], Child]
) -> None:
    child = children()
    run = held(house, child, deadline_at=NOW - 60 * SECOND)
    operations.cancel(run, now=NOW, actor="ann")
    house.tick()
    assert was_killed(child)
    assert now_is(run).state == RunState.CANCELLED


# --- the stop -----------------------------------------------------------------------------------------------------


def test_a_stop_is_told_to_the_jobs_at_once_and_kills_nobody_yet(house: House, children: Callable[[], Child]) -> None:
    child = children()
    run = held(house, child)
    house.tick()
    house.keeper.stop()
    assert house.worker.signals.stopping
    for seconds in (0.0, 4.0, 7.9):
        house.at(seconds).tick()
        house.guard()
    assert lives(child)
    assert now_is(run).state == RunState.RUNNING
    assert now_is(run).lease_expires_at == house.now + 30 * SECOND


@pytest.mark.parametrize("on_interrupt", ["resume", "suspend"])
def test_what_did_not_stop_after_eight_seconds_is_killed_and_handed_back(
    house: House, children: Callable[[], Child], on_interrupt: str
) -> None:
    """A deploy is no interruption that a person must decide about, and no sign of poison."""
    child = children()
    run = held(house, child, on_interrupt=on_interrupt, progress={"page": 7}, interruption_count=4)
    house.tick()
    house.keeper.stop()
    house.at(8).tick()
    assert was_killed(child)
    after = now_is(run)
    assert (after.state, after.due_at, after.progress) == (RunState.PENDING, house.now, {"page": 7})
    assert (after.interruption_count, Attempt.objects.get(run=run).outcome) == (4, AttemptOutcome.HANDED_BACK)
    assert events_of(run)[-1] == ("running", "pending", "stop")


@pytest.mark.parametrize("on_interrupt", ["resume", "suspend"])
def test_it_is_handed_back_also_when_the_guard_killed_it_first(
    house: House, children: Callable[[], Child], on_interrupt: str
) -> None:
    child = children()
    run = held(house, child, on_interrupt=on_interrupt)
    house.tick()
    house.keeper.stop()
    house.at(8.5).guard()
    assert was_killed(child)
    house.tick()
    assert (now_is(run).state, Attempt.objects.get(run=run).outcome) == (RunState.PENDING, AttemptOutcome.HANDED_BACK)


def test_a_run_that_was_begun_after_the_last_look_is_handed_back_too(
    house: House, children: Callable[[], Child]
) -> None:
    house.tick()
    house.keeper.stop()
    child = children()
    run = held(house, child)
    house.at(8).tick()
    assert was_killed(child)
    assert now_is(run).state == RunState.PENDING


def test_at_the_stop_a_run_whose_cancel_was_asked_for_is_cancelled(house: House) -> None:
    run = held(house)
    operations.cancel(run, now=NOW, actor="ann")
    house.keeper.stop()
    house.at(8).tick()
    assert now_is(run).state == RunState.CANCELLED


def test_a_second_stop_does_not_begin_anew(house: House) -> None:
    run = held(house)
    house.keeper.stop()
    house.at(7)
    house.keeper.stop()
    house.at(8).tick()
    assert now_is(run).state == RunState.PENDING


@pytest.mark.parametrize(("later", "ends"), [(9.3, []), (9.5, [0])])
def test_a_process_that_still_waits_ends_within_the_ten_seconds_of_a_container(
    house: House, later: float, ends: list[int]
) -> None:
    house.keeper.stop()
    house.at(later).guard()
    assert house.ended_with == ends


# --- without the database -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("later", "killed"), [(LEASE - 0.1, False), (LEASE, True), (LEASE + 5, True)])
def test_jobs_are_killed_when_their_leases_ran_out_and_no_database_is_needed_for_it(
    house: House, children: Callable[[], Child], django_assert_num_queries: Any, later: float, killed: bool
) -> None:
    child = children()
    held(house, child)
    house.tick()
    with django_assert_num_queries(0):
        house.at(later).guard()
    assert was_killed(child) if killed else lives(child)


def test_after_a_freeze_the_jobs_are_killed_before_their_leases_are_extended(
    house: House, children: Callable[[], Child]
) -> None:
    """B47: the host slept beyond the lease; somebody else may have the run by now."""
    child = children()
    run = held(house, child)
    house.tick()
    house.at(3600).tick()
    assert was_killed(child)
    house.at(3601).tick()
    assert now_is(run).state == RunState.PENDING


def test_the_guard_kills_each_child_once(house: House, children: Callable[[], Child], monkeypatch: Any) -> None:
    killed: list[int] = []
    monkeypatch.setattr(keeping, "_kill", killed.append)
    child = children()
    held(house, child)
    house.tick()
    house.at(LEASE + 1)
    house.guard()
    house.guard()
    assert killed == [child.pid]
