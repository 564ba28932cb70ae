"""Where a run stands and why, told from the rows that the domain itself wrote."""

from dataclasses import replace
from datetime import datetime, time
from typing import Any

import pytest

from scheduler import operations, quiet_hours, rescuing, running
from scheduler.explaining import Explanation, RowRef, Scan, Scans, Situation, explain_run, next_in_words
from scheduler.models import Approval, TaskRun
from scheduler.rescuing import POISON_AFTER
from scheduler.running import Outcome
from scheduler.states import AttemptOutcome, RunState
from scheduler.transitions import Claim
from tests.scheduler.factories import DAY, HOUR, MINUTE, NOW, SECOND, WORKER, launched, make_run, make_schedule, utc

pytestmark = pytest.mark.django_db


def scans(now: datetime, **others: Any) -> Scans:
    """Return scans that run, but for the others."""
    return replace(Scans(Scan(now), Scan(now), Scan(now)), **others)


def why(run: TaskRun, *, now: datetime = NOW, **silent: Any) -> Explanation:
    """Ask about the run as the database has it."""
    return explain_run(TaskRun.objects.get(pk=run.pk), now=now, scans=scans(now, **silent))


# --- not begun -------------------------------------------------------------------------------------------------


def test_a_due_run_is_launched_by_the_next_scan() -> None:
    said = why(make_run())
    assert said.situation is Situation.DUE
    assert next_in_words(said, NOW) == "The next scan launches it."


def test_a_due_run_in_a_backlog_says_how_many_go_before_it() -> None:
    make_run(priority=5)
    make_run(now=NOW - MINUTE)
    last = make_run()
    make_run(now=NOW + HOUR)
    assert "Of the due runs 2 go before it: they are more urgent or older." in why(last).answer


def test_a_run_that_is_due_for_long_with_nothing_before_it_waits_for_a_full_queue() -> None:
    assert "the queue is full" in why(make_run(now=NOW - HOUR)).answer
    assert "the queue is full" not in why(make_run(now=NOW)).answer


def test_a_run_behind_its_predecessor_names_it_and_who_holds_that() -> None:
    schedule = make_schedule()
    first = make_run(RunState.RUNNING, schedule=schedule)
    second = make_run(schedule=schedule)
    said = why(second)
    assert said.situation is Situation.QUEUED
    assert f"waits for run #{first.pk}, which is running" in said.answer
    assert said.waits_for == f"run #{first.pk} (running)"
    assert said.held_by == f"run #{first.pk} is held by {WORKER.name}"
    assert said.rows[:2] == (RowRef("run", second.pk), RowRef("run", first.pk))


@pytest.mark.parametrize(
    ("state", "what_to_do"),
    [(RunState.AWAITING_APPROVAL, "Answer the question of run #"), (RunState.SUSPENDED, "go on or give it up; when")],
)
def test_a_run_behind_one_that_waits_for_a_person_says_what_that_person_is_to_do(
    state: RunState, what_to_do: str
) -> None:
    schedule = make_schedule()
    make_run(state, schedule=schedule)
    assert what_to_do in why(make_run(schedule=schedule)).next_step


def test_without_a_worker_it_says_since_when_no_scan_has_launched_anything() -> None:
    said = why(make_run(now=NOW - HOUR), launch=Scan(NOW - 2 * HOUR))
    assert said.situation is Situation.NOBODY_LAUNCHES
    assert "No scan has run since 2026-06-01 10:00:00 UTC." in said.answer
    assert said.waits_for == "a worker"


def test_while_the_broker_is_down_it_says_so_in_the_words_of_the_scan() -> None:
    note = "Broker unreachable (ConnectionError): due runs stay due until it is back."
    said = why(make_run(now=NOW - MINUTE), launch=Scan(NOW, note))
    assert said.situation is Situation.BROKER_DOWN
    assert note in said.answer
    assert said.waits_for == "the broker (Redis)"


def test_what_is_not_known_of_the_scans_is_not_said() -> None:
    run = make_run(now=NOW - HOUR)
    said = explain_run(run, now=NOW, scans=Scans())
    assert said.situation is Situation.DUE
    assert said.answer == f"Run #{run.pk} is due since 2026-06-01 11:00:00 UTC and not launched yet."


def test_a_hint_on_its_way_says_when_it_is_sent_again() -> None:
    run = make_run()
    launched(run, seconds=15)
    said = why(run)
    assert said.situation is Situation.HINT_ON_ITS_WAY
    assert said.next_at == NOW + 15 * SECOND


def test_a_hint_that_nobody_took_says_that_the_runners_are_busy_or_gone() -> None:
    run = make_run()
    launched(run, seconds=15)
    said = why(run, now=NOW + MINUTE)
    assert said.situation is Situation.HINT_NOT_TAKEN
    assert "all runners are busy, or none is running" in said.answer


# --- waiting for a time ----------------------------------------------------------------------------------------


def quiet_run(now: datetime) -> TaskRun:
    schedule = make_schedule(timezone="Europe/Berlin", quiet_from=time(22), quiet_until=time(6))
    return make_run(now=now, schedule=schedule)


def test_quiet_hours_say_their_window_and_their_end_before_and_after_the_scan() -> None:
    night, morning = utc("2026-06-01 21:30"), utc("2026-06-02 04:00")
    run = quiet_run(night)
    for _ in ("before the scan", "after it"):
        said = why(run, now=night)
        assert said.situation is Situation.QUIET_HOURS
        assert "from 22:00 to 06:00 Europe/Berlin" in said.answer
        assert said.next_at == morning
        quiet_hours.put_off([Claim(run.pk)], now=night)
    assert TaskRun.objects.get(pk=run.pk).state == RunState.DEFERRED


def test_a_retry_says_its_number_its_time_and_what_failed() -> None:
    run = make_run(RunState.RUNNING, retry_delays=[60, 60])
    running.settle(run, failure("The ledger is locked."), now=NOW)
    said = why(run)
    assert said.situation is Situation.RETRY_WAITING
    assert "waits for its retry 1 of 2. The ledger is locked." in said.answer
    assert said.next_at == TaskRun.objects.get().due_at


def failure(reason: str) -> Outcome:
    return Outcome(RunState.FAILED, AttemptOutcome.FAILED, reason=reason, error=reason)


def test_a_deferred_run_says_that_it_was_its_own_choice() -> None:
    said = why(make_run(RunState.DEFERRED, due_at=NOW + HOUR, reason="The file is not there yet."))
    assert said.situation is Situation.DEFERRED
    assert "is put off until 2026-06-01 13:00:00 UTC. The file is not there yet." in said.answer


def test_jitter_says_how_far_runs_are_spread() -> None:
    schedule = make_schedule(jitter_seconds=600)
    said = why(make_run(schedule=schedule, due_at=NOW + MINUTE))
    assert said.situation is Situation.STARTS_LATER
    assert "spreads its runs over 10 min." in said.answer


# --- running ---------------------------------------------------------------------------------------------------


def test_a_running_run_says_who_has_it_how_far_it_is_and_when_it_times_out() -> None:
    run = make_run(RunState.RUNNING, deadline_at=NOW + HOUR, progress_done=3, progress_total=12)
    said = why(run)
    assert said.situation is Situation.RUNNING
    assert said.answer == (f"{WORKER.name} works on run #{run.pk} since 2026-06-01 12:00:00 UTC: attempt 1, 25 % done.")
    assert said.held_by == f"{WORKER.name}, process {WORKER.pid}"
    assert said.next_at == NOW + HOUR


def test_a_running_run_that_was_asked_to_cancel_says_by_whom() -> None:
    run = make_run(RunState.RUNNING)
    operations.cancel(run, now=NOW, actor="ada")
    said = why(run)
    assert said.situation is Situation.CANCEL_ASKED
    assert "ada asked to cancel it" in said.answer
    assert next_in_words(said, NOW) == "It ends at its next checkpoint."


@pytest.mark.parametrize(
    ("fields", "fate"),
    [
        ({}, "it goes on from its checkpoint"),
        ({"on_interrupt": "suspend"}, "it is suspended until a person decides"),
        ({"interruption_count": POISON_AFTER - 1}, f"it is given up, as this is the loss number {POISON_AFTER}"),
        ({"cancel_requested_at": NOW, "cancel_requested_by": "ada"}, "it is cancelled, as somebody asked"),
    ],
)
def test_a_lost_lease_says_who_had_it_and_what_the_rescue_makes_of_it(fields: dict[str, Any], fate: str) -> None:
    said = why(make_run(RunState.RUNNING, lease_expires_at=NOW - SECOND, **fields))
    assert said.situation is Situation.LEASE_LOST
    assert f"{WORKER.name} worked on run #" in said.answer
    assert said.next_step.endswith(fate) or fate in said.next_step


def test_a_lost_lease_that_nobody_rescues_says_that_too() -> None:
    said = why(make_run(RunState.RUNNING, lease_expires_at=NOW - SECOND), rescue=Scan(NOW - HOUR))
    assert said.next_step.startswith("No scan has run since 2026-06-01 11:00:00 UTC. Start a worker")


# --- waiting for somebody --------------------------------------------------------------------------------------


def test_a_question_is_quoted_with_the_time_since_when_it_waits() -> None:
    run = make_run(RunState.AWAITING_APPROVAL)
    question = Approval.objects.create(run=run, segment=1, question="Send 214 invoices?", asked_at=NOW)
    said = why(run, now=NOW + DAY)
    assert said.situation is Situation.AWAITING_APPROVAL
    assert said.answer == (f"Run #{run.pk} waits for an approval since 2026-06-01 12:00:00 UTC: “Send 214 invoices?”")
    assert RowRef("approval", question.pk) in said.rows


def test_a_question_that_was_answered_is_due_not_waiting() -> None:
    run = make_run(RunState.AWAITING_APPROVAL)
    Approval.objects.create(run=run, segment=1, question="Send 214 invoices?", asked_at=NOW)
    operations.answer(run, approve=True, now=NOW, actor="ada")
    assert why(run).situation is Situation.DUE


def test_a_suspended_run_says_what_a_person_can_do() -> None:
    run = make_run(RunState.RUNNING, lease_expires_at=NOW - SECOND, on_interrupt="suspend")
    rescuing.rescue_lost(now=NOW)
    said = why(run)
    assert said.situation is Situation.SUSPENDED
    assert "The worker was lost" in said.answer
    assert said.waits_for == "a person's decision"


def test_a_paused_run_waits_for_its_quota() -> None:
    said = why(make_run(RunState.PAUSED, reason="Quota fans-api is used up."))
    assert said.situation is Situation.WAITING_FOR_QUOTA
    assert "Quota fans-api is used up." in said.answer
    assert said.waits_for == "its quota"


# --- ended -----------------------------------------------------------------------------------------------------


def test_a_done_run_says_when_and_how_long_it_took() -> None:
    run = make_run(RunState.DONE, finished_at=NOW + 5 * MINUTE)
    said = why(run, now=NOW + HOUR)
    assert said.situation is Situation.DONE
    assert said.answer == (
        f"Run #{run.pk} did the work of 2026-06-01: it was done at 2026-06-01 12:05:00 UTC, 5 min after it had begun."
    )


def test_a_failed_run_says_how_often_and_the_last_error() -> None:
    run = make_run(RunState.RUNNING, retry_delays=[60], failure_count=1)
    running.settle(run, failure("The ledger is locked."), now=NOW)
    said = why(run)
    assert said.situation is Situation.FAILED
    assert "failed 2 times, the last time at 2026-06-01 12:00:00 UTC, and its retries are used up." in said.answer
    assert "The ledger is locked." in said.answer


def test_a_poison_run_says_that_its_workers_died_of_it() -> None:
    run = make_run(RunState.RUNNING, lease_expires_at=NOW - SECOND, interruption_count=POISON_AFTER - 1)
    rescuing.rescue_lost(now=NOW)
    said = why(run)
    assert said.situation is Situation.POISON
    assert f"its worker was lost {POISON_AFTER} times in a row, with no checkpoint in between" in said.answer


def test_a_run_that_was_given_up_says_by_whom() -> None:
    run = make_run(RunState.SUSPENDED)
    operations.give_up(run, now=NOW, actor="ada", reason="The data is gone")
    said = why(run)
    assert said.situation is Situation.GIVEN_UP
    assert "was given up by ada at 2026-06-01 12:00:00 UTC. The data is gone." in said.answer


def test_a_cancelled_run_says_by_whom_and_why() -> None:
    run, silent = make_run(), make_run()
    operations.cancel(run, now=NOW, actor="ada", reason="Wrong day")
    operations.cancel(silent, now=NOW, actor="ada")
    assert why(run).situation is Situation.CANCELLED
    assert why(run).answer == f"Run #{run.pk} was cancelled by ada at 2026-06-01 12:00:00 UTC. Wrong day."
    assert why(silent).answer == f"Run #{silent.pk} was cancelled by ada at 2026-06-01 12:00:00 UTC."


def test_a_run_that_was_cancelled_while_its_worker_was_lost_still_says_by_whom() -> None:
    run = make_run(RunState.RUNNING, lease_expires_at=NOW - SECOND)
    operations.cancel(run, now=NOW, actor="ada", reason="Wrong day.")
    rescuing.rescue_lost(now=NOW)
    assert f"Run #{run.pk} was cancelled by ada" in why(run).answer
    assert "Wrong day." in why(run).answer


def test_a_run_whose_question_was_rejected_says_who_said_no() -> None:
    run = make_run(RunState.AWAITING_APPROVAL)
    Approval.objects.create(run=run, segment=1, question="Send 214 invoices?", asked_at=NOW)
    operations.answer(run, approve=False, now=NOW, actor="ada", why="wrong month")
    said = why(run)
    assert said.situation is Situation.REJECTED
    assert "Rejected by ada: wrong month." in said.answer


def test_every_state_has_an_answer_and_a_next_step_and_shows_its_row() -> None:
    for state in RunState:
        run = make_run(state)
        said = why(run)
        assert said.rows[0] == RowRef("run", run.pk)
        assert said.answer.endswith((".", "!", "?", "”")), said.answer
        assert next_in_words(said, NOW).endswith(".")
