"""Heartbeat, checkpoint and rescue of the same run: who is fenced out, and who is not kept waiting."""

from datetime import timedelta

import pytest

from project.kit.clock import database_now
from scheduler import rescuing, running
from scheduler.identity import SharedSignals, ThisWorker
from scheduler.jobs import RunContext
from scheduler.jobs.interrupts import LeaseLost
from scheduler.keeping import LeaseKeeper
from scheduler.models import Attempt, TaskRun
from scheduler.running import Outcome
from scheduler.states import AttemptOutcome, RunState
from tests.races.helpers import run_before, winner_holding
from tests.scheduler.factories import HOUR, NOW, SECOND, WORKER, launched, make_run

pytestmark = pytest.mark.django_db(transaction=True)

LATER = NOW + HOUR
DONE = Outcome(RunState.DONE, AttemptOutcome.DONE)


def now_is(run: TaskRun) -> TaskRun:
    """Return the run as the database has it now."""
    return TaskRun.objects.get(pk=run.pk)


def test_a_heartbeat_between_the_rescuer_s_look_and_its_lock_wins() -> None:
    """B41: the lock is taken with the condition, so that what was extended meanwhile is not lost."""
    run = make_run(RunState.RUNNING)
    extend = TaskRun.objects.filter(pk=run.pk)
    with winner_holding(run, then=lambda: extend.update(lease_expires_at=LATER + HOUR)):
        assert rescuing.rescue_lost(now=LATER) == 0
    assert rescuing.rescue_lost(now=LATER) == 0
    assert now_is(run).state == RunState.RUNNING


def test_a_checkpoint_of_a_worker_that_was_thought_dead_is_refused() -> None:
    run = make_run(RunState.RUNNING, now=database_now())
    context = RunContext(run, {}, SharedSignals())
    with (
        run_before("scheduler.jobs.context.RunContext._save", lambda: rescuing.free([run], now=database_now())),
        pytest.raises(LeaseLost),
    ):
        context.checkpoint(page=1)
    assert now_is(run).progress == {}


def test_a_zombie_and_its_successor_never_share_a_token() -> None:
    """B43: the run was lost, launched and begun again; what the first one writes counts no more."""
    run = make_run(RunState.RUNNING, now=database_now())
    zombie = RunContext(run, {}, SharedSignals())
    rescuing.free([run], now=database_now())
    successor = running.begin(launched(now_is(run), now=database_now()), WORKER, now=database_now())
    assert successor is not None
    with pytest.raises(LeaseLost):
        zombie.checkpoint(page=1)
    assert not running.settle(run, DONE, now=database_now())
    RunContext(successor, {}, SharedSignals()).checkpoint(page=2)
    assert running.settle(successor, DONE, now=database_now())
    assert now_is(run).progress == {"page": 2}
    outcomes = Attempt.objects.filter(run=run).order_by("number").values_list("outcome", flat=True)
    assert list(outcomes) == [AttemptOutcome.LOST, AttemptOutcome.DONE]


def test_a_job_that_holds_its_own_row_costs_no_other_run_its_lease() -> None:
    worker = ThisWorker("host:1:1:boot", SharedSignals())
    holding, other = [
        make_run(RunState.RUNNING, now=database_now(), lease_owner=worker.name, lease_pid=None) for _ in range(2)
    ]
    before = other.lease_expires_at
    with winner_holding(holding):
        LeaseKeeper(worker, lambda: database_now() + timedelta(seconds=5)).tick()
        assert now_is(other).lease_expires_at != before
    assert now_is(holding).lease_expires_at == holding.lease_expires_at


def test_a_locked_row_is_in_somebody_s_hands_and_not_rescued() -> None:
    run, other = make_run(RunState.RUNNING), make_run(RunState.RUNNING)
    with winner_holding(run):
        assert rescuing.rescue_lost(now=LATER) == 1
        assert (now_is(run).state, now_is(other).state) == (RunState.RUNNING, RunState.PENDING)


def test_a_hanging_job_that_holds_its_row_is_killed_and_its_run_is_freed_at_the_next_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    killed: list[int] = []
    monkeypatch.setattr("scheduler.keeping._kill", killed.append)
    monkeypatch.setattr("scheduler.keeping._is_alive", lambda pid: pid not in killed)
    monkeypatch.setattr("scheduler.keeping.LOCK_TIMEOUT", "10ms")
    worker = ThisWorker("host:1:1:boot", SharedSignals())
    seconds = [1000.0]
    keeper = LeaseKeeper(worker, database_now, lambda: seconds[0])
    run = make_run(
        RunState.RUNNING, now=database_now(), lease_owner=worker.name, lease_pid=77, deadline_at=NOW - 60 * SECOND
    )
    with winner_holding(run):
        keeper.tick()
        assert killed == [77]
        assert now_is(run).state == RunState.RUNNING
    seconds[0] += 1
    keeper.tick()
    assert now_is(run).state in (RunState.FAILED, RunState.PENDING)
