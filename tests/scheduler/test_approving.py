"""Approvals: a run asks at each of its approval points, waits without a worker, and goes on from a person's answer."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from project.kit.clock import database_now
from scheduler import launching, operations, running
from scheduler.executing import execute
from scheduler.identity import SharedSignals, ThisWorker
from scheduler.jobs import RunContext
from scheduler.models import Approval, Attempt, RunEvent, TaskRun
from scheduler.operations import NotPossible
from scheduler.running import Outcome
from scheduler.states import AttemptOutcome, RunState
from tests.scheduler.factories import (
    HOUR,
    NOW,
    WORKER,
    events_of,
    launched,
    make_question,
    make_run,
    make_schedule,
    registered,
)

pytestmark = pytest.mark.django_db

LATER = NOW + HOUR
APPROVED, REJECTED = Approval.Answer.APPROVED, Approval.Answer.REJECTED
ASKED = Outcome(RunState.AWAITING_APPROVAL, AttemptOutcome.AWAITING_APPROVAL, reason="Go?", question="Go?")


class Execution:
    """A run that is executed as often as the test says, each time by a fresh worker."""

    def __init__(self, job: str, **fields: Any) -> None:
        self.run = make_run(now=database_now(), job=job, **fields)

    def go(self) -> TaskRun:
        """Launch and execute the run, and return its row."""
        self.run.refresh_from_db()
        worker = ThisWorker("host:1:1:boot", SharedSignals())
        execute(launched(self.run, now=database_now()), worker, database_now)
        self.run.refresh_from_db()
        return self.run

    def answer(self, *, approve: bool = True) -> None:
        """Answer its question."""
        operations.answer(self.run, approve=approve, now=database_now(), actor="ann", why="checked")


def questions_of(run: TaskRun) -> list[tuple[int, str, str]]:
    """Return the run's questions in order: segment, question, answer."""
    return list(Approval.objects.filter(run=run).order_by("segment").values_list("segment", "question", "answer"))


def asking(*questions: str, reached: list[str] | None = None) -> Callable[[RunContext], None]:
    """Return a job with these approval points, which notes which of them it passed."""

    def job(run: RunContext) -> None:
        for question in questions:
            run.request_approval(question)
            if reached is not None:
                reached.append(question)

    return job


# --- the question -------------------------------------------------------------------------------------------------


def test_a_run_that_asks_waits_with_its_question_and_frees_its_worker() -> None:
    with registered(asking("Send 214 invoices?")) as job:
        run = Execution(job).go()
    assert (run.state, run.reason) == (RunState.AWAITING_APPROVAL, "Send 214 invoices?")
    assert (run.lease_owner, run.lease_expires_at, run.due_at) == ("", None, None)
    assert questions_of(run) == [(1, "Send 214 invoices?", "")]
    assert Attempt.objects.get(run=run).outcome == AttemptOutcome.AWAITING_APPROVAL


def test_each_approval_point_asks_once_and_is_passed_after_its_answer() -> None:
    """E09: an answer belongs to its point, by the question, and is not asked for again."""
    reached: list[str] = []
    with registered(asking("first?", "second?", "third?", reached=reached)) as job:
        execution = Execution(job)
        for segment, question in enumerate(["first?", "second?", "third?"], start=1):
            execution.go()
            assert questions_of(execution.run)[-1] == (segment, question, "")
            assert reached.count(question) == 0
            execution.answer()
        assert execution.go().state == RunState.DONE
    assert [answer for *_, answer in questions_of(execution.run)] == [APPROVED] * 3
    assert reached.count("third?") == 1


def test_a_point_that_the_checkpoint_leads_past_leaves_the_answers_of_the_others_where_they_belong() -> None:
    def job(run: RunContext) -> None:
        if "sent" not in run.progress:
            run.request_approval("send?")
            run.checkpoint(sent=True)
        run.request_approval("book?")

    with registered(job) as key:
        execution = Execution(key)
        execution.go()
        execution.answer()
        assert execution.go().state == RunState.AWAITING_APPROVAL
        assert questions_of(execution.run) == [(1, "send?", APPROVED), (2, "book?", "")]
        execution.answer()
        assert execution.go().state == RunState.DONE


def test_an_answer_counts_for_its_own_run_alone() -> None:
    with registered(asking("Go?")) as job:
        first, second = Execution(job), Execution(job)
        first.go()
        first.answer()
        assert second.go().state == RunState.AWAITING_APPROVAL


def test_a_run_again_asks_again() -> None:
    with registered(asking("Go?")) as job:
        execution = Execution(job)
        execution.go()
        execution.answer()
        ended = execution.go()
        execution.run = operations.run_again(ended, now=database_now(), actor="ann", from_progress=True)
        assert execution.go().state == RunState.AWAITING_APPROVAL


@pytest.mark.parametrize("question", ["", " \n", "Go\x00?"])
def test_a_question_that_cannot_be_shown_fails_the_run_with_a_sentence(question: str) -> None:
    with registered(asking(question)) as job:
        run = Execution(job).go()
    assert run.state == RunState.FAILED
    assert "takes the question as a text that can be shown" in run.reason
    assert questions_of(run) == []


def test_a_question_of_a_worker_that_lost_its_lease_is_not_stored() -> None:
    run = make_run(RunState.RUNNING)
    TaskRun.objects.filter(pk=run.pk).update(lease_token=2)
    assert not running.settle(run, ASKED, now=LATER)
    assert questions_of(run) == []


def test_a_run_that_was_asked_to_cancel_is_cancelled_instead_of_asking() -> None:
    run = make_run(RunState.RUNNING)
    operations.cancel(run, now=NOW, actor="bob")
    assert running.settle(run, ASKED, now=LATER)
    assert TaskRun.objects.get(pk=run.pk).state == RunState.CANCELLED
    assert questions_of(run) == []


# --- the answer ---------------------------------------------------------------------------------------------------


def test_an_approved_run_is_due_now_with_its_progress_and_says_who_when_and_why() -> None:
    run = make_question(progress={"page": 7})
    operations.answer(run, approve=True, now=LATER, actor="ann", why="the sums are right")
    run.refresh_from_db()
    assert (run.state, run.due_at, run.progress) == (RunState.PENDING, LATER, {"page": 7})
    assert run.reason == "Approved by ann: the sums are right"
    given = Approval.objects.get(run=run)
    assert (given.answer, given.answered_by, given.answered_at) == (APPROVED, "ann", LATER)
    assert given.why == "the sums are right"
    assert events_of(run)[-1] == ("awaiting_approval", "pending", "approval")
    assert RunEvent.objects.filter(run=run).latest("id").actor == "ann"


def test_an_answered_run_that_is_not_running_yet_is_pending_and_not_suspended() -> None:
    run = make_question()
    operations.answer(run, approve=True, now=LATER, actor="ann")
    assert TaskRun.objects.get(pk=run.pk).state == RunState.PENDING
    with pytest.raises(NotPossible, match="is pending now, not suspended"):
        operations.let_go_on(run, now=LATER, actor="ann")


def test_a_rejected_run_is_cancelled_and_says_who_and_why() -> None:
    run = make_question()
    operations.answer(run, approve=False, now=LATER, actor="ann", why="wrong month")
    run.refresh_from_db()
    assert (run.state, run.finished_at, run.reason) == (RunState.CANCELLED, LATER, "Rejected by ann: wrong month")
    assert Approval.objects.get(run=run).answer == REJECTED


@pytest.mark.parametrize("state", [state for state in RunState if state != RunState.AWAITING_APPROVAL])
def test_a_run_that_asks_nothing_cannot_be_answered(state: RunState) -> None:
    run = make_run(state)
    with pytest.raises(NotPossible):
        operations.answer(run, approve=True, now=LATER, actor="ann")
    assert TaskRun.objects.get(pk=run.pk).state == state


def test_a_second_answer_changes_nothing_and_is_told_so() -> None:
    run = make_question()
    operations.answer(run, approve=False, now=LATER, actor="ann")
    with pytest.raises(NotPossible, match="has ended"):
        operations.answer(run, approve=True, now=LATER, actor="bob")
    assert Approval.objects.get(run=run).answered_by == "ann"


def test_a_run_that_is_cancelled_while_it_asks_leaves_its_question_without_an_answer() -> None:
    run = make_question()
    assert operations.cancel(run, now=LATER, actor="bob")
    assert Approval.objects.get(run=run).answer == ""
    with pytest.raises(NotPossible, match="has ended"):
        operations.answer(run, approve=True, now=LATER, actor="ann")


def test_a_run_that_waits_for_its_answer_holds_back_the_next_one_of_its_schedule() -> None:
    schedule = make_schedule()
    asking_run, following = make_question(schedule=schedule), make_run(schedule=schedule)
    assert launching._lease_due(LATER, LATER, 9) == []
    operations.answer(asking_run, approve=False, now=LATER, actor="ann")
    assert [leased.claim.run_id for leased in launching._lease_due(LATER, LATER, 9)] == [following.pk]


# --- the rows -----------------------------------------------------------------------------------------------------


def test_a_segment_of_a_run_has_one_question() -> None:
    run = make_question()
    with pytest.raises(IntegrityError, match="approval_once_a_segment"), transaction.atomic():
        Approval.objects.create(run=run, segment=1, question="Again?", asked_at=NOW)


@pytest.mark.parametrize(
    "columns",
    [
        {"answer": APPROVED},
        {"answer": APPROVED, "answered_at": NOW},
        {"answered_at": NOW, "answered_by": "ann"},
    ],
)
def test_an_answer_says_by_whom_and_when(columns: dict[str, Any]) -> None:
    run = make_question()
    with pytest.raises(IntegrityError, match="approval_answered_says_by_whom"), transaction.atomic():
        Approval.objects.filter(run=run).update(**columns)


# --- giving up ----------------------------------------------------------------------------------------------------


def test_a_suspended_run_that_is_given_up_has_failed_for_good() -> None:
    run = make_run(RunState.SUSPENDED, retry_delays=[60], progress={"page": 7})
    operations.give_up(run, now=LATER, actor="ann", reason="the supplier is gone")
    run.refresh_from_db()
    assert (run.state, run.due_at, run.finished_at) == (RunState.FAILED, None, LATER)
    assert (run.reason, run.progress) == ("the supplier is gone", {"page": 7})
    assert events_of(run)[-1] == ("suspended", "failed", "manual")


@pytest.mark.parametrize("state", [state for state in RunState if state != RunState.SUSPENDED])
def test_only_a_suspended_run_can_be_given_up(state: RunState) -> None:
    run = make_run(state)
    with pytest.raises(NotPossible):
        operations.give_up(run, now=LATER, actor="ann")
    assert TaskRun.objects.get(pk=run.pk).state == state


def test_what_was_given_up_holds_nothing_back_and_can_be_run_again_from_its_progress() -> None:
    schedule = make_schedule()
    run = make_run(RunState.SUSPENDED, schedule=schedule, progress={"page": 7})
    operations.give_up(run, now=LATER, actor="ann")
    run.refresh_from_db()
    again = operations.run_again(run, now=LATER, actor="ann", from_progress=True)
    assert (again.progress, again.rerun_of) == ({"page": 7}, run)
    assert running.begin(launched(again), WORKER, now=LATER) is not None
