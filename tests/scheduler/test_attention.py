"""What a person should know of is told once, in the transaction that makes it so."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from alerts.attention import Attention, attention_needed
from scheduler import firing, operations, rescuing, running
from scheduler.models import Fire, Schedule, TaskRun
from scheduler.rescuing import POISON_AFTER
from scheduler.running import Outcome
from scheduler.states import AttemptOutcome, RunState
from tests.scheduler.factories import DAY, HOUR, MINUTE, NOW, SECOND, make_run, make_schedule

pytestmark = pytest.mark.django_db


@pytest.fixture
def told() -> Iterator[list[Attention]]:
    heard: list[Attention] = []

    def hear(attention: Attention, **_: Any) -> None:
        heard.append(attention)

    attention_needed.connect(hear)
    yield heard
    attention_needed.disconnect(hear)


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
    assert told[0].sentence == "no upstream"


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


def test_each_approval_point_is_told_for_itself(told: list[Attention]) -> None:
    run = make_run(RunState.RUNNING)
    settle(run, RunState.AWAITING_APPROVAL, AttemptOutcome.AWAITING_APPROVAL, reason="Send?", question="Send?")
    operations.answer(run, approve=True, now=NOW, actor="ada")
    again = make_run(RunState.RUNNING, attempt_count=2)
    settle(again, RunState.AWAITING_APPROVAL, AttemptOutcome.AWAITING_APPROVAL, reason="Pay?", question="Pay?")
    assert [attention.sentence for attention in told] == ["Send?", "Pay?"]
    assert len({attention.fingerprint for attention in told}) == 2


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
