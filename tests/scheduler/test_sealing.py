"""Seals: the hash of what an ended run was, which anybody can compute again; what is sealed changes no more."""

import hashlib
import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from scheduler import cron, operations, running, sealing
from scheduler.jobs.output import Output
from scheduler.models import Attempt, RunEvent, TaskRun
from scheduler.running import Outcome
from scheduler.sealing import manifest, seal_ended, seal_of, verify
from scheduler.states import AttemptOutcome, RunState
from tests.scheduler.factories import A_MOMENT, HOUR, NOW, make_question, make_run, make_schedule

pytestmark = pytest.mark.django_db

LATER = NOW + HOUR
ENDED = [(RunState.DONE, False), (RunState.CANCELLED, False), (RunState.FAILED, True)]
DONE = Outcome(RunState.DONE, AttemptOutcome.DONE, result={"rows": 17}, output="all of it\n")


def sealed(**fields: Any) -> TaskRun:
    """Return a run that was done and sealed."""
    run = make_run(RunState.DONE, **fields)
    seal_ended()
    return TaskRun.objects.get(pk=run.pk)


def tampered(table: str, column: str, value: Any, run: TaskRun) -> None:
    """Change a row as somebody could who may switch the database's triggers off."""
    key = "id" if table == "scheduler_taskrun" else "run_id"
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(f"UPDATE {table} SET {column} = %s WHERE {key} = %s", [value, run.pk])  # noqa: S608
        cursor.execute("SET LOCAL session_replication_role = origin")


# --- which runs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("state", "ended"), ENDED)
def test_every_run_that_has_ended_is_sealed_once(state: RunState, ended: bool) -> None:
    run = make_run(state, ended=ended)
    assert seal_ended() == 1
    assert seal_ended() == 0
    run.refresh_from_db()
    assert len(run.seal) == 64
    assert verify(run.pk)


@pytest.mark.parametrize("state", [state for state in RunState if state not in (RunState.DONE, RunState.CANCELLED)])
def test_a_run_that_has_not_ended_has_no_seal(state: RunState) -> None:
    run = make_run(state)
    assert seal_ended() == 0
    with pytest.raises(TaskRun.DoesNotExist):
        verify(run.pk)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_all_are_sealed_however_many_a_batch_holds(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing, "BATCH", 3)
    runs = [make_run(RunState.DONE) for _ in range(count)]
    assert seal_ended() == count
    assert all(verify(run.pk) for run in runs)


def test_a_batch_takes_four_statements_however_many_runs(django_assert_num_queries: Any) -> None:
    for _ in range(20):
        make_run(RunState.DONE)
    with django_assert_num_queries(4):  # runs, attempts, events, seals
        seal_ended()


# --- what is sealed -----------------------------------------------------------------------------------------------


def test_the_seal_is_the_sha_256_of_the_manifest_in_canonical_json() -> None:
    run = sealed(params={"b": 1, "a": "ü"}, result={"rows": 17})
    text = json.dumps(manifest(run), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert run.seal == hashlib.sha256(text.encode()).hexdigest()
    assert '"params":{"a":"ü","b":1}' in text


def test_the_manifest_says_what_was_to_be_done_what_was_done_and_each_step() -> None:
    run = make_run(RunState.RUNNING, schedule=make_schedule(), params={"region": "de"})
    assert running.settle(run, DONE, now=LATER)
    run.refresh_from_db()
    said = manifest(run)
    assert (said["params"], said["stat_date"], said["result"]) == ({"region": "de"}, "2026-06-01", {"rows": 17})
    assert (said["planned_at"], said["finished_at"]) == (NOW.isoformat(), LATER.isoformat())
    assert [(step["from_state"], step["to_state"]) for step in said["events"]] == [("", "running"), ("running", "done")]
    assert [(attempt["outcome"], attempt["output"]) for attempt in said["attempts"]] == [("done", "all of it\n")]


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("scheduler_taskrun", "result", '{"rows": 18}'),
        ("scheduler_taskrun", "params", '{"region": "fr"}'),
        ("scheduler_taskrun", "state", "cancelled"),
        ("scheduler_taskrun", "stat_date", "2026-06-02"),
        ("scheduler_taskrun", "finished_at", LATER + A_MOMENT),
        ("scheduler_taskrun", "seal", "0" * 64),
        ("scheduler_attempt", "output", "something else"),
        ("scheduler_attempt", "worker", "somebody else"),
        ("scheduler_runevent", "actor", "nobody"),
        ("scheduler_runevent", "reason", "because"),
    ],
)
def test_whatever_is_changed_afterwards_the_seal_does_not_fit_any_more(table: str, column: str, value: Any) -> None:
    run = sealed(params={"region": "de"}, result={"rows": 17})
    assert verify(run.pk)
    tampered(table, column, value, run)
    assert not verify(run.pk)


def test_a_removed_event_and_an_added_attempt_break_the_seal() -> None:
    shorter, longer = sealed(), sealed()
    RunEvent.objects.filter(run=shorter).delete()
    Attempt.objects.create(run=longer, number=2, token=2, worker="x", pid=1, due_at=NOW, started_at=NOW)
    assert not verify(shorter.pk)
    assert not verify(longer.pk)


def test_the_seal_does_not_depend_on_who_reads_it_and_from_where() -> None:
    run = sealed(result={"share": 0.1, "big": 12345678901234567890, "none": None, "text": "\u2028 ✓"})
    with timezone.override("Asia/Kathmandu"):
        assert verify(run.pk)
    there = TaskRun.objects.get(pk=run.pk)
    there.finished_at = timezone.localtime(there.finished_at, cron.zone("Asia/Kathmandu"))
    assert seal_of(there) == run.seal


# --- late writes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [{"reason": "because"}, {"seal": "0" * 64}, {"seal": ""}, {"progress": {"a": 1}}])
def test_a_sealed_run_changes_no_more(change: dict[str, Any]) -> None:
    run = sealed()
    with pytest.raises(IntegrityError, match="a run that has ended never changes"), transaction.atomic():
        TaskRun.objects.filter(pk=run.pk).update(**change)
    assert verify(run.pk)


def test_an_ended_run_can_be_given_its_seal_and_nothing_beside_it() -> None:
    run = make_run(RunState.DONE)
    with pytest.raises(IntegrityError, match="never changes"), transaction.atomic():
        TaskRun.objects.filter(pk=run.pk).update(seal="0" * 64, reason="because")
    assert TaskRun.objects.filter(pk=run.pk).update(seal="0" * 64) == 1


def test_a_worker_that_comes_too_late_changes_nothing_that_is_sealed() -> None:
    run = make_run(RunState.RUNNING)
    assert running.settle(run, DONE, now=LATER)
    seal_ended()
    late = Output(run.pk, 1)
    late.write("late words\n")
    late.flush()
    assert not running.settle(run, Outcome(RunState.FAILED, AttemptOutcome.FAILED, error="late"), now=LATER + HOUR)
    running.limit_attempt(run, 5, now=LATER)
    assert verify(run.pk)


def test_people_who_come_too_late_change_nothing_that_is_sealed() -> None:
    run = make_question()
    operations.cancel(run, now=LATER, actor="ann")
    seal_ended()
    for late in (
        lambda: operations.answer(run, approve=True, now=LATER, actor="bob"),
        lambda: operations.cancel(run, now=LATER, actor="bob"),
        lambda: operations.give_up(run, now=LATER, actor="bob"),
        lambda: operations.retry_now(run, now=LATER, actor="bob"),
    ):
        with pytest.raises(operations.NotPossible):
            late()
    assert verify(run.pk)


def test_a_run_again_leaves_the_sealed_run_as_it_is() -> None:
    run = sealed(progress={"page": 7})
    operations.run_again(run, now=LATER + timedelta(days=1), actor="ann", from_progress=True)
    assert verify(run.pk)
