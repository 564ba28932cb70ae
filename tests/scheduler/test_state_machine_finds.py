"""What the state machine found, or its reading did: each in the fewest steps that show it."""

import pytest

from quotas import observing, scans
from scheduler import firing, pausing, recovering, running, schedules
from scheduler.cron import cron
from scheduler.models import Approval, TaskRun
from scheduler.running import Outcome
from scheduler.states import AttemptOutcome, RunState
from tests.audit import A_MOMENT, Stretch, audit_schedule
from tests.quotas.factories import make_quota
from tests.scheduler.factories import HOUR, MINUTE, NOW, WORKER, launched, make_run, make_schedule

pytestmark = pytest.mark.django_db


def asking(question: str) -> Outcome:
    """Return the outcome of an attempt that asks."""
    return Outcome(RunState.AWAITING_APPROVAL, AttemptOutcome.AWAITING_APPROVAL, reason=question, question=question)


def test_a_worker_that_lost_its_run_asks_nothing_though_the_run_asks_by_now() -> None:
    run = make_run(RunState.RUNNING)
    stale = TaskRun.objects.get(pk=run.pk)
    running.settle(run, Outcome(RunState.PENDING, AttemptOutcome.LOST, due_at=NOW), now=NOW)
    run.refresh_from_db()
    begun = running.begin(launched(run), WORKER, now=NOW)
    assert begun is not None
    assert running.settle(begun, asking("Send 214 invoices?"), now=NOW)

    assert not running.settle(stale, asking("Send 13 invoices?"), now=NOW)
    assert list(Approval.objects.values_list("question", flat=True)) == ["Send 214 invoices?"]


def test_a_skip_that_begins_with_an_instant_that_is_recorded_already_still_tells_of_the_others() -> None:
    """The clock went back an hour, and the schedule was paused and enabled: ten o'clock comes again, but nobody scans
    until the afternoon.
    """
    ten = NOW - 2 * HOUR
    schedule = make_schedule(cron="0 * * * *", due=ten, now=ten - MINUTE)
    firing.fire_all_due(now=ten)
    schedules.pause(schedule, now=ten - 30 * MINUTE, reason="")
    schedules.enable(schedule, now=ten - 29 * MINUTE)
    firing.fire_all_due(now=ten + 5 * HOUR + 30 * MINUTE)

    schedule.refresh_from_db()
    hourly = Stretch(cron("0 * * * *", "UTC"), ten, ten + 6 * HOUR - A_MOMENT)
    audit_schedule(schedule, [hourly], replayed_after=[])


def test_a_run_that_needs_two_providers_which_both_refused_tries_them_both_at_once() -> None:
    """Each by itself would wait for the other to be tried."""
    account = make_quota()
    calls = make_quota(parent=account)
    run = make_run(quota=calls)
    for quota in (account, calls):
        observing.observe(quota.key, {"Retry-After": "60"}, status=429, now=NOW)
    assert pausing.hold_back([launched(run)], now=NOW) == {run.pk}

    after = NOW + 2 * MINUTE
    scans.evaluate_due(now=after)
    assert recovering.try_providers(now=after) == 1
    run.refresh_from_db()
    assert run.state == RunState.RESUMING
    assert recovering.try_providers(now=after) == 0, "one at a time"
