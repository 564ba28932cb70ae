"""The invariants: what holds in the rows after each rule, whatever came before."""

from collections import Counter
from itertools import pairwise
from typing import Any

from django.db import connection
from hypothesis.stateful import invariant

from scheduler.models import Fire
from scheduler.states import TRANSITIONS, RunState
from tests.audit import PLANNED, audit_quotas
from tests.scheduler.machine.house import House

DUE = (RunState.PENDING, RunState.DEFERRED, RunState.RESUMING, RunState.FAILED)
WAITING_FOR_SOMEBODY = (RunState.PAUSED, RunState.AWAITING_APPROVAL, RunState.SUSPENDED)
FOR_EVER = ("stat_date", "planned_at", "schedule_id", "fire_id", "rerun_of_id", "exclusive_key", "created_at")


class Books(House):
    """Reads all rows once after each rule, and compares them with themselves and with what they were before."""

    def __init__(self) -> None:
        super().__init__()
        self.attempts: dict[int, dict[str, Any]] = {}
        self.events: dict[int, list[dict[str, Any]]] = {}
        self.seals: dict[int, str] = {}

    @invariant()
    def the_books_are_right(self) -> None:
        before_runs, self.runs = self.runs, {run["id"]: run for run in rows("scheduler_taskrun")}
        before_attempts, self.attempts = self.attempts, {row["id"]: row for row in rows("scheduler_attempt")}
        self.events = grouped(rows("scheduler_runevent"))
        for pk, before in before_runs.items():
            assert_only_forward(before, self.runs[pk])
        for pk, before in before_attempts.items():
            assert before["finished_at"] is None or before == self.attempts[pk], "a closed attempt changed"
        self._one_runs_on_a_key()
        attempts = grouped(self.attempts.values())
        for pk, run in self.runs.items():
            assert_has_a_way_out(run)
            assert_attempts_are_closed(run, attempts.get(pk, []))
            assert_history_is_a_chain(run, self.events[pk])
            assert run["progress"].get("step", 0) == self.steps.get(pk, 0), ("progress", run)
        self._questions_are_open_where_they_are_asked()
        self._fires_are_unique()
        audit_quotas()

    def _one_runs_on_a_key(self) -> None:
        held = Counter(self.runs[pk]["exclusive_key"] for pk in self.runs_in(RunState.RUNNING, RunState.RESUMING))
        del held[None]
        assert not held or max(held.values()) == 1, held

    def _questions_are_open_where_they_are_asked(self) -> None:
        approvals = rows("scheduler_approval")
        self.questions = [row["id"] for row in approvals]
        unanswered = Counter(row["run_id"] for row in approvals if not row["answer"])
        waiting = set(self.runs_in(RunState.AWAITING_APPROVAL))
        assert {pk for pk in unanswered if self.runs[pk]["finished_at"] is None} == waiting
        assert not unanswered or max(unanswered.values()) == 1, unanswered

    def _fires_are_unique(self) -> None:
        planned = Counter(Fire.objects.filter(kind__in=PLANNED).values_list("schedule_id", "fire_at"))
        assert not planned or max(planned.values()) == 1
        started = {run["fire_id"] for run in self.runs.values() if run["fire_id"] is not None}
        assert started == set(Fire.objects.filter(outcome="started").values_list("pk", flat=True))


def assert_only_forward(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Assert that an ended run is as it was, and that what only grows has not shrunk."""
    if before["finished_at"] is not None:
        assert before | {"seal": after["seal"]} == after, "an ended run changed"
        assert before["seal"] in ("", after["seal"])
    assert all(before[name] == after[name] for name in FOR_EVER), (before, after)
    for counter in ("lease_token", "attempt_count", "failure_count"):
        assert after[counter] >= before[counter], (counter, before, after)
    assert (after["progress_done"] or 0) >= (before["progress_done"] or 0)
    assert before["started_at"] in (None, after["started_at"])


def assert_has_a_way_out(run: dict[str, Any]) -> None:
    """Assert that an unfinished run is due at a time, or held by a lease, or says what it waits for."""
    if run["finished_at"] is not None:
        assert run["due_at"] is None
        assert run["lease_expires_at"] is None
    elif run["state"] in DUE:
        assert run["due_at"] is not None
    elif run["state"] in WAITING_FOR_SOMEBODY:
        assert run["reason"]
    else:
        assert run["state"] == RunState.RUNNING
        assert run["lease_owner"]
        assert run["lease_expires_at"] is not None


def assert_attempts_are_closed(run: dict[str, Any], attempts: list[dict[str, Any]]) -> None:
    """Assert that a run's attempts are numbered without a gap and closed, but for the one that runs."""
    assert [attempt["number"] for attempt in attempts] == list(range(1, run["attempt_count"] + 1))
    tokens = [attempt["token"] for attempt in attempts]
    assert all(earlier < later for earlier, later in pairwise(tokens))
    still_open = [attempt["number"] for attempt in attempts if attempt["finished_at"] is None]
    assert still_open == ([run["attempt_count"]] if run["state"] == RunState.RUNNING else []), (run, attempts)


def assert_history_is_a_chain(run: dict[str, Any], events: list[dict[str, Any]]) -> None:
    """Assert that each event starts where the one before ended, goes where it may, and that the last is the present."""
    states = ["", *(event["to_state"] for event in events)]
    assert [event["from_state"] for event in events] == states[:-1]
    assert states[1] == RunState.PENDING
    assert states[-1] == run["state"]
    for earlier, later in pairwise(states[1:]):
        assert earlier == later == RunState.PENDING or RunState(later) in TRANSITIONS[RunState(earlier)], states
    begun = [event["attempt"] for event in events if event["to_state"] == RunState.RUNNING]
    assert begun == list(range(1, run["attempt_count"] + 1))


def rows(table: str) -> list[dict[str, Any]]:
    """Return all rows of a table, oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT row_to_json(row) FROM {table} AS row ORDER BY id")  # noqa: S608 -- names from here
        return [row for (row,) in cursor.fetchall()]


def grouped(found: Any) -> dict[int, list[dict[str, Any]]]:
    """Return rows by their run."""
    by_run: dict[int, list[dict[str, Any]]] = {}
    for row in found:
        by_run.setdefault(row["run_id"], []).append(row)
    return by_run
