"""The verbs that open, end and move runs."""

from datetime import date
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from project.kit.clock import database_now
from scheduler import running
from scheduler.models import Approval, RunEvent, TaskRun
from scheduler.running import Outcome
from scheduler.states import AttemptOutcome, FireKind, RunState
from tests.scheduler.commands.asking import ME, Shell, between_looks
from tests.scheduler.factories import HOUR, WORKER, launched, make_run, make_schedule

pytestmark = pytest.mark.django_db


def event_of(run: TaskRun) -> RunEvent:
    return run.events.latest("pk")


# --- fire ------------------------------------------------------------------------------------------------------


def test_fire_opens_a_run_by_hand_and_says_who_and_why(shell: Shell) -> None:
    schedule = make_schedule(name="Nightly", now=database_now())
    planned = schedule.next_run_at
    said = shell.says("fire", "Nightly", "--day", "2026-05-04", "--reason", "The report was lost")
    run = TaskRun.objects.get()
    assert said == f"Run #{run.pk} of “Nightly” for 2026-05-04 is due now."
    assert run.stat_date == date(2026, 5, 4)
    assert run.fire is not None
    assert (run.fire.kind, run.fire.actor, run.fire.reason) == (FireKind.MANUAL, ME, "The report was lost")
    assert event_of(run).actor == ME
    schedule.refresh_from_db()
    assert schedule.next_run_at == planned


def test_a_day_that_is_none_is_refused_before_anything_is_written(shell: Shell) -> None:
    schedule = make_schedule()
    with pytest.raises(CommandError, match="“yesterday” is not a day, such as 2026-03-08"):
        call_command("fire", schedule.name, "--day", "yesterday")
    assert not TaskRun.objects.exists()


# --- run -------------------------------------------------------------------------------------------------------


def test_run_opens_a_run_of_a_job_without_a_schedule(shell: Shell) -> None:
    values = shell.values("run", "test.noop", "--params", '{"limit": 3}', "--day", "2026-05-04")
    run = TaskRun.objects.get(pk=values["run"])
    assert (run.job, run.params, run.schedule) == ("test.noop", {"limit": 3}, None)
    assert values["stat_date"] == "2026-05-04"
    assert values["state"] == "pending"


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (["test.nop"], "No job “test.nop” is registered here."),
        (["test.noop", "--params", "{limit: 3}"], "--params is not JSON: "),
        (["test.noop", "--params", "[3]"], "--params is not a JSON object."),
        (["http", "--params", "{}"], "Parameter “url”"),
    ],
)
def test_run_refuses_what_the_job_would_refuse(shell: Shell, asked: list[str], sentence: str) -> None:
    assert sentence in shell.refuses("run", *asked)
    assert not TaskRun.objects.exists()


def begin() -> None:
    run = TaskRun.objects.get()
    assert running.begin(launched(run, now=database_now()), WORKER, now=database_now())


def reach(done: int, total: int) -> None:
    TaskRun.objects.update(progress_done=done, progress_total=total)


def settle(outcome: Outcome) -> None:
    assert running.settle(TaskRun.objects.get(), outcome, now=database_now())


def test_wait_shows_how_far_it_is_and_ends_with_its_end(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    between_looks(
        monkeypatch,
        begin,
        lambda: reach(5, 20),
        lambda: reach(6, 20),
        lambda: reach(20, 20),
        lambda: settle(Outcome(RunState.DONE, AttemptOutcome.DONE, result={"rows": 20})),
    )
    values = shell.values("run", "test.noop", "--wait")
    assert (values["state"], values["result"]) == ("done", {"rows": 20})
    lines = shell.progress.splitlines()
    run_id = values["run"]
    assert lines[0].startswith(f"Run #{run_id} is due since")
    assert f"Run #{run_id} is running, attempt 1:" in lines
    assert f"Run #{run_id} is running, attempt 1: 5 of 20" in lines
    assert f"Run #{run_id} is running, attempt 1: 20 of 20" in lines


def test_wait_for_what_fails_ends_with_its_error_and_a_status_of_its_own(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = Outcome(RunState.FAILED, AttemptOutcome.FAILED, reason="The ledger is locked.")
    between_looks(monkeypatch, begin, lambda: settle(failed))
    assert "The ledger is locked." in shell.says("run", "test.noop", "--wait", status=3)


def test_a_person_who_stops_waiting_stops_nothing_else(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def ctrl_c() -> None:
        raise KeyboardInterrupt

    between_looks(monkeypatch, begin, ctrl_c)
    assert "goes on without you" in shell.says("run", "test.noop", "--wait", status=130)
    run = TaskRun.objects.get()
    assert (run.state, run.cancel_requested_at) == (RunState.RUNNING, None)


# --- cancel, resume, give up -----------------------------------------------------------------------------------


def test_cancel_ends_what_waits_and_asks_what_runs(shell: Shell) -> None:
    waiting, working = make_run(), make_run(RunState.RUNNING)
    assert shell.says("cancel", waiting.pk, "--reason", "Wrong day") == f"Run #{waiting.pk} is cancelled."
    assert (event_of(waiting).actor, event_of(waiting).reason) == (ME, "Wrong day")
    assert shell.says("cancel", f"#{working.pk}") == (
        f"Run #{working.pk} is asked to cancel; it ends at its next checkpoint."
    )
    working.refresh_from_db()
    assert working.cancel_requested_by == ME


def test_cancel_refuses_what_has_ended(shell: Shell) -> None:
    run = make_run(RunState.DONE)
    assert shell.refuses("cancel", run.pk) == f"Run #{run.pk} has ended already (done)."


@pytest.mark.parametrize("state", [RunState.SUSPENDED, RunState.FAILED, RunState.DEFERRED])
def test_resume_makes_due_what_waits_for_a_person_or_for_its_time(shell: Shell, state: RunState) -> None:
    fields: dict[str, Any] = {} if state == RunState.SUSPENDED else {"due_at": database_now() + HOUR}
    run = make_run(state, **fields)
    assert shell.says("resume", run.pk) == f"Run #{run.pk} is due now."
    run.refresh_from_db()
    assert run.state == RunState.PENDING
    assert event_of(run).actor == ME


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        (RunState.RUNNING, f"{WORKER.name} works on run #"),
        (RunState.AWAITING_APPROVAL, "It goes on when a person has answered its question"),
        (RunState.DONE, "to do its work again, run it again."),
        (RunState.FAILED, "to do its work again, run it again."),
    ],
)
def test_resume_says_what_else_a_run_waits_for(shell: Shell, state: RunState, sentence: str) -> None:
    run = make_run(state, now=database_now(), ended=state == RunState.FAILED)
    refusal = shell.refuses("resume", run.pk)
    assert refusal.startswith("There is nothing to resume.")
    assert sentence in refusal


def test_give_up_ends_a_suspended_run_only(shell: Shell) -> None:
    suspended, pending = make_run(RunState.SUSPENDED), make_run()
    assert shell.values("give_up", suspended.pk, "--reason", "The data is gone")["state"] == "failed"
    assert (event_of(suspended).actor, event_of(suspended).reason) == (ME, "The data is gone")
    assert shell.refuses("give_up", pending.pk) == f"Run #{pending.pk} is pending now, not suspended."


# --- approve ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "state", "fate"),
    [
        ([], RunState.PENDING, "Approved: it is due now."),
        (["--reject"], RunState.CANCELLED, "Rejected: it is cancelled."),
    ],
)
def test_approve_answers_yes_or_no_in_ones_own_name(
    shell: Shell, options: list[str], state: RunState, fate: str
) -> None:
    run = make_run(RunState.AWAITING_APPROVAL)
    Approval.objects.create(run=run, segment=1, question="Send 214 invoices?", asked_at=database_now())
    said = shell.says("approve", run.pk, "--why", "looked at it", *options)
    assert said == f"Run #{run.pk} asked: “Send 214 invoices?” {fate}"
    run.refresh_from_db()
    assert run.state == state
    approval = Approval.objects.get()
    assert (approval.answered_by, approval.why) == (ME, "looked at it")


def test_approve_refuses_a_run_that_asks_nothing(shell: Shell) -> None:
    run = make_run()
    assert shell.refuses("approve", run.pk) == f"Run #{run.pk} is pending now, not awaiting approval."
