"""Random interleavings of everything that happens to runs, on the real database: what always holds, holds."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from project.kit.clock import database_now
from scheduler import launching, operations, rescuing, running, schedules
from scheduler.firing import fire_all_due
from scheduler.identity import SharedSignals
from scheduler.jobs import RunContext
from scheduler.jobs.interrupts import Cancelled, LeaseLost
from scheduler.models import Fire, Schedule, TaskRun
from scheduler.operations import NotPossible
from scheduler.running import Outcome
from scheduler.states import EXCLUSIVE, TRANSITIONS, AttemptOutcome, RunState
from scheduler.transitions import Claim
from tests.scheduler.factories import MINUTE, SECOND, WORKER, make_schedule

pytestmark = pytest.mark.django_db

PATHS = {(source, target) for source, targets in TRANSITIONS.items() for target in targets}
NUMBERS = st.integers(0, 10_000)
OUTCOMES = [
    Outcome(RunState.DONE, AttemptOutcome.DONE),
    Outcome(RunState.FAILED, AttemptOutcome.FAILED, error="it broke"),
    Outcome(RunState.DEFERRED, AttemptOutcome.DEFERRED),
    Outcome(RunState.PENDING, AttemptOutcome.HANDED_BACK),
    Outcome(RunState.CANCELLED, AttemptOutcome.CANCELLED),
]
BY_HAND: list[Callable[..., Any]] = [
    operations.cancel,
    operations.retry_now,
    operations.let_go_on,
    partial(operations.run_again, from_progress=False),
    partial(operations.run_again, from_progress=True),
]


class Lifecycle(RuleBasedStateMachine):
    """Schedules, workers, a broker that loses, doubles and delays, people, and a clock."""

    hints = Bundle("hints")
    held = Bundle("held")

    def __init__(self) -> None:
        super().__init__()
        self._example = transaction.atomic()
        self._example.__enter__()
        self.now = database_now()
        self.seen: dict[int, TaskRun] = {}
        for overlap, on_interrupt in (("queue", "resume"), ("skip", "suspend"), ("allow", "resume")):
            make_schedule(
                cron="* * * * *",
                overlap=overlap,
                on_interrupt=on_interrupt,
                retry_delays=[30, 60],
                now=self.now,
            )
        self.now += MINUTE
        fire_all_due(now=self.now)

    def teardown(self) -> None:
        """Forget the example."""
        transaction.set_rollback(True)
        self._example.__exit__(None, None, None)

    def _some_run(self, number: int) -> TaskRun | None:
        ids = list(TaskRun.objects.order_by("id").values_list("id", flat=True))
        return TaskRun.objects.get(pk=ids[number % len(ids)]) if ids else None

    # --- time and scans ------------------------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([1, 20, 40, 90, 200]), scanned=st.booleans())
    def time_passes(self, seconds: int, scanned: bool) -> None:
        self.now += timedelta(seconds=seconds)
        if scanned:
            fire_all_due(now=self.now)

    @rule(target=hints, limit=st.integers(1, 3), copies=st.sampled_from([1, 2, 0]))
    def launch(self, limit: int, copies: int) -> Any:
        return multiple(*[claim for claim in self._lease(limit) for _ in range(copies)])

    def _lease(self, limit: int) -> list[Claim]:
        return [leased.claim for leased in launching._lease_due(self.now, self.now, limit)]

    @rule(seconds=st.sampled_from([0, 20, 31]))
    def rescue(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)
        expired = TaskRun.objects.filter(state=RunState.RUNNING, lease_expires_at__lt=self.now).count()
        assert rescuing.rescue_lost(now=self.now) == expired

    # --- workers -------------------------------------------------------------------------------------------------

    @rule(target=held, claim=hints)
    def begin(self, claim: Claim) -> Any:
        return multiple(*self._begin([claim]))

    @rule(target=held, limit=st.integers(1, 3))
    def launch_and_begin(self, limit: int) -> Any:
        return multiple(*self._begin(self._lease(limit)))

    def _begin(self, claims: list[Claim]) -> list[TaskRun]:
        begun = [running.begin(claim, WORKER, now=self.now) for claim in claims]
        return [run for run in begun if run is not None]

    @rule(run=held, page=NUMBERS)
    def checkpoint(self, run: TaskRun, page: int) -> None:
        context = RunContext(run, {}, SharedSignals())
        context.progress = dict(TaskRun.objects.get(pk=run.pk).progress)
        try:
            context.checkpoint(page=max(page, context.progress.get("page", 0)))
        except (LeaseLost, Cancelled):
            return
        current = TaskRun.objects.get(pk=run.pk)
        assert (current.state, current.lease_token) == (RunState.RUNNING, run.lease_token)

    @rule(run=held, outcome=st.sampled_from(OUTCOMES))
    def settle(self, run: TaskRun, outcome: Outcome) -> None:
        before = TaskRun.objects.get(pk=run.pk)
        due_at = self.now + MINUTE if outcome.state in (RunState.DEFERRED, RunState.PENDING) else None
        counted = running.settle(run, replace(outcome, due_at=due_at), now=self.now)
        assert counted == (before.state == RunState.RUNNING and before.lease_token == run.lease_token)

    @rule(outcome=st.sampled_from(OUTCOMES))
    def launch_begin_and_settle(self, outcome: Outcome) -> None:
        for run in self._begin(self._lease(3)):
            self.settle(run, outcome)

    @rule()
    def heartbeat(self) -> None:
        mine = TaskRun.objects.filter(lease_owner=WORKER.name, state=RunState.RUNNING)
        mine.update(lease_expires_at=self.now + 30 * SECOND)

    # --- people --------------------------------------------------------------------------------------------------

    @rule(number=NUMBERS, act=st.sampled_from(BY_HAND))
    def somebody_acts(self, number: int, act: Callable[..., Any]) -> None:
        run = self._some_run(number)
        if run is not None:
            with suppress(NotPossible):
                act(run, now=self.now, actor="ann")

    @rule(number=NUMBERS, pausing=st.booleans())
    def pause_or_enable(self, number: int, pausing: bool) -> None:
        schedule = list(Schedule.objects.order_by("id"))[number % 3]
        if pausing:
            schedules.pause(schedule, now=self.now, reason="")
        else:
            schedules.enable(schedule, now=self.now)

    @rule(number=NUMBERS)
    def set_the_plan_back(self, number: int) -> None:
        schedule = list(Schedule.objects.order_by("id"))[number % 3]
        Schedule.objects.filter(pk=schedule.pk).update(next_run_at=_minute(self.now) - 2 * MINUTE)

    # --- what always holds ---------------------------------------------------------------------------------------

    @invariant()
    def the_books_are_right(self) -> None:
        runs = list(TaskRun.objects.prefetch_related("events", "attempts"))
        _no_two_of_a_key_run_at_once(runs)
        for run in runs:
            self._compare_with_what_was_seen(run)
            _has_a_way_out(run)
            _came_one_way_that_the_states_allow(run)
            _has_its_attempts_in_order(run)
        _each_instant_is_planned_once()

    def _compare_with_what_was_seen(self, run: TaskRun) -> None:
        """An ended run never changes; the others keep their day, and never lose progress or reuse a token."""
        before = self.seen.get(run.pk, run)
        self.seen[run.pk] = run
        assert (run.stat_date, run.planned_at) == (before.stat_date, before.planned_at)
        assert run.progress.get("page", 0) >= before.progress.get("page", 0)
        assert run.lease_token >= before.lease_token
        if before.finished_at is not None:
            assert _columns(run) == _columns(before)


def _no_two_of_a_key_run_at_once(runs: list[TaskRun]) -> None:
    keys = [run.exclusive_key for run in runs if run.state in EXCLUSIVE and run.exclusive_key]
    assert len(keys) == len(set(keys))


def _has_a_way_out(run: TaskRun) -> None:
    leased = run.state == RunState.RUNNING and run.lease_expires_at is not None
    assert run.finished_at or run.due_at or leased or run.state == RunState.SUSPENDED


def _came_one_way_that_the_states_allow(run: TaskRun) -> None:
    events = sorted(run.events.all(), key=lambda event: event.pk)
    assert (events[0].from_state, events[-1].to_state) == ("", run.state)
    assert all(before.to_state == after.from_state for before, after in pairwise(events))
    assert {(RunState(event.from_state), RunState(event.to_state)) for event in events[1:]} <= PATHS


def _has_its_attempts_in_order(run: TaskRun) -> None:
    attempts = sorted(run.attempts.all(), key=lambda attempt: attempt.number)
    assert [attempt.number for attempt in attempts] == list(range(1, run.attempt_count + 1))
    assert len({attempt.token for attempt in attempts}) == len(attempts)
    still_open = [attempt for attempt in attempts if attempt.finished_at is None]
    assert still_open == (attempts[-1:] if run.state == RunState.RUNNING else [])


def _each_instant_is_planned_once() -> None:
    fires = list(Fire.objects.select_related("run"))
    planned = [(fire.schedule_id, fire.fire_at) for fire in fires if fire.kind in ("scheduled", "misfire")]
    assert len(planned) == len(set(planned))
    assert all(hasattr(fire, "run") == (fire.outcome == "started") for fire in fires)


def _minute(instant: datetime) -> datetime:
    return instant.replace(second=0, microsecond=0)


def _columns(run: TaskRun) -> dict[str, Any]:
    return {field.attname: getattr(run, field.attname) for field in TaskRun._meta.concrete_fields}


@pytest.mark.parametrize("examples", [8, pytest.param(60, marks=pytest.mark.slow)])
def test_whatever_happens_in_whatever_order_the_books_are_right(examples: int) -> None:
    run_state_machine_as_test(
        Lifecycle,
        settings=settings(
            max_examples=examples,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )
