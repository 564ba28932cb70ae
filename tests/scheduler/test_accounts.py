"""What an ended attempt leaves with the quotas is closed at every exit, once."""

from collections.abc import Callable
from typing import Any

import pytest

from project.kit.clock import database_now
from quotas import charging
from quotas.models import Quota, Reservation
from quotas.states import EntryKind, ReservationState
from scheduler import backfilling, keeping, operations, pausing, rescuing, resuming, running
from scheduler.jobs import RunContext
from scheduler.jobs.interrupts import LeaseLost, Stopping
from scheduler.keeping import LeaseKeeper
from scheduler.models import QuotaWait, TaskRun
from scheduler.running import Outcome
from scheduler.states import AttemptOutcome, RunState
from tests.quotas.factories import audit, entries_of, make_daily
from tests.quotas.factories import now_is as quota_now
from tests.scheduler.factories import HOUR, NOW, SECOND, launched, make_run, make_schedule
from tests.scheduler.pauses import admitted, begun, floor, now_is, paused, refusal, states, used_up

pytestmark = pytest.mark.django_db


def resumed(**fields: Any) -> tuple[Quota, TaskRun]:
    """Return a quota, and a run for which it holds what it was admitted for."""
    quota = used_up(100)
    run = paused(quota, 20, **fields)
    charging.set_limit(quota.key, 200, now=NOW)
    assert resuming.take_edges(now=NOW) == 1
    assert (admitted(run), quota_now(quota).reserved) == (20, 20)
    return quota, now_is(run)


# --- what was admitted is freed --------------------------------------------------------------------------------------


def settled(state: RunState, outcome: AttemptOutcome, **how: Any) -> Callable[[TaskRun], object]:
    """Return how a worker leaves its run."""
    return lambda run: running.settle(run, Outcome(state, outcome, **how), now=NOW)


def handed_back(run: TaskRun) -> None:
    keeping._hand_back(run, NOW)


def lost(run: TaskRun) -> None:
    rescuing.free([run], now=NOW)


def timed_out(run: TaskRun) -> None:
    LeaseKeeper.__new__(LeaseKeeper)._end(run, NOW)


def cancelled_while_running(run: TaskRun) -> None:
    operations.cancel(run, now=NOW, actor="ann")
    running.settle(run, Outcome(RunState.CANCELLED, AttemptOutcome.CANCELLED), now=NOW)


def paused_for_another(run: TaskRun) -> None:
    other = used_up()
    running.settle(run, Outcome(RunState.PAUSED, AttemptOutcome.PAUSED, refusals=[refusal(other)]), now=NOW)


EXITS = {
    "done": settled(RunState.DONE, AttemptOutcome.DONE),
    "failed": settled(RunState.FAILED, AttemptOutcome.FAILED),
    "deferred": settled(RunState.DEFERRED, AttemptOutcome.DEFERRED, due_at=NOW + HOUR),
    "asking": settled(RunState.AWAITING_APPROVAL, AttemptOutcome.AWAITING_APPROVAL, question="Go on?"),
    "handed back": handed_back,
    "lost": lost,
    "timed out": timed_out,
    "cancelled": cancelled_while_running,
    "paused for another quota": paused_for_another,
}


@pytest.mark.parametrize("leave", EXITS.values(), ids=EXITS)
def test_what_a_run_was_admitted_for_and_did_not_use_is_free_at_every_exit(
    leave: Callable[[TaskRun], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """B15."""
    monkeypatch.setattr("scheduler.keeping._kill", lambda pid: None)
    quota, run = resumed()
    leave(begun(run))
    assert now_is(run).state != RunState.RUNNING
    assert (admitted(run), quota_now(quota).reserved) == (0, 0)
    assert not QuotaWait.objects.filter(run=run, quota=quota).exists()
    audit()


def cancelled(run: TaskRun) -> None:
    operations.cancel(run, now=NOW, actor="ann")


def returned(run: TaskRun) -> None:
    pausing.return_to_pause(now=NOW + HOUR)


@pytest.mark.parametrize("leave", [cancelled, returned])
def test_it_is_free_as_well_when_the_run_does_not_begin(leave: Callable[[TaskRun], object]) -> None:
    quota, run = resumed()
    leave(run)
    assert (admitted(run), quota_now(quota).reserved) == (0, 0)
    audit()


def test_it_is_free_when_the_backfill_is_cancelled() -> None:
    quota = used_up()
    schedule = make_schedule(quota=quota)
    backfill = backfilling.open_backfill(schedule, NOW.date(), NOW.date(), now=NOW, actor="ann")
    run = TaskRun.objects.get(backfill=backfill)
    pausing.hold_back([launched(run)], now=NOW)
    charging.set_limit(quota.key, 1000, now=NOW)
    assert resuming.take_edges(now=NOW) == 1
    backfilling.cancel_backfill(backfill, now=NOW, actor="ann")
    assert (states(run), admitted(run)) == ([RunState.CANCELLED], 0)


def test_a_lease_that_was_lost_closes_nothing() -> None:
    _, run = resumed()
    mine = begun(run)
    TaskRun.objects.filter(pk=run.pk).update(lease_token=mine.lease_token + 1)
    assert not running.settle(mine, Outcome(RunState.DONE, AttemptOutcome.DONE), now=NOW)
    assert admitted(run) == 20


def test_a_run_that_is_paused_keeps_its_waits() -> None:
    quota = used_up()
    run = paused(quota)
    TaskRun.objects.filter(pk=run.pk).update(state=RunState.RESUMING, due_at=NOW)
    outcome = Outcome(RunState.PAUSED, AttemptOutcome.PAUSED, refusals=[refusal(quota)])
    assert running.settle(begun(run), outcome, now=NOW)
    assert QuotaWait.objects.get().run_id == run.pk


# --- what was charged and not used is given back ---------------------------------------------------------------------


def refunds(quota: Quota) -> list[int]:
    """Return what was given back."""
    return [amount for kind, amount in entries_of(quota) if kind == EntryKind.REFUND]


def doing(ending: Callable[[RunContext], object], *, checkpoint: bool = False) -> tuple[Quota, TaskRun]:
    """Execute a job that charges 5 for good and 3 to be given back, checkpoints if so, and ends like that."""
    quota = make_daily(100, now=database_now())

    def job(run: RunContext) -> None:
        run.charge(quota.key, 5)
        run.charge(quota.key, 3, refund_on_failure=True)
        if checkpoint:
            run.checkpoint(page=1)
        ending(run)

    with floor(job) as worker:
        return quota, worker.execute(worker.open())


def fail(run: RunContext) -> None:
    raise ValueError


def be_stopped(run: RunContext) -> None:
    raise Stopping


def lose_the_lease(run: RunContext) -> None:
    raise LeaseLost


def be_refused(run: RunContext) -> None:
    run.charge(used_up(now=database_now()).key)


def defer(run: RunContext) -> None:
    run.defer(seconds=5, reason="later")


@pytest.mark.parametrize("ending", [fail, be_stopped, lose_the_lease, be_refused, defer])
def test_what_an_attempt_did_not_use_is_given_back_unless_it_ended_well(ending: Callable[[RunContext], object]) -> None:
    quota, run = doing(ending)
    assert run.state != RunState.RUNNING
    assert (refunds(quota), quota_now(quota).used) == ([3], 5)
    audit()


def test_what_a_run_that_is_done_was_charged_for_was_used() -> None:
    quota, run = doing(lambda run: None)
    assert (run.state, refunds(quota), quota_now(quota).used) == (RunState.DONE, [], 8)


@pytest.mark.parametrize("ending", [fail, be_stopped, lose_the_lease, be_refused])
def test_what_came_before_a_checkpoint_was_used(ending: Callable[[RunContext], object]) -> None:
    quota, _ = doing(ending, checkpoint=True)
    assert (refunds(quota), quota_now(quota).used) == ([], 8)


def test_only_what_came_after_the_checkpoint_is_given_back() -> None:
    quota = make_daily(100, now=database_now())

    def job(run: RunContext) -> None:
        for page in range(3):
            run.charge(quota.key, 10 + page, refund_on_failure=True)
            if page == 2:
                raise ValueError
            run.checkpoint(page=page)

    with floor(job) as worker:
        worker.execute(worker.open())
    assert refunds(quota) == [12]


def test_each_attempt_is_closed_for_itself_and_nothing_is_given_back_twice() -> None:
    quota = make_daily(100, now=database_now())

    def job(run: RunContext) -> None:
        run.charge(quota.key, run.attempt, refund_on_failure=True)
        raise ValueError

    with floor(job) as worker:
        run = worker.open(retry_delays=[0, 0])
        for _ in range(3):
            TaskRun.objects.filter(pk=run.pk).update(due_at=database_now() - SECOND)
            worker.execute(run)
    assert refunds(quota) == [1, 2, 3]
    assert quota_now(quota).used == 0
    audit()


def test_a_job_that_outstays_its_timeout_gets_back_what_it_did_not_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker process, which ends it, knows nothing of what the job spent."""
    monkeypatch.setattr("scheduler.keeping._kill", lambda pid: None)
    quota = make_daily(100, now=database_now())
    run = make_run(RunState.RUNNING)
    charging.charge(quota.key, 7, now=database_now(), owner=f"run:{run.pk}", attempt=1, refund_on_failure=True)
    timed_out(run)
    assert refunds(quota) == [7]


def test_what_a_run_holds_is_free_when_its_attempt_ends_and_not_when_another_ends() -> None:
    quota = make_daily(100, now=database_now())

    def job(run: RunContext) -> None:
        run.reserve(quota.key, 40)
        raise ValueError

    with floor(job) as worker:
        worker.execute(worker.open())
    assert list(Reservation.objects.values_list("state", flat=True)) == [ReservationState.RELEASED]
    assert quota_now(quota).reserved == 0


def test_the_accounts_of_a_run_that_has_nothing_to_do_with_quotas_are_not_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("scheduler.accounts.lock", lambda *_: pytest.fail("it was looked at"))
    with floor(lambda run: None) as worker:
        assert worker.execute(worker.open()).state == RunState.DONE
