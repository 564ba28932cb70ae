"""The worker process's care for the runs of its children: with real children, and an hour that passes at will."""

import os
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError

from scheduler import operations
from scheduler.keeping import KILL_AFTER, LeaseKeeper
from scheduler.models import Attempt, TaskRun
from scheduler.states import AttemptOutcome, RunState
from tests.scheduler.factories import A_MOMENT, NOW, SECOND, events_of, make_run, row
from tests.scheduler.keepers import LEASE, Child, Station, held, lives, now_is, was_killed

pytestmark = pytest.mark.django_db


# --- leases -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("later", "extended"), [(4.9, False), (5.0, True), (5.1, True)])
def test_the_leases_are_extended_each_sixth_of_their_length(station: Station, later: float, extended: bool) -> None:
    run = held(station)
    station.tick()
    assert now_is(run).lease_expires_at == NOW + 30 * SECOND
    station.at(later).tick()
    assert now_is(run).lease_expires_at == (station.now if extended else NOW) + 30 * SECOND


@pytest.mark.parametrize(("later", "looks"), [(0.9, False), (1.0, True)])
def test_the_rows_are_looked_at_once_a_second(
    station: Station, later: float, looks: bool, django_assert_max_num_queries: Any
) -> None:
    station.tick()
    with django_assert_max_num_queries(10) as asked:
        station.at(later).tick()
    assert bool(len(asked)) == looks


def test_only_the_worker_s_own_running_runs_are_extended(station: Station) -> None:
    others = make_run(RunState.RUNNING, lease_owner="another")
    waiting = make_run(RunState.SUSPENDED)
    before = [row(others), row(waiting)]
    station.at(10).tick()
    assert [row(others), row(waiting)] == before


def test_a_lease_is_said_to_hold_from_before_the_question_was_sent(station: Station) -> None:
    station.tick()
    station.at(LEASE - 0.1)
    assert station.worker.signals.leases_hold
    station.at(LEASE)
    assert not station.worker.signals.leases_hold


def test_a_worker_of_which_nothing_runs_keeps_its_leases_as_well(station: Station) -> None:
    for seconds in range(0, 120, 5):
        station.at(seconds).tick()
    assert station.worker.signals.leases_hold


def test_many_runs_cost_no_more_statements_than_one(station: Station, django_assert_max_num_queries: Any) -> None:
    held(station)
    with django_assert_max_num_queries(20) as one:
        station.tick()
    for _ in range(20):
        held(station)
    with django_assert_max_num_queries(len(one)):
        station.at(5).tick()


def test_a_database_that_is_away_is_borne(station: Station, monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> datetime:
        raise OperationalError("the database is away")

    monkeypatch.setattr("scheduler.keeping.connection.close", lambda: None)
    keeper = LeaseKeeper(station.worker, away, lambda: station.seconds)
    keeper.tick()


# --- children that die --------------------------------------------------------------------------------------------


def test_the_runs_of_a_child_that_died_are_free_at_once(station: Station, children: Callable[[], Child]) -> None:
    """B37, B38."""
    dead, living = children(), children()
    lost, kept = held(station, dead, progress={"page": 7}), held(station, living)
    station.tick()
    assert now_is(lost).state == RunState.RUNNING
    dead.kill()
    dead.wait()
    station.at(1).tick()
    assert (now_is(lost).state, now_is(lost).progress) == (RunState.PENDING, {"page": 7})
    assert now_is(lost).reason.endswith("Its process died.")
    assert now_is(kept).state == RunState.RUNNING


def test_a_child_that_is_dead_and_not_yet_buried_is_dead(station: Station, children: Callable[[], Child]) -> None:
    child = children()
    run = held(station, child)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it stays a zombie
    station.tick()
    assert now_is(run).state == RunState.PENDING


def test_the_dead_children_of_others_are_left_to_them(station: Station, children: Callable[[], Child]) -> None:
    child = children()
    run = make_run(RunState.RUNNING, lease_owner="another", lease_pid=child.pid)
    child.kill()
    child.wait()
    station.tick()
    assert now_is(run).state == RunState.RUNNING


# --- jobs that hang -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("since_deadline", "ended"), [(KILL_AFTER - A_MOMENT, False), (KILL_AFTER, False), (KILL_AFTER + A_MOMENT, True)]
)
def test_a_job_that_does_not_heed_its_timeout_is_killed_some_seconds_later(
    station: Station, children: Callable[[], Child], since_deadline: timedelta, ended: bool
) -> None:
    child = children()
    run = held(station, child, deadline_at=NOW - since_deadline, retry_delays=[60])
    Attempt.objects.filter(run=run).update(output="so far")
    station.tick()
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
    station: Station, children: Callable[[], Child], monkeypatch: pytest.MonkeyPatch
) -> None:
    child = children()
    run = held(station, child, deadline_at=NOW - 60 * SECOND)
    looked = list(TaskRun.objects.filter(pk=run.pk))
    TaskRun.objects.filter(pk=run.pk).update(state="done", finished_at=NOW, lease_expires_at=None)
    monkeypatch.setattr(station.keeper, "_held", lambda: looked)
    station.tick()
    assert lives(child)


def test_a_hanging_job_whose_cancel_was_asked_for_is_cancelled_and_killed(
    station: Station, children: Callable[[], Child]
) -> None:
    child = children()
    run = held(station, child, deadline_at=NOW - 60 * SECOND)
    operations.cancel(run, now=NOW, actor="ann")
    station.tick()
    assert was_killed(child)
    assert now_is(run).state == RunState.CANCELLED
