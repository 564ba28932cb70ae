"""Two want the same run: one wins, the other finds no row, and the books are right."""

from contextlib import suppress
from functools import partial
from itertools import pairwise

import pytest
from django.db import OperationalError, transaction

from project.kit.clock import database_now
from scheduler import launching, operations, rescuing, resuming, running, transitions
from scheduler.identity import SharedSignals
from scheduler.jobs import RunContext
from scheduler.jobs.interrupts import Cancelled
from scheduler.models import Attempt, Pause, RunEvent, TaskRun
from scheduler.operations import NotPossible
from scheduler.running import Outcome
from scheduler.states import AttemptOutcome, EventTrigger, RunState
from scheduler.transitions import Claim, Worker
from tests.races.helpers import Background, all_at_once, run_before, winner_holding
from tests.scheduler.factories import HOUR, NOW, WORKER, claim_of, events_of, launched, make_run, make_schedule

pytestmark = pytest.mark.django_db(transaction=True)

LATER = NOW + HOUR
DONE = Outcome(RunState.DONE, AttemptOutcome.DONE)
FAILED = Outcome(RunState.FAILED, AttemptOutcome.FAILED)


def now_is(run: TaskRun) -> TaskRun:
    """Return the run as the database has it now."""
    return TaskRun.objects.get(pk=run.pk)


def path_of(run: TaskRun) -> list[str]:
    """Return the states that the run came through."""
    return [to for _, to, _ in events_of(run)]


# --- one wins -----------------------------------------------------------------------------------------------------


def test_of_many_workers_with_one_hint_one_begins_the_run() -> None:
    """B34: the body runs once, however often the broker delivers."""
    run = make_run()
    claim = launched(run)
    workers = [Worker(f"worker {number}", number) for number in range(6)]
    begin = partial(transitions.begin, claim, now=NOW, lease_until=LATER)
    won = [run is not None for run in all_at_once(*[partial(begin, worker) for worker in workers])]
    assert won.count(True) == 1
    assert path_of(run) == ["pending", "running"]
    assert Attempt.objects.get(run=run).worker == now_is(run).lease_owner == f"worker {won.index(True)}"


def test_the_loser_of_a_begin_waits_for_the_winner_and_then_finds_no_row() -> None:
    run = make_run()
    claim = launched(run)
    with winner_holding(run, then=lambda: transitions.begin(claim, WORKER, now=NOW, lease_until=LATER)) as go_on:
        loser = Background(lambda: running.begin(claim, Worker("loser", 2), now=NOW))
        loser.wait_until_it_waits()
        go_on.set()
        assert loser.result() is None
    assert now_is(run).lease_owner == WORKER.name


def test_a_due_run_that_somebody_holds_is_not_leased_and_keeps_no_other_waiting() -> None:
    held, free = make_run(), make_run()
    with winner_holding(held):
        assert [leased.claim for leased in launching._lease_due(NOW, NOW, 10)] == [Claim(free.pk, 1)]


def test_of_two_launched_runs_of_one_key_one_begins_and_the_other_is_given_back() -> None:
    """B52: never two at once; the unique index says so, whatever was read before."""
    schedule = make_schedule()
    runs = [make_run(schedule=schedule) for _ in range(4)]
    claims = [launched(run) for run in runs]
    begun = all_at_once(*[partial(running.begin, claim, WORKER, now=NOW) for claim in claims])
    assert sum(run is not None for run in begun) == 1
    waiting = TaskRun.objects.filter(state=RunState.PENDING)
    assert [(run.lease_expires_at, run.attempt_count) for run in waiting] == [(None, 0)] * 3


def test_of_two_that_settle_and_rescue_the_same_run_one_wins() -> None:
    """B43: a late finish and the rescue of the same run; one outcome, one closed attempt."""
    for _ in range(10):
        run = make_run(RunState.RUNNING)
        settled, freed = all_at_once(
            partial(running.settle, run, DONE, now=LATER), partial(rescuing.free, [run], now=LATER)
        )
        assert (settled, freed) in [(True, 0), (False, 1)]
        assert path_of(run) == ["running", "done" if settled else "pending"]
        outcome = AttemptOutcome.DONE if settled else AttemptOutcome.LOST
        assert Attempt.objects.get(run=run).outcome == outcome


def test_two_rescuers_free_each_run_once() -> None:
    runs = [make_run(RunState.RUNNING) for _ in range(30)]
    freed = all_at_once(*[lambda: rescuing.rescue_lost(now=LATER)] * 3)
    assert sum(freed) == 30
    assert all(path_of(run) == ["running", "pending"] for run in runs)
    assert set(TaskRun.objects.values_list("interruption_count", flat=True)) == {1}


def test_two_bulk_moves_of_the_same_runs_in_opposite_order_do_not_wait_for_each_other() -> None:
    for _ in range(5):
        claims = [claim_of(make_run(RunState.RUNNING)) for _ in range(40)]
        move = partial(transitions.move, to=RunState.DONE, now=LATER, trigger=EventTrigger.JOB)
        moved = all_at_once(partial(move, claims), partial(move, claims[::-1]))
        assert sum(len(runs) for runs in moved) == 40


def test_a_bulk_move_locks_its_runs_in_the_order_of_their_ids_wherever_they_lie_and_however_they_are_named() -> None:
    first, last = make_run(RunState.RUNNING), make_run(RunState.RUNNING)
    TaskRun.objects.filter(pk=first.pk).update(reason="written anew, behind the other one")
    claims = [claim_of(last), claim_of(first)]
    with winner_holding(last):
        moving = Background(partial(transitions.move, claims, RunState.DONE, now=LATER, trigger=EventTrigger.JOB))
        moving.wait_until_it_waits()
        with transaction.atomic(), pytest.raises(OperationalError, match="could not obtain lock"):
            TaskRun.objects.select_for_update(nowait=True).get(pk=first.pk)
    assert len(moving.result()) == 2


def test_what_many_runs_wait_with_is_locked_in_the_order_of_their_ids_as_well() -> None:
    first, last = (Pause.objects.create(run=make_run(RunState.PAUSED), since=NOW, not_before=NOW) for _ in range(2))
    Pause.objects.filter(pk=first.pk).update(resume_count=1)  # written anew, behind the other one
    with winner_holding(last):
        ending = Background(partial(resuming.end_delays, [last.pk, first.pk], now=LATER))
        ending.wait_until_it_waits()
        with transaction.atomic(), pytest.raises(OperationalError, match="could not obtain lock"):
            Pause.objects.select_for_update(nowait=True).get(pk=first.pk)
    ending.result()
    assert not Pause.objects.exclude(not_before=None).exists()


def test_of_two_people_one_lets_the_run_go_on_and_the_other_is_told() -> None:
    run = make_run(RunState.SUSPENDED)

    def let_go_on(actor: str) -> str:
        try:
            operations.let_go_on(run, now=LATER, actor=actor)
        except NotPossible as refusal:
            return str(refusal)
        return ""

    answers = all_at_once(lambda: let_go_on("ann"), lambda: let_go_on("bob"))
    assert sorted(answers) == ["", f"Run #{run.pk} is pending now, not suspended."]
    assert path_of(run) == ["suspended", "pending"]


# --- cancel against the rest --------------------------------------------------------------------------------------


def test_a_cancel_that_comes_as_the_run_is_begun_is_asked_of_the_running_run() -> None:
    run = make_run()
    claim = launched(run)
    with winner_holding(run, then=lambda: transitions.begin(claim, WORKER, now=NOW, lease_until=LATER)) as go_on:
        cancelling = Background(lambda: operations.cancel(run, now=NOW, actor="ann"))
        cancelling.wait_until_it_waits()
        go_on.set()
        assert cancelling.result() is False
    assert (now_is(run).state, now_is(run).cancel_requested_by) == (RunState.RUNNING, "ann")


def test_a_begin_that_comes_as_the_run_is_cancelled_finds_no_row() -> None:
    run = make_run()
    claim = launched(run)
    with winner_holding(run, then=lambda: operations.cancel(run, now=NOW, actor="ann")) as go_on:
        beginning = Background(lambda: running.begin(claim, WORKER, now=NOW))
        beginning.wait_until_it_waits()
        go_on.set()
        assert beginning.result() is None
    assert path_of(run) == ["pending", "cancelled"]


@pytest.mark.parametrize(("outcome", "state"), [(DONE, RunState.DONE), (FAILED, RunState.CANCELLED)])
def test_a_cancel_that_comes_as_the_run_is_settled_is_heeded_unless_it_is_done(
    outcome: Outcome, state: RunState
) -> None:
    run = make_run(RunState.RUNNING, retry_delays=[60])
    with run_before("scheduler.transitions.move", lambda: operations.cancel(run, now=NOW, actor="ann")):
        assert running.settle(run, outcome, now=LATER)
    assert now_is(run).state == state


def test_a_cancel_that_comes_too_late_is_told_so() -> None:
    run = make_run(RunState.RUNNING)
    with winner_holding(run, then=lambda: running.settle(run, DONE, now=LATER)) as go_on:
        cancelling = Background(lambda: operations.cancel(run, now=LATER, actor="ann"))
        cancelling.wait_until_it_waits()
        go_on.set()
        with pytest.raises(NotPossible, match="has ended already"):
            cancelling.result()


def test_a_cancel_between_the_look_and_the_rescue_is_heeded() -> None:
    run = make_run(RunState.RUNNING)
    read = TaskRun.objects.get(pk=run.pk)
    with run_before("scheduler.transitions.move", lambda: operations.cancel(run, now=NOW, actor="ann")):
        assert rescuing.free([read], now=LATER) == 0
    assert rescuing.rescue_lost(now=LATER) == 1
    assert now_is(run).state == RunState.CANCELLED


def test_a_cancel_between_a_checkpoint_and_its_explanation_is_no_lost_lease() -> None:
    run = make_run(RunState.RUNNING, now=database_now())
    context = RunContext(run, {}, SharedSignals())
    operations.cancel(run, now=NOW, actor="ann")
    with pytest.raises(Cancelled):
        context.checkpoint(page=1)


# --- all of them at once ------------------------------------------------------------------------------------------

ROUNDS = 12


def test_launchers_workers_rescuers_and_people_at_once_leave_right_books() -> None:
    """Whatever the order: one way through the states, one open attempt for each running run, each token used once."""
    for _ in range(20):
        make_run(retry_delays=[0, 0])
    all_at_once(
        partial(_work, FAILED),
        partial(_work, Outcome(RunState.DEFERRED, AttemptOutcome.DEFERRED, due_at=LATER)),
        partial(_work, None),
        _cancel_some,
        _rescue,
    )
    for run in TaskRun.objects.all():
        _audit(run)


def _work(outcome: Outcome | None) -> None:
    for _ in range(ROUNDS):
        for leased in launching._lease_due(LATER, LATER, 5):
            begun = running.begin(leased.claim, WORKER, now=LATER)
            if begun is not None and outcome is not None:
                running.settle(begun, outcome, now=LATER)


def _cancel_some() -> None:
    for run in TaskRun.objects.order_by("id")[:7]:
        with suppress(NotPossible):
            operations.cancel(run, now=LATER, actor="ann")


def _rescue() -> None:
    for _ in range(ROUNDS):
        rescuing.rescue_lost(now=LATER + HOUR)


def _audit(run: TaskRun) -> None:
    events = list(RunEvent.objects.filter(run=run).order_by("id"))
    assert all(after.from_state == before.to_state for before, after in pairwise(events))
    assert events[-1].to_state == run.state
    attempts = list(Attempt.objects.filter(run=run).order_by("number"))
    assert [attempt.number for attempt in attempts] == list(range(1, run.attempt_count + 1))
    assert [attempt.finished_at for attempt in attempts].count(None) == (run.state == RunState.RUNNING)
    assert len({attempt.token for attempt in attempts}) == len(attempts)
