"""The end of a run and the beginning of the next one of its hint are one round trip, where nothing else is to do."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from project.kit.clock import database_now
from scheduler import transitions
from scheduler.executing import execute_hint
from scheduler.identity import ThisWorker
from scheduler.jobs import RunContext
from scheduler.models import TaskRun
from scheduler.states import RunState
from scheduler.transitions import Claim
from tests.scheduler.executions import Job, raising
from tests.scheduler.factories import SECOND, events_of, launched, make_run, registered

pytestmark = pytest.mark.django_db


def hint(count: int, key: str, **fields: Any) -> list[Claim]:
    """Return the claims of runs that were just launched."""
    return [launched(make_run(now=database_now(), job=key, **fields), now=database_now()) for _ in range(count)]


def execute(job: Job, worker: ThisWorker, count: int, **fields: Any) -> list[TaskRun]:
    """Execute a function as the job of so many runs of one hint, and return their rows."""
    with registered(job) as key:
        claims = hint(count, key, **fields)
        execute_hint(claims, worker, ticking())
    return [TaskRun.objects.get(pk=claim.run_id) for claim in claims]


def ticking() -> Callable[[], datetime]:
    """Return a clock that asks nobody."""
    start = database_now()
    return lambda: start


def round_trips_of(job: Job, worker: ThisWorker, count: int, *, backwards: bool = False) -> int:
    """Return how often the database is asked for so many runs of one hint."""
    with registered(job) as key:
        claims = sorted(hint(count, key), key=lambda claim: claim.run_id, reverse=backwards)
        transitions.is_told_of_success()  # asks once in a while
        with CaptureQueriesContext(connection) as queries:
            execute_hint(claims, worker, ticking())
    return sum("SAVEPOINT" not in query["sql"] for query in queries)


def nothing(run: RunContext) -> None:
    """Do nothing."""


def test_each_further_run_of_a_hint_costs_one_round_trip(worker: ThisWorker) -> None:
    assert round_trips_of(nothing, worker, 12) - round_trips_of(nothing, worker, 2) == 10


def test_runs_that_would_be_locked_against_the_order_of_their_ids_are_settled_by_themselves(worker: ThisWorker) -> None:
    forwards, backwards = (round_trips_of(nothing, worker, 12, backwards=order) for order in (False, True))
    assert backwards - forwards == 11


def test_a_run_that_fails_is_settled_by_itself(worker: ThisWorker) -> None:
    failing = raising(ValueError("no"))
    assert round_trips_of(failing, worker, 12) - round_trips_of(failing, worker, 2) > 10


def test_what_is_settled_and_begun_together_has_all_its_rows(worker: ThisWorker) -> None:
    runs = execute(lambda run: {"day": str(run.stat_date)}, worker, 3)
    for run in runs:
        assert (run.state, run.result) == (RunState.DONE, {"day": str(run.stat_date)})
        assert [event[1] for event in events_of(run)] == ["pending", "running", "done"]
        attempt = run.attempts.get()
        assert (attempt.outcome, attempt.finished_at) == ("done", run.finished_at)


def test_a_run_whose_key_is_taken_is_given_back_and_the_one_before_it_is_done_all_the_same(worker: ThisWorker) -> None:
    make_run(RunState.RUNNING, now=database_now(), exclusive_key="taken")
    with registered(nothing) as key:
        claims = [*hint(1, key), *hint(1, key, exclusive_key="taken"), *hint(1, key)]
        execute_hint(claims, worker, ticking())
    first, blocked, last = (TaskRun.objects.get(pk=claim.run_id) for claim in claims)
    assert [first.state, blocked.state, last.state] == [RunState.DONE, RunState.PENDING, RunState.DONE]
    assert (blocked.lease_expires_at, blocked.attempt_count) == (None, 0)


def test_a_run_that_lost_its_lease_does_not_count_and_the_next_one_has_its_turn(worker: ThisWorker) -> None:
    def lose_the_first(run: RunContext) -> None:
        TaskRun.objects.filter(pk=run.run_id, name="first").update(lease_token=99)

    with registered(lose_the_first) as key:
        claims = [*hint(1, key, name="first"), *hint(1, key)]
        execute_hint(claims, worker, ticking())
    first, second = (TaskRun.objects.get(pk=claim.run_id) for claim in claims)
    assert (first.state, second.state) == (RunState.RUNNING, RunState.DONE)


def test_a_run_that_was_cancelled_meanwhile_is_left_out_of_its_hint(worker: ThisWorker) -> None:
    def cancel_the_second(run: RunContext) -> None:
        cancelled = {
            "state": RunState.CANCELLED,
            "due_at": None,
            "lease_expires_at": None,
            "finished_at": database_now(),
        }
        TaskRun.objects.filter(name="second", state=RunState.PENDING).update(**cancelled)

    with registered(cancel_the_second) as key:
        claims = [*hint(1, key), *hint(1, key, name="second"), *hint(1, key)]
        execute_hint(claims, worker, ticking())
    states = [TaskRun.objects.get(pk=claim.run_id).state for claim in claims]
    assert states == [RunState.DONE, RunState.CANCELLED, RunState.DONE]


def test_where_people_want_to_know_each_run_is_settled_by_itself_and_told(
    worker: ThisWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transitions, "is_told_of_success", lambda: True)
    together: list[object] = []
    monkeypatch.setattr(transitions, "finish_and_begin", together.append)
    runs = execute(nothing, worker, 3)
    assert ([run.state for run in runs], together) == ([RunState.DONE] * 3, [])


def test_the_lease_of_the_next_run_is_counted_from_its_beginning(worker: ThisWorker) -> None:
    leases: list[datetime | None] = []

    def look(run: RunContext) -> None:
        leases.append(TaskRun.objects.get(pk=run.run_id).lease_expires_at)

    before = database_now()
    execute(look, worker, 2)
    assert all(lease is not None and lease > before + 20 * SECOND for lease in leases)
