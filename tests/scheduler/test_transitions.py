"""A transition moves the rows it may move, writes their events and closes their attempts, or does nothing."""

from itertools import product
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from scheduler import transitions
from scheduler.models import Attempt, RunEvent, TaskRun
from scheduler.states import TERMINAL, TRANSITIONS, AttemptOutcome, EventTrigger, RunState
from scheduler.transitions import AttemptEnd, Claim, Moved
from tests.scheduler.factories import HOUR, NOW, WORKER, claim_of, events_of, make_run, row

pytestmark = pytest.mark.django_db

LATER = NOW + HOUR
WAITS = {RunState.PENDING, RunState.DEFERRED, RunState.RESUMING}
ALLOWED = [(source, target) for source in RunState for target in RunState if target in TRANSITIONS[source]]
KEPT = (
    "stat_date",
    "planned_at",
    "params",
    "progress",
    "progress_done",
    "progress_total",
    "created_at",
    "started_at",
    "attempt_count",
    "failure_count",
    "interruption_count",
    "lease_token",
)
DISALLOWED = [pair for pair in product(RunState, RunState) if pair not in ALLOWED]


def move(run: TaskRun, to: RunState, **options: Any) -> list[Moved]:
    """Move a run at LATER, with the columns that its new state needs."""
    columns: dict[str, Any] = options.pop("columns", {})
    if to in WAITS:
        columns.setdefault("due_at", LATER)
    if to == RunState.FAILED:
        columns.setdefault("finished_at", LATER)
    if to == RunState.RUNNING:
        columns |= {"lease_owner": WORKER.name, "lease_expires_at": LATER}
    claims = options.pop("claims", [Claim(run.pk)])
    options.setdefault("trigger", EventTrigger.MANUAL)
    return transitions.move(claims, to, now=LATER, columns=columns, **options)


# --- which moves there are ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("source", "target"), ALLOWED)
def test_an_allowed_move_wins_and_writes_its_event(source: RunState, target: RunState) -> None:
    run = make_run(source)
    assert move(run, target, reason="so it is", actor="ann") == [Moved(run.pk, source, run.attempt_count)]

    after = TaskRun.objects.get(pk=run.pk)
    assert (after.state, after.reason) == (target, "so it is")
    event = RunEvent.objects.filter(run=run).latest("id")
    assert (event.at, event.from_state, event.to_state) == (LATER, source, target)
    assert (event.trigger, event.actor, event.reason) == (EventTrigger.MANUAL, "ann", "so it is")
    assert event.attempt == (run.attempt_count or None)


@pytest.mark.parametrize(("source", "target"), DISALLOWED)
def test_a_move_that_is_not_allowed_finds_no_row_and_writes_nothing(source: RunState, target: RunState) -> None:
    run = make_run(source)
    before, events = row(run), events_of(run)
    assert move(run, target, attempt_end=AttemptEnd(AttemptOutcome.LOST)) == []
    assert (row(run), events_of(run)) == (before, events)


@pytest.mark.parametrize("unless_cancel_asked", [False, True])
@pytest.mark.parametrize("target", RunState)
def test_a_run_that_failed_for_good_moves_nowhere(target: RunState, unless_cancel_asked: bool) -> None:
    run = make_run(RunState.FAILED, ended=True)
    before = row(run)
    assert move(run, target, unless_cancel_asked=unless_cancel_asked) == []
    assert row(run) == before


@pytest.mark.parametrize("target", sorted(TERMINAL))
def test_a_run_that_ends_well_or_by_a_person_says_when(target: RunState) -> None:
    run = make_run(RunState.RUNNING)
    move(run, RunState(target))
    assert TaskRun.objects.get(pk=run.pk).finished_at == LATER


def test_a_move_can_be_narrowed_to_some_of_the_states_that_allow_it() -> None:
    run = make_run(RunState.SUSPENDED)
    assert move(run, RunState.PENDING, sources=[RunState.FAILED, RunState.DEFERRED]) == []
    assert move(run, RunState.PENDING, sources=[RunState.SUSPENDED])


def test_narrowing_a_move_never_widens_it() -> None:
    run = make_run(RunState.DONE)
    assert move(run, RunState.PENDING, sources=[RunState.DONE]) == []
    running = make_run(RunState.RUNNING)
    assert move(running, RunState.RESUMING, sources=[RunState.RUNNING]) == []


@pytest.mark.parametrize(("source", "target"), ALLOWED)
def test_a_move_keeps_data_day_planned_instant_progress_and_counts(source: RunState, target: RunState) -> None:
    run = make_run(source, progress={"page": 3}, progress_done=3, progress_total=9)
    before = row(run)
    move(run, target)
    after = row(run)
    assert {name: after[name] for name in KEPT} == {name: before[name] for name in KEPT}


# --- the lease and its token --------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", sorted(TRANSITIONS[RunState.RUNNING]))
def test_leaving_running_gives_up_the_lease_and_the_deadline(target: RunState) -> None:
    run = make_run(RunState.RUNNING, deadline_at=LATER)
    move(run, RunState(target))
    after = TaskRun.objects.get(pk=run.pk)
    assert (after.lease_owner, after.lease_pid, after.lease_expires_at, after.deadline_at) == ("", None, None, None)


@pytest.mark.parametrize(("token", "moves"), [(4, False), (5, True), (6, False)])
def test_a_move_under_a_token_finds_only_the_run_with_that_token(token: int, moves: bool) -> None:
    run = make_run(RunState.RUNNING, lease_token=5)
    assert bool(move(run, RunState.DONE, claims=[Claim(run.pk, token)])) == moves


def test_a_person_needs_no_token() -> None:
    run = make_run(RunState.RUNNING, lease_token=5)
    assert move(run, RunState.CANCELLED, claims=[Claim(run.pk)])


@pytest.mark.parametrize(("asked_at", "moves"), [(None, True), (NOW, False)])
def test_a_move_may_spare_the_runs_whose_cancel_was_asked_for(asked_at: Any, moves: bool) -> None:
    run = make_run(RunState.RUNNING, cancel_requested_at=asked_at)
    assert bool(move(run, RunState.PENDING, unless_cancel_asked=True)) == moves


# --- attempts -----------------------------------------------------------------------------------------------------


def test_a_move_closes_the_open_attempt_in_the_same_statement() -> None:
    run = make_run(RunState.RUNNING)
    move(run, RunState.DONE, attempt_end=AttemptEnd(AttemptOutcome.DONE, output="said"))
    attempt = Attempt.objects.get(run=run)
    assert (attempt.finished_at, attempt.outcome, attempt.output) == (LATER, AttemptOutcome.DONE, "said")


def test_a_move_writes_error_and_traceback_on_the_attempt() -> None:
    run = make_run(RunState.RUNNING)
    move(run, RunState.FAILED, attempt_end=AttemptEnd(AttemptOutcome.FAILED, "it broke", "line 1"))
    attempt = Attempt.objects.get(run=run)
    assert (attempt.error, attempt.traceback) == ("it broke", "line 1")


def test_without_an_output_the_attempt_keeps_what_it_said_while_it_ran() -> None:
    run = make_run(RunState.RUNNING)
    Attempt.objects.filter(run=run).update(output="said before")
    move(run, RunState.PENDING, attempt_end=AttemptEnd(AttemptOutcome.LOST))
    assert Attempt.objects.get(run=run).output == "said before"


def test_an_attempt_that_has_ended_keeps_how_it_ended() -> None:
    run = make_run(RunState.PAUSED)
    assert move(run, RunState.CANCELLED, attempt_end=AttemptEnd(AttemptOutcome.LOST))
    attempt = Attempt.objects.get(run=run)
    assert (attempt.finished_at, attempt.outcome) == (NOW, AttemptOutcome.PAUSED)


def test_only_the_latest_attempt_is_closed() -> None:
    run = make_run(RunState.RUNNING)
    TaskRun.objects.filter(pk=run.pk).update(attempt_count=2)
    assert move(run, RunState.DONE, attempt_end=AttemptEnd(AttemptOutcome.DONE))
    assert Attempt.objects.get(run=run, number=1).finished_at is None


def test_a_refused_move_leaves_the_attempt_open() -> None:
    run = make_run(RunState.RUNNING, lease_token=5)
    move(run, RunState.DONE, claims=[Claim(run.pk, 4)], attempt_end=AttemptEnd(AttemptOutcome.DONE))
    assert Attempt.objects.get(run=run).finished_at is None


@pytest.mark.parametrize("column", ["failure_count", "interruption_count"])
def test_a_move_may_count(column: str) -> None:
    counted: dict[str, Any] = {column: 2}
    run = make_run(RunState.RUNNING, **counted)
    move(run, RunState.PENDING, counting=[column])
    assert getattr(TaskRun.objects.get(pk=run.pk), column) == 3


def test_state_event_and_attempt_change_together_or_not_at_all() -> None:
    run = make_run(RunState.RUNNING)
    before, events = row(run), events_of(run)
    with pytest.raises(IntegrityError, match="run_ended_says_when"), transaction.atomic():
        # FAILED without a due time and without an end
        transitions.move(
            [Claim(run.pk)],
            RunState.FAILED,
            now=LATER,
            trigger=EventTrigger.JOB,
            attempt_end=AttemptEnd(AttemptOutcome.FAILED),
        )
    assert (row(run), events_of(run)) == (before, events)
    assert Attempt.objects.get(run=run).finished_at is None


# --- many at once -------------------------------------------------------------------------------------------------


def test_many_runs_move_in_one_statement_and_each_gets_its_event(django_assert_num_queries: Any) -> None:
    runs = [make_run(RunState.RUNNING) for _ in range(20)]
    claims = [claim_of(run) for run in reversed(runs)]
    with django_assert_num_queries(1):
        moved = move(runs[0], RunState.PENDING, claims=claims, attempt_end=AttemptEnd(AttemptOutcome.LOST))
    assert [one.run_id for one in moved] == [run.pk for run in runs]
    assert all(events_of(run)[-1] == ("running", "pending", "manual") for run in runs)
    assert set(Attempt.objects.values_list("outcome", flat=True)) == {AttemptOutcome.LOST}


def test_of_many_runs_only_those_move_that_may() -> None:
    right = make_run(RunState.RUNNING)
    stale = make_run(RunState.RUNNING, lease_token=2)
    ended = make_run(RunState.DONE)
    claims = [claim_of(right), Claim(stale.pk, 1), claim_of(ended), Claim(0, 1)]
    assert [one.run_id for one in move(right, RunState.PENDING, claims=claims)] == [right.pk]
    assert len(events_of(stale)) == len(events_of(ended)) == 1


def test_a_person_moves_many_runs_without_any_token() -> None:
    runs = [make_run(RunState.RUNNING, lease_token=token) for token in (1, 5)]
    moved = move(runs[0], RunState.CANCELLED, claims=[Claim(run.pk) for run in runs])
    assert [one.run_id for one in moved] == [run.pk for run in runs]


def test_a_run_that_is_claimed_twice_moves_once() -> None:
    run = make_run(RunState.RUNNING)
    move(run, RunState.DONE, claims=[claim_of(run), claim_of(run)])
    assert [event[:2] for event in events_of(run)] == [("", "running"), ("running", "done")]


def test_no_claims_move_nothing() -> None:
    run = make_run(RunState.RUNNING)
    assert move(run, RunState.DONE, claims=[]) == []
