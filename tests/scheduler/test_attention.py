"""What a person should know of is told once, in the transaction that makes it so."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from alerts.attention import Attention, attention_needed
from scheduler import firing, operations, rescuing, running
from scheduler.models import Fire, Schedule, TaskRun
from scheduler.remedies import BY_OUTCOME, remedy
from scheduler.rescuing import POISON_AFTER
from scheduler.run_messages import read_runs
from scheduler.running import Outcome
from scheduler.states import AttemptOutcome, RunState
from scheduler.transitions import Claim
from tests.hearing import hearing
from tests.scheduler.factories import (
    DAY,
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    WORKER,
    launched,
    make_run,
    make_schedule,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def told() -> Iterator[list[Attention]]:
    """What people were told."""
    with hearing() as heard:
        yield heard


def settle(run: TaskRun, state: RunState, outcome: AttemptOutcome, **fields: Any) -> None:
    assert running.settle(run, Outcome(state, outcome, **fields), now=NOW)


def kinds(told: list[Attention]) -> list[tuple[str, str]]:
    return [(attention.kind, attention.fingerprint) for attention in told]


def test_a_final_failure_is_told_and_one_that_will_be_retried_is_not(told: list[Attention]) -> None:
    retried, final = make_run(RunState.RUNNING, retry_delays=[60]), make_run(RunState.RUNNING)
    settle(retried, RunState.FAILED, AttemptOutcome.FAILED, reason="no upstream")
    assert told == []
    settle(final, RunState.FAILED, AttemptOutcome.FAILED, reason="no upstream")
    assert kinds(told) == [("run_failed", f"run_failed:run:{final.pk}")]


def test_a_failure_names_what_failed_where_why_there_is_no_retry_and_what_to_do(told: list[Attention]) -> None:
    run = make_run(RunState.RUNNING, job="command", retry_delays=[60, 60], failure_count=2)
    settle(run, RunState.FAILED, AttemptOutcome.FAILED, reason="The command ended with exit status 127.\nmore")
    lines = told[0].sentence.splitlines()
    assert lines[:2] == [
        "The command ended with exit status 127.",
        f"It ended with attempt 1 on the worker {WORKER.name}; its 2 retries are used up.",
    ]
    assert lines[2:] == [remedy("command", AttemptOutcome.FAILED, lines[0])]
    assert told[0].url == f"/admin/scheduler/taskrun/{run.pk}/change/"


def test_a_timeout_is_answered_by_its_own_remedy(told: list[Attention]) -> None:
    said = "The attempt took longer than its timeout of 60 s."
    settle(make_run(RunState.RUNNING), RunState.FAILED, AttemptOutcome.TIMED_OUT, reason=said)
    assert told[0].sentence.endswith(BY_OUTCOME[AttemptOutcome.TIMED_OUT])


def test_whoever_is_told_of_a_run_learns_how_it_came_for_which_day_and_at_which_attempt(told: list[Attention]) -> None:
    schedule = make_schedule(name="nightly")
    run = operations.run_now(schedule, now=NOW, actor="ada")
    running.begin(launched(run), WORKER, now=NOW)
    settle(TaskRun.objects.get(pk=run.pk), RunState.FAILED, AttemptOutcome.FAILED, reason="no upstream")
    assert told[0].subject == f"#{run.pk} nightly 2026-06-01"
    assert told[0].facts == (
        ("How it came", "Started by hand by ada"),
        ("Data day", "2026-06-01"),
        ("Schedule", "nightly"),
        ("Attempt", "1"),
    )


def test_what_ends_well_or_goes_on_by_itself_is_not_told(told: list[Attention]) -> None:
    settle(make_run(RunState.RUNNING), RunState.DONE, AttemptOutcome.DONE)
    settle(make_run(RunState.RUNNING), RunState.DEFERRED, AttemptOutcome.DEFERRED, due_at=NOW + HOUR)
    lost = make_run(RunState.RUNNING, lease_expires_at=NOW - SECOND)
    assert rescuing.rescue_lost(now=NOW) == 1
    operations.cancel(lost, now=NOW, actor="ada")
    assert told == []


def test_a_suspended_run_is_told_once_and_not_again_for_the_fires_that_give_way_to_it(told: list[Attention]) -> None:
    schedule = make_schedule(due=NOW, overlap="skip", on_interrupt="suspend")
    run = make_run(
        RunState.RUNNING,
        schedule=schedule,
        on_interrupt="suspend",
        exclusive_key=f"schedule:{schedule.pk}",
        lease_expires_at=NOW - SECOND,
    )
    rescuing.rescue_lost(now=NOW)
    firing.fire_all_due(now=NOW)
    assert Fire.objects.get(schedule=schedule).outcome == "skipped_overlap"
    assert kinds(told) == [("run_suspended", f"run_suspended:run:{run.pk}")]


def test_a_run_that_kills_its_workers_is_told_as_poison(told: list[Attention]) -> None:
    run = make_run(RunState.RUNNING, interruption_count=POISON_AFTER - 1, lease_expires_at=NOW - SECOND)
    rescuing.rescue_lost(now=NOW)
    assert kinds(told) == [("run_poison", f"run_poison:run:{run.pk}")]
    assert BY_OUTCOME[AttemptOutcome.LOST] in told[0].sentence


def ask(run: TaskRun, claim: Claim, question: str) -> None:
    """Begin the run and let it ask; a hint that is out of date does nothing."""
    if begun := running.begin(claim, WORKER, now=NOW):
        settle(begun, RunState.AWAITING_APPROVAL, AttemptOutcome.AWAITING_APPROVAL, reason=question, question=question)


def test_each_approval_point_of_a_run_is_told_once_however_often_its_hint_comes(told: list[Attention]) -> None:
    run = make_run()
    first = launched(run)
    ask(run, first, "Send?")
    ask(run, first, "Send?")
    operations.answer(run, approve=True, now=NOW, actor="ada")
    ask(run, first, "Send?")
    second = launched(run)
    ask(run, second, "Pay?")
    ask(run, second, "Pay?")
    assert [attention.sentence.splitlines()[0] for attention in told] == ["Send?", "Pay?"]
    assert [attention.fingerprint for attention in told] == [f"run_asks:run:{run.pk}:1", f"run_asks:run:{run.pk}:2"]


def test_what_waits_for_a_person_says_what_he_can_do(told: list[Attention]) -> None:
    run = make_run()
    ask(run, launched(run), "Send?")
    rescuing.free([make_run(RunState.RUNNING, on_interrupt="suspend")], now=NOW)
    assert [attention.sentence.splitlines()[1] for attention in told] == [
        "Answer it on its page: approved, it goes on at once; rejected, it is cancelled.",
        "Let it go on or give it up, on its page.",
    ]


def test_however_many_runs_are_told_they_are_read_by_one_question(django_assert_num_queries: Any) -> None:
    runs = [make_run(RunState.SUSPENDED) for _ in range(3)]
    with django_assert_num_queries(1):
        read_runs([run.pk for run in runs])


def test_who_gives_up_a_run_by_hand_is_not_told_what_he_did(told: list[Attention]) -> None:
    operations.give_up(make_run(RunState.SUSPENDED), now=NOW, actor="ada")
    assert told == []


def test_a_broken_schedule_is_told(told: list[Attention]) -> None:
    schedule = make_schedule(due=NOW)
    Schedule.objects.filter(pk=schedule.pk).update(cron="0 25 * * *")
    firing.fire_all_due(now=NOW)
    assert kinds(told) == [("schedule_broken", f"schedule_broken:schedule:{schedule.pk}")]


@pytest.mark.parametrize(
    ("late", "expected"),
    [(HOUR - SECOND, []), (HOUR, []), (HOUR + SECOND, ["schedule_missed"])],
    ids=["within the grace", "at its end", "beyond it"],
)
def test_what_is_missed_beyond_the_grace_is_told_and_what_is_made_up_is_not(
    told: list[Attention], late: timedelta, expected: list[str]
) -> None:
    schedule = make_schedule(
        due=NOW - late, trigger="interval", interval_seconds=int(DAY.total_seconds()), anchor_at=NOW - late
    )
    assert schedule.misfire_grace_seconds == HOUR.total_seconds()
    firing.fire_all_due(now=NOW)
    assert [attention.kind for attention in told] == expected


def test_what_is_told_is_undone_with_the_transition_when_who_records_it_fails() -> None:
    run = make_run(RunState.RUNNING)

    def refuse(**_: Any) -> None:
        raise RuntimeError("the alert cannot be written")

    attention_needed.connect(refuse)
    try:
        with pytest.raises(RuntimeError), transaction.atomic():
            settle(run, RunState.FAILED, AttemptOutcome.FAILED, reason="no upstream")
    finally:
        attention_needed.disconnect(refuse)
    assert TaskRun.objects.get(pk=run.pk).state == RunState.RUNNING


def test_nothing_is_told_by_a_transition_that_somebody_else_won(told: list[Attention]) -> None:
    run = make_run(RunState.RUNNING)
    TaskRun.objects.filter(pk=run.pk).update(lease_token=run.lease_token + 1)
    assert not running.settle(run, Outcome(RunState.FAILED, AttemptOutcome.FAILED, reason="late"), now=NOW + MINUTE)
    assert told == []
