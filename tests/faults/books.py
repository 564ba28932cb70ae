"""The audit of the books: what was due, what became of it, and what was done in the world."""

from collections import Counter
from datetime import datetime
from itertools import pairwise
from typing import Any

from scheduler.models import Attempt, Fire, RunEvent, Schedule, TaskRun
from scheduler.states import FireOutcome, RunState

ITEMS = 10  # the default of the job `test.items`


def audit_fires(schedule: Schedule, first_due: datetime) -> None:
    """Assert that every instant of the schedule, from the first until the next one, was fired or skipped once, and
    that each fire which started a run has one, planned for that instant.
    """
    schedule.refresh_from_db()
    trigger = schedule.as_trigger()
    assert schedule.next_run_at is not None
    told: Counter[datetime] = Counter()
    for fire in Fire.objects.filter(schedule=schedule).select_related("run"):
        if fire.missed_from is not None and fire.missed_until is not None:
            told.update(instant for instant in trigger.instants(fire.missed_from, fire.missed_until))
            told[fire.missed_until] += 1
        else:
            told[fire.fire_at] += 1
        if fire.outcome == FireOutcome.STARTED:
            assert fire.run.planned_at == fire.fire_at
    assert told == Counter(trigger.instants(first_due, schedule.next_run_at))


def audit_runs() -> None:
    """Assert that every run's history is a chain, that its attempts are closed and counted, that one at most did the
    work, and that nothing runs without a lease that holds.
    """
    for run in TaskRun.objects.all():
        events = list(RunEvent.objects.filter(run=run).order_by("id"))
        assert all(before.to_state == after.from_state for before, after in pairwise(events)), run
        assert events[-1].to_state == run.state, run
        attempts = list(Attempt.objects.filter(run=run).order_by("number"))
        assert [attempt.number for attempt in attempts] == list(range(1, run.attempt_count + 1)), run
        assert all(attempt.outcome for attempt in attempts[:-1]), run
        assert run.state == RunState.RUNNING or not attempts or attempts[-1].outcome, run
        done = [attempt for attempt in attempts if attempt.outcome == "done"]
        assert len(done) == (run.state == RunState.DONE), run


def audit_marks(run: TaskRun, marks: list[dict[str, Any]]) -> None:
    """Assert that the run, which is done, took all items in their order, and none again that had been saved; that
    each attempt goes on where the one before was saved, and none does anything after its successor has begun.
    """
    attempts = [mark["attempt"] for mark in marks if "item" in mark]
    assert attempts == sorted(attempts), run
    assert {mark["stat_date"] for mark in marks} == {run.stat_date.isoformat()}, run
    saved: set[int] = set()
    for mark in marks:
        assert mark.get("item") not in saved, (run, mark)
        if "saved" in mark:
            saved.add(mark["saved"])
    items = [mark["item"] for mark in marks if "item" in mark]
    assert all(after in (before, before + 1) for before, after in pairwise(items)), (run, items)
    assert set(items) == set(range(1, run.params.get("items", ITEMS) + 1)), (run, items)
    again = len(items) - len(set(items))
    assert again <= run.attempt_count - 1, (run, items)
