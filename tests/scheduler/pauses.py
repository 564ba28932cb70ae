"""Runs that their quotas refused, paused by the same way as a worker does it."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.db import transaction

from project.kit.clock import database_now
from quotas import charging
from quotas.books import open_books
from quotas.models import Quota, Reservation
from quotas.refusals import Refused
from quotas.states import Purpose, ReservationState
from scheduler import pausing, running
from scheduler.executing import execute
from scheduler.identity import SharedSignals, ThisWorker
from scheduler.models import Pause, QuotaWait, RunEvent, TaskRun
from scheduler.opening import Opening, open_runs
from scheduler.resuming import take_edges
from scheduler.states import AttemptOutcome, EventTrigger, RunState
from scheduler.transitions import AttemptEnd, Claim
from scheduler.waits import owner_of
from tests.quotas.factories import make_daily, spend
from tests.quotas.factories import now_is as quota_now
from tests.scheduler.executions import Job
from tests.scheduler.factories import (
    MINUTE,
    NOW,
    WORKER,
    claim_of,
    launched,
    make_run,
    registered,
)

PAUSED_END = AttemptEnd(AttemptOutcome.PAUSED)


def used_up(limit: int = 100, *, now: datetime = NOW, **fields: Any) -> Quota:
    """Create a quota that resets at midnight UTC and of which nothing is left."""
    quota = make_daily(limit, now=now, **fields)
    spend(quota, limit, now=now)
    return quota


def refusal(quota: Quota, amount: int = 1, *, now: datetime = NOW) -> Refused:
    """Return how the quota refuses the amount."""
    try:
        charging.charge(quota.key, amount, now=now)
    except Refused as refused:
        return refused
    raise AssertionError(f"{quota} does not refuse {amount}")


def crowd(quota: Quota, count: int, *, now: datetime, job: str = "test.noop", **how: Any) -> list[int]:
    """Let many due runs be held back from the quota at once, and return their ids.

    Args:
        how: further fields of their openings.
    """
    usual: dict[str, Any] = {"name": "crowd", "job": job, "stat_date": now.date(), "planned_at": now, "due_at": now}
    opening = Opening(**usual | {"quota_id": quota.pk, "quota_need": 1} | how)
    run_ids = [run.pk for run in open_runs([opening] * count, now=now, trigger=EventTrigger.MANUAL)]
    assert pausing.hold_back([Claim(run_id) for run_id in run_ids], now=now) == set(run_ids)
    return run_ids


def reset_now(quota: Quota, *, now: datetime) -> None:
    """Let the quota's period end at this instant; no scan has seen it yet."""
    Quota.objects.filter(pk=quota.pk).update(period_end=now, evaluate_at=now, next_check_at=now)


def pause(run: TaskRun, *refusals: Refused, progressed: bool = False, now: datetime = NOW) -> bool:
    """Pause the running run, as its settlement does."""
    return pausing.pause_running(claim_of(run), refusals, attempt_end=PAUSED_END, progressed=progressed, now=now)


def paused(quota: Quota, amount: int = 1, *, now: datetime = NOW, **fields: Any) -> TaskRun:
    """Make a run that waits for the amount."""
    run = make_run(RunState.RUNNING, now=now, **fields)
    assert pause(run, refusal(quota, amount, now=now), now=now)
    return now_is(run)


def due(quota: Quota, **fields: Any) -> TaskRun:
    """Make a due run that needs the quota, just leased."""
    run = make_run(quota=quota, **fields)
    launched(run)
    return run


def held_back(*runs: TaskRun) -> list[bool]:
    """Ask the gate, and return for each run whether it was held back."""
    held = pausing.hold_back([claim_of(run) for run in runs], now=NOW)
    return [run.pk in held for run in runs]


def begun(run: TaskRun, *, now: datetime = NOW) -> TaskRun:
    """Begin the resumed run in a worker."""
    begun = running.begin(launched(now_is(run), now=now), WORKER, now=now)
    assert begun is not None, f"it is {now_is(run).state}"
    return begun


def set_back(run: TaskRun, quota: Quota, *, now: datetime, progressed: bool = False) -> Pause:
    """Resume the paused run, whatever its quota says, and let it be refused again; return how it stands."""
    Pause.objects.filter(run=run.pk).update(resume_count=1, not_before=None)
    TaskRun.objects.filter(pk=run.pk).update(state=RunState.RESUMING, due_at=now)
    assert pause(begun(run, now=now), refusal(quota, now=now), progressed=progressed, now=now)
    return pause_of(run)


def now_is(run: TaskRun) -> TaskRun:
    """Return the run as the database has it now."""
    return TaskRun.objects.get(pk=run.pk)


def states(*runs: TaskRun) -> list[str]:
    """Return where the runs are."""
    found = dict(TaskRun.objects.filter(pk__in=[run.pk for run in runs]).values_list("pk", "state"))
    return [found[run.pk] for run in runs]


def pause_of(run: TaskRun) -> Pause:
    """Return how the run stands with its quotas."""
    return Pause.objects.get(run=run.pk)


def waits_of(run: TaskRun) -> list[tuple[str, int, str]]:
    """Return what the run waits for: the quota's key, the amount, and why."""
    return list(QuotaWait.objects.filter(run=run.pk).order_by("pk").values_list("quota__key", "amount", "why"))


def resumed_times(run: TaskRun) -> int:
    """Return how often the run went from PAUSED to RESUMING."""
    resumed = RunEvent.objects.filter(run=run.pk, from_state=RunState.PAUSED, to_state=RunState.RESUMING)
    return resumed.count()


def admitted(run: TaskRun) -> int:
    """Return what is held for the run since it was admitted."""
    held = Reservation.objects.filter(owner=owner_of(run.pk), purpose=Purpose.ADMISSION, state=ReservationState.HELD)
    return sum(held.values_list("amount", flat=True))


def judge(quota: Quota, *, now: datetime) -> None:
    """Bring the quota up to date and judge it, as the scan does."""
    with transaction.atomic():
        books, _ = open_books(quota.key, now)
        books.save()


class Floor:
    """A worker that executes the runs of one job, as often as the test wants."""

    def __init__(self, job: str) -> None:
        self.job, self.worker = job, ThisWorker("host:1:1:boot", SharedSignals())

    def open(self, **fields: Any) -> TaskRun:
        """Make a run of the job that is due."""
        return make_run(now=database_now(), job=self.job, **fields)

    def execute(self, run: TaskRun) -> TaskRun:
        """Launch the run and execute it to the end of its attempt; return it as it is then."""
        execute(launched(now_is(run), now=database_now()), self.worker, database_now)
        return now_is(run)


@contextmanager
def floor(job: Job) -> Iterator[Floor]:
    """Yield a worker that executes the function as the job of runs."""
    with registered(job) as key:
        yield Floor(key)


def come_back(quota: Quota, left: int = 1000, *, now: datetime = NOW) -> int:
    """Let so much be left of the quota, and take its edge; return how many runs were resumed."""
    charging.set_limit(quota.key, quota_now(quota).used + left, now=now)
    return take_edges(now=now)


def delayed(run: TaskRun) -> None:
    """Let the run wait for a minute before its next try."""
    Pause.objects.filter(run=run).update(not_before=NOW + MINUTE)


def held(run: TaskRun) -> None:
    """Keep the run paused until a person agrees."""
    Pause.objects.filter(run=run).update(held=Pause.Held.AGREEMENT)
