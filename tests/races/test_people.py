"""People, workers and scans at the same row at the same moment: one wins, and the others are told."""

from collections.abc import Callable
from contextlib import suppress
from datetime import date
from functools import partial

import pytest
from django.core.exceptions import ValidationError

from scheduler import backfilling, launching, operations, running, sealing, transitions
from scheduler.models import Approval, Backfill, Fire, RunEvent, Schedule, TaskRun
from scheduler.operations import NotPossible
from scheduler.running import Outcome
from scheduler.sealing import seal_ended, verify
from scheduler.states import AttemptOutcome, FireKind, RunState
from tests.races.helpers import Background, all_at_once, run_after, run_before, winner_holding
from tests.scheduler.factories import HOUR, NOW, WORKER, events_of, launched, make_question, make_run, make_schedule

pytestmark = pytest.mark.django_db(transaction=True)

LATER = NOW + HOUR
DONE = Outcome(RunState.DONE, AttemptOutcome.DONE)
ASKED = Outcome(RunState.AWAITING_APPROVAL, AttemptOutcome.AWAITING_APPROVAL, reason="Go?", question="Go?")
FIRST, LAST = date(2026, 5, 1), date(2026, 5, 20)


def told(action: Callable[[], object]) -> str:
    """Do it, and return why it was not possible, or nothing."""
    try:
        action()
    except NotPossible as refusal:
        return str(refusal)
    return ""


def path_of(run: TaskRun) -> list[str]:
    """Return the states that the run came through."""
    return [to for _, to, _ in events_of(run)]


def audit(run: TaskRun) -> None:
    """Check that the run's state is the one that its events lead to, each from the one before."""
    events = list(RunEvent.objects.filter(run=run).order_by("id"))
    assert [event.from_state for event in events[1:]] == [event.to_state for event in events[:-1]]
    assert events[-1].to_state == TaskRun.objects.get(pk=run.pk).state


# --- answers ------------------------------------------------------------------------------------------------------


def test_of_two_answers_at_once_one_counts_and_the_other_is_told() -> None:
    for _ in range(10):
        run = make_question()
        answers = [("ann", True), ("bob", False)]
        results = all_at_once(
            *[
                partial(told, partial(operations.answer, run, approve=approve, now=LATER, actor=actor))
                for actor, approve in answers
            ]
        )
        assert [bool(result) for result in results].count(False) == 1
        actor, approve = answers[results.index("")]
        given = Approval.objects.get(run=run)
        assert (given.answered_by, given.answer) == (actor, "approved" if approve else "rejected")
        assert path_of(run) == ["awaiting_approval", "pending" if approve else "cancelled"]


def test_an_answer_that_comes_as_the_run_is_cancelled_is_told_so_and_is_not_kept() -> None:
    run = make_question()
    with winner_holding(run, then=lambda: operations.cancel(run, now=NOW, actor="bob")) as go_on:
        answering = Background(lambda: operations.answer(run, approve=True, now=LATER, actor="ann"))
        answering.wait_until_it_waits()
        go_on.set()
        with pytest.raises(NotPossible, match="has ended"):
            answering.result()
    assert Approval.objects.get(run=run).answer == ""
    assert path_of(run) == ["awaiting_approval", "cancelled"]


def test_a_cancel_that_comes_as_the_run_is_answered_cancels_the_answered_run() -> None:
    run = make_question()
    with winner_holding(run, then=lambda: operations.answer(run, approve=True, now=NOW, actor="ann")) as go_on:
        cancelling = Background(lambda: operations.cancel(run, now=LATER, actor="bob"))
        cancelling.wait_until_it_waits()
        go_on.set()
        assert cancelling.result() is True
    assert path_of(run) == ["awaiting_approval", "pending", "cancelled"]


def test_answers_and_cancels_at_once_leave_right_books() -> None:
    for _ in range(10):
        run = make_question()
        all_at_once(
            partial(told, partial(operations.answer, run, approve=True, now=LATER, actor="ann")),
            partial(told, partial(operations.cancel, run, now=LATER, actor="bob")),
            partial(told, partial(operations.answer, run, approve=False, now=LATER, actor="eve")),
        )
        audit(run)
        answered = Approval.objects.get(run=run).answer
        assert ("pending" in path_of(run)) == (answered == "approved")


def test_a_cancel_that_is_asked_as_the_run_asks_its_question_leaves_no_question() -> None:
    run = make_run(RunState.RUNNING)
    with run_before("scheduler.transitions.move", lambda: operations.cancel(run, now=NOW, actor="bob")):
        assert running.settle(run, ASKED, now=LATER)
    assert path_of(run) == ["running", "cancelled"]
    assert not Approval.objects.exists()


def test_of_giving_up_and_letting_go_on_at_once_one_counts() -> None:
    for _ in range(10):
        run = make_run(RunState.SUSPENDED)
        results = all_at_once(
            partial(told, partial(operations.give_up, run, now=LATER, actor="ann")),
            partial(told, partial(operations.let_go_on, run, now=LATER, actor="bob")),
        )
        assert results.count("") == 1
        assert path_of(run) == ["suspended", "failed" if results[0] == "" else "pending"]


# --- backfills ----------------------------------------------------------------------------------------------------


def asked_for(schedule: Schedule, actor: str = "ann", **options: object) -> Backfill | None:
    """Ask for a backfill of May's first twenty days; None where nothing of it is left."""
    try:
        return backfilling.open_backfill(schedule, FIRST, LAST, now=NOW, actor=actor, **options)  # type: ignore[arg-type]
    except ValidationError:
        return None


def test_of_two_who_ask_for_the_same_range_at_once_one_opens_the_runs() -> None:
    for _ in range(5):
        schedule = make_schedule()
        asked = all_at_once(partial(asked_for, schedule, "ann"), partial(asked_for, schedule, "bob"))
        assert asked.count(None) == 1
        assert TaskRun.objects.filter(schedule=schedule).count() == 20


def test_two_who_ask_for_the_same_range_again_at_once_have_all_their_fires() -> None:
    schedule = make_schedule()
    all_at_once(*[partial(asked_for, schedule, again=True)] * 3)
    assert Fire.objects.filter(schedule=schedule, kind=FireKind.BACKFILL).count() == 60
    assert TaskRun.objects.filter(schedule=schedule, fire__isnull=False).count() == 60


def test_a_run_that_begins_as_its_backfill_is_cancelled_is_asked_to_cancel() -> None:
    backfill = asked_for(make_schedule())
    assert backfill is not None
    run = TaskRun.objects.filter(backfill=backfill).earliest("id")
    claim = launched(run)
    with winner_holding(run, then=lambda: transitions.begin(claim, WORKER, now=NOW, lease_until=LATER)) as go_on:
        cancelling = Background(lambda: backfilling.cancel_backfill(backfill, now=NOW, actor="bob"))
        cancelling.wait_until_it_waits()
        go_on.set()
        assert cancelling.result() == 20
    run.refresh_from_db()
    assert (run.state, run.cancel_requested_by) == (RunState.RUNNING, "bob")
    assert TaskRun.objects.filter(backfill=backfill, state=RunState.CANCELLED).count() == 19


def test_a_begin_that_comes_as_the_backfill_is_cancelled_finds_no_row() -> None:
    backfill = asked_for(make_schedule())
    assert backfill is not None
    run = TaskRun.objects.filter(backfill=backfill).earliest("id")
    claim = launched(run)
    late: list[Background] = []

    def begin() -> None:
        late.append(Background(lambda: running.begin(claim, WORKER, now=NOW)))
        late[0].wait_until_it_waits()

    with run_after("scheduler.backfilling.transitions.move", begin, elsewhere=False):
        backfilling.cancel_backfill(backfill, now=NOW, actor="bob")
    assert late[0].result() is None
    assert path_of(run) == ["pending", "cancelled"]


def test_a_backfill_that_is_cancelled_while_workers_work_on_it_comes_to_its_end() -> None:
    for _ in range(3):
        backfill = asked_for(make_schedule(), parallel=4)
        assert backfill is not None
        all_at_once(_work, _work, partial(backfilling.cancel_backfill, backfill, now=LATER, actor="bob"))
        _work()
        runs = TaskRun.objects.filter(backfill=backfill)
        assert {run.state for run in runs} <= {RunState.CANCELLED, RunState.DONE}
        for run in runs:
            audit(run)


def _work() -> None:
    for _ in range(8):
        for leased in launching._lease_due(LATER, LATER, 3):
            begun = running.begin(leased.claim, WORKER, now=LATER)
            if begun is not None:
                running.settle(begun, DONE, now=LATER)


def test_two_who_cancel_the_same_backfill_at_once_cancel_each_run_once() -> None:
    backfill = asked_for(make_schedule())
    assert backfill is not None
    counts = all_at_once(*[partial(backfilling.cancel_backfill, backfill, now=LATER, actor="bob")] * 3)
    assert sorted(counts) == [0, 0, 20]
    assert all(path_of(run) == ["pending", "cancelled"] for run in TaskRun.objects.filter(backfill=backfill))


# --- seals --------------------------------------------------------------------------------------------------------


def test_of_several_who_seal_at_once_all_agree() -> None:
    runs = [make_run(RunState.DONE) for _ in range(30)]
    all_at_once(seal_ended, seal_ended, seal_ended)
    assert all(verify(run.pk) for run in runs)


def test_a_seal_that_is_computed_as_the_run_ends_is_of_the_ended_run() -> None:
    run = make_run(RunState.RUNNING)
    with winner_holding(run, then=lambda: running.settle(run, DONE, now=LATER)) as go_on:
        assert seal_ended() == 0
        go_on.set()
    assert seal_ended() == 1
    assert verify(run.pk)


def test_late_writes_between_the_look_and_the_seal_change_nothing() -> None:
    run = make_run(RunState.RUNNING)
    running.settle(run, DONE, now=LATER)

    def late() -> None:
        running.settle(run, ASKED, now=LATER)
        with suppress(NotPossible):
            operations.cancel(run, now=LATER, actor="bob")

    with run_before("scheduler.sealing._write", late):
        assert seal_ended() == 1
    assert verify(run.pk)
    assert sealing.manifest(TaskRun.objects.get(pk=run.pk))["state"] == RunState.DONE
