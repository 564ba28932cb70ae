"""Whoever resumes, and however many at once: each run goes on once, and none is forgotten."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from typing import Any

import pytest
from django.db import connection

from project.kit.clock import database_now
from quotas import charging, reserving
from quotas.models import Edge, Quota, Reservation
from quotas.refusals import QuotaError, Refused
from quotas.states import Kind, ReservationState
from scheduler import operations, pausing, rescuing, resuming, running
from scheduler.executing import execute
from scheduler.identity import SharedSignals, ThisWorker
from scheduler.jobs import RunContext
from scheduler.models import Attempt, RunEvent, TaskRun
from scheduler.operations import NotPossible
from scheduler.resuming import Resumption
from scheduler.running import Outcome
from scheduler.states import AttemptOutcome, EventTrigger, RunState
from scheduler.transitions import Claim
from tests.processes import Processes, Started
from tests.quotas.factories import audit, make_daily, make_quota
from tests.quotas.factories import now_is as quota_now
from tests.races import helpers
from tests.races.helpers import all_at_once, in_the_background, run_before
from tests.races.resumer import GATE
from tests.scheduler.factories import HOUR, WORKER, launched, make_run, registered
from tests.scheduler.pauses import crowd, now_is, paused, reset_now, resumed_times, states, used_up

pytestmark = pytest.mark.django_db(transaction=True)

POLL = Resumption(EventTrigger.FALLBACK_POLL, "It is back.")
CROWD = 1000


@pytest.fixture(autouse=True)
def _resume_by_nobody_but_those_of_the_test(settings: Any) -> None:
    settings.TIDELINE_QUOTA_EVENTS = False


@contextmanager
def closed_gate(processes: Processes) -> Iterator[None]:
    """Let the resumers that are started in the block wait for each other, and go on at once at its end."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [GATE])
    try:
        yield
        processes.wait_until(partial(_all_wait, len(processes.started)), 60, "the resumers")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [GATE])


def _all_wait(count: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = %s AND NOT granted", [GATE]
        )
        (waiting,) = cursor.fetchone()
    return bool(waiting == count)


def start(processes: Processes, way: str, *arguments: int, **environ: str) -> Started:
    """Start a process that resumes in that way."""
    command = f"python -m tests.races.resumer {way} {' '.join(map(str, arguments))}"
    return processes.run(way, command, **environ)


# --- one run ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_fifty_concurrent_resumes_of_one_run_in_four_ways_start_it_once(processes: Processes) -> None:
    """B1, B4."""
    effects: list[int] = []

    def job(run: RunContext) -> None:
        run.charge("calls")
        effects.append(run.attempt)

    with registered(job) as key:
        quota = used_up(key="calls", now=database_now())
        run = paused(quota, job=key, now=database_now())
        reset_now(quota, now=database_now())
        charging.set_limit(quota.key, 1000, now=database_now())
        assert Edge.objects.filter(handled_at=None).exists()
        with closed_gate(processes):
            resumers = [start(processes, way, run.pk, 13) for way in ("edge", "poll", "person", "api")]
        assert [resumer.wait(60) for resumer in resumers] == [0] * 4, processes.last_words()
        assert resumed_times(run) == 1
        hint = launched(now_is(run), now=database_now())
        workers = [ThisWorker(f"host:{number}:1:boot", SharedSignals()) for number in range(4)]
        all_at_once(*[partial(execute, hint, worker, database_now) for worker in workers])
    assert (states(run), effects) == ([RunState.DONE], [2])
    assert list(Attempt.objects.order_by("number").values_list("number", "outcome")) == [(1, "paused"), (2, "done")]
    assert {line for resumer in resumers[2:] for line in resumer.output.split()} <= {"resumed", "already"}
    audit()


@pytest.mark.parametrize("step", ["chains_of", "_plan", "_move", "_note_on_edges"])
def test_a_cancel_at_any_moment_of_the_resuming_leaves_no_run_behind_that_goes_on(step: str) -> None:
    """B2, B9e, B9h."""
    quota = used_up(now=database_now())
    run = paused(quota, now=database_now())
    charging.set_limit(quota.key, 1000, now=database_now())
    cancelling: list[Any] = []

    def cancel() -> None:
        cancelling.append(in_the_background(lambda: operations.cancel(run, now=database_now(), actor="ann")))
        cancelling[0].__enter__()

    with run_before(f"scheduler.resuming.{step}", cancel, elsewhere=False):
        resuming.resume(quota.pk, POLL, now=database_now())
    cancelling[0].__exit__(None, None, None)
    assert states(run) == [RunState.CANCELLED]
    assert quota_now(quota).reserved == 0
    audit()


def test_a_resume_while_the_pause_is_being_written_waits_for_it_and_then_resumes() -> None:
    """B8: neither is lost, whichever order the locks give."""
    quota = used_up(now=database_now())
    run = make_run(RunState.RUNNING, now=database_now())
    refused: list[Refused] = []
    with suppress(Refused):
        charging.charge(quota.key, 1, now=database_now())
    try:
        charging.charge(quota.key, 1, now=database_now())
    except Refused as refusal:
        refused.append(refusal)
    resumed: list[Any] = []

    def give() -> None:
        charging.set_limit(quota.key, 1000, now=database_now())
        resuming.take_edges(now=database_now())

    def give_meanwhile() -> None:
        resumed.append(in_the_background(give))
        resumed[0].__enter__().wait_until_it_waits()

    outcome = Outcome(RunState.PAUSED, AttemptOutcome.PAUSED, refusals=refused, spent=True)
    with run_before("scheduler.pausing._let_wait", give_meanwhile, elsewhere=False):
        assert running.settle(run, outcome, now=database_now())
    resumed[0].__exit__(None, None, None)
    assert states(run) == [RunState.RESUMING]


# --- a thousand ------------------------------------------------------------------------------------------------------


def a_crowd_that_waits() -> tuple[Quota, list[int]]:
    """Return a quota that is used up, and the runs that wait for it."""
    quota = used_up(CROWD, now=database_now())
    return quota, crowd(quota, CROWD, now=database_now())


def none_is_left() -> bool:
    """Tell whether everybody is resumed, and whoever did it has come to the end of it."""
    paused = TaskRun.objects.filter(state=RunState.PAUSED)
    return not paused.exists() and not Edge.objects.filter(handled_at=None).exists()


def assert_each_was_resumed_once(quota: Quota, run_ids: list[int]) -> None:
    """Count by the rows: transitions, admissions, edges, and the books."""
    resumed = RunEvent.objects.filter(from_state=RunState.PAUSED, to_state=RunState.RESUMING)
    assert sorted(resumed.values_list("run", flat=True)) == sorted(run_ids)
    held = Reservation.objects.filter(state=ReservationState.HELD, quota=quota)
    assert sorted(held.values_list("owner", flat=True)) == sorted(f"run:{run_id}" for run_id in run_ids)
    assert quota_now(quota).reserved == len(run_ids)
    audit()


@pytest.mark.slow
@pytest.mark.parametrize("events", ["1", "0"], ids=["events", "events off"])
@pytest.mark.parametrize("scanners", [1, 2, 4])
def test_a_thousand_paused_runs_and_one_reset(processes: Processes, scanners: int, events: str) -> None:
    quota, run_ids = a_crowd_that_waits()
    with closed_gate(processes):
        for _ in range(scanners):
            start(processes, "scan", TIDELINE_QUOTA_EVENTS=events)
    reset_now(quota, now=database_now())
    processes.wait_until(none_is_left, 60, "the crowd")
    processes.end()
    assert_each_was_resumed_once(quota, run_ids)


@pytest.mark.slow
@pytest.mark.parametrize("events", ["1", "0"], ids=["events", "events off"])
def test_a_scanner_that_is_killed_amid_the_crowd_forgets_and_doubles_nobody(processes: Processes, events: str) -> None:
    quota, run_ids = a_crowd_that_waits()
    with closed_gate(processes):
        scanner = start(processes, "scan", TIDELINE_QUOTA_EVENTS=events, RESUME_BATCH="50")
    resuming_now = TaskRun.objects.filter(state=RunState.RESUMING)
    reset_now(quota, now=database_now())
    processes.wait_until(resuming_now.exists, 60, "the first of the crowd")
    scanner.kill9()
    assert resuming_now.count() < CROWD, "it was killed too late to show anything"
    start(processes, "scan", TIDELINE_QUOTA_EVENTS=events)
    if events == "0":
        Quota.objects.update(next_check_at=database_now())  # its interval has passed
    processes.wait_until(none_is_left, 60, "the crowd")
    processes.end()
    assert_each_was_resumed_once(quota, run_ids)


# --- everything at once ----------------------------------------------------------------------------------------------


class Campaign:
    """People, workers and scans that act at random on the same runs and quotas."""

    def __init__(self, seed: int) -> None:
        now = database_now()
        self.parent = make_quota(60, now=now, stable_seconds=0)
        self.leaves = [
            make_daily(40, now=now, parent=self.parent, stable_seconds=0),
            make_quota(40, now=now, parent=self.parent, stable_seconds=0, kind=Kind.CAPACITY),
        ]
        self.seed, self.worker = seed, ThisWorker(WORKER.name, SharedSignals())
        for _ in range(12):
            make_run(now=now, quota=self.leaves[0])

    def actor(self, number: int, act: Callable[[random.Random, datetime], object]) -> Callable[[], None]:
        """Return one who acts many times, each time with another of the possible outcomes."""
        dice = random.Random(self.seed * 100 + number)

        def act_often() -> None:
            for _ in range(20):
                with suppress(QuotaError, NotPossible):
                    act(dice, database_now())

        return act_often

    def work(self, dice: random.Random, now: datetime) -> None:
        """Begin a run, spend, and leave it in one of the ways."""
        run = self._any(dice, RunState.PENDING, RunState.RESUMING)
        begun = running.begin(launched(run, now=now), WORKER, now=now) if run else None
        if begun is None:
            return
        leaf, owner = dice.choice(self.leaves), f"run:{begun.pk}"
        try:
            charging.charge(
                leaf.key, dice.randint(1, 9), now=now, owner=owner, attempt=begun.attempt_count, refund_on_failure=True
            )
            reserving.reserve(dice.choice(self.leaves).key, dice.randint(1, 5), now=now, owner=owner)
        except Refused as refused:
            outcome = Outcome(RunState.PAUSED, AttemptOutcome.PAUSED, refusals=[refused], progressed=True, spent=True)
        else:
            outcome = Outcome(RunState.PENDING, AttemptOutcome.HANDED_BACK, due_at=now, spent=True)
        if dice.random() < 0.2:
            rescuing.free([begun], now=now)
        running.settle(begun, outcome, now=now)

    def hold_back(self, dice: random.Random, now: datetime) -> None:
        """Ask the gate for a due run."""
        run = self._any(dice, RunState.PENDING)
        if run:
            pausing.hold_back([Claim(run.pk, run.lease_token)], now=now)

    def resume(self, dice: random.Random, now: datetime) -> None:
        """Resume by a scan, or by hand, or return what nobody began."""
        run = self._any(dice, RunState.PAUSED)
        if run and dice.random() < 0.3:
            operations.resume(run, now=now, actor="ann")
        elif dice.random() < 0.2:
            pausing.return_to_pause(now=now + HOUR)
        else:
            resuming.resume(dice.choice([self.parent, *self.leaves]).pk, POLL, now=now)

    def cancel(self, dice: random.Random, now: datetime) -> None:
        """Cancel a run, and open another one."""
        run = self._any(dice, *RunState)
        if run and dice.random() < 0.3:
            operations.cancel(run, now=now, actor="ann")
            make_run(now=now, quota=self.leaves[1])

    def give(self, dice: random.Random, now: datetime) -> None:
        """Change the limits."""
        charging.set_limit(dice.choice([self.parent, *self.leaves]).key, dice.randint(20, 400), now=now)

    def _any(self, dice: random.Random, *states: RunState) -> TaskRun | None:
        runs = list(TaskRun.objects.filter(state__in=states, finished_at=None).order_by("pk"))
        return dice.choice(runs) if runs else None


def deadlocks() -> int:
    """Return how many deadlocks the database has resolved in the tests' database so far."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        (count,) = cursor.fetchone()
    return int(count)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_whatever_happens_at_once_nobody_waits_for_each_other_and_the_books_are_right(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(helpers, "PATIENCE_SECONDS", 200.0)  # a campaign is no single race
    before, campaign = deadlocks(), Campaign(seed)
    acts = [campaign.work, campaign.work, campaign.hold_back, campaign.resume, campaign.cancel, campaign.give]
    all_at_once(*[campaign.actor(number, act) for number, act in enumerate(acts)])
    assert deadlocks() == before
    audit()
    for quota in (campaign.parent, *campaign.leaves):
        charging.set_limit(quota.key, 100_000, now=database_now())
    resuming.take_edges(now=database_now())
    resuming.resume(campaign.parent.pk, POLL, now=database_now())
    assert not TaskRun.objects.filter(state=RunState.PAUSED, pause__held="", pause__not_before=None).exists()
    audit()
