"""Runs that wait for quotas, brought there by the domain itself."""

from datetime import datetime
from typing import Any

from quotas import charging
from quotas.models import Quota
from quotas.refusals import Refused
from scheduler import pausing, running
from scheduler.models import Pause, TaskRun
from scheduler.running import Outcome
from scheduler.states import AttemptOutcome, RunState
from tests.quotas.factories import spend
from tests.scheduler.factories import NOW, launched, make_run


def refusal_of(quota: Quota, amount: int, *, now: datetime = NOW) -> Refused:
    """Return how the quota refuses the amount."""
    try:
        charging.charge(quota.key, amount, now=now)
    except Refused as refused:
        return refused
    raise AssertionError(f"“{quota.key}” has {amount}")


def refused_run(*needs: tuple[Quota, int], now: datetime = NOW, **fields: Any) -> TaskRun:
    """Return a run that was refused these amounts while it was running, and so is paused."""
    run = make_run(RunState.RUNNING, now=now, **fields)
    refusals = [refusal_of(quota, amount, now=now) for quota, amount in needs]
    refused_again(run, *refusals, now=now)
    return run


def refused_again(run: TaskRun, *refusals: Refused, now: datetime = NOW, progressed: bool = False) -> None:
    """Pause a running run as its worker does when its quotas refuse it."""
    outcome = Outcome(RunState.PAUSED, AttemptOutcome.PAUSED, refusals=refusals, progressed=progressed, spent=True)
    assert running.settle(run, outcome, now=now)
    run.refresh_from_db()


def held_back_run(quota: Quota, *, now: datetime = NOW, **fields: Any) -> TaskRun:
    """Return a run that was due, and is not launched because its quota would refuse it."""
    run = make_run(now=now, quota=quota, **fields)
    assert pausing.hold_back([launched(run, now=now)], now=now) == {run.pk}
    run.refresh_from_db()
    return run


def hold(run: TaskRun, **fields: Any) -> None:
    """Write how the run is held or delayed."""
    assert Pause.objects.filter(run=run.pk).update(**fields) == 1


def used_up(quota: Quota, *, leave: int = 0) -> Quota:
    """Charge all of the quota but what is to be left."""
    spend(quota, (quota.limit or 0) - leave)
    return quota
