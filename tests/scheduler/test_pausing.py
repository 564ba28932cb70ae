"""A run that its quotas refuse waits for them, with its checkpoint and with rows that say for what and why."""

import pytest

from project.kit.clock import database_now
from quotas import charging
from quotas.states import WaitReason
from scheduler import operations, resuming, running
from scheduler.jobs import RunContext
from scheduler.models import Attempt, Pause, QuotaWait, TaskRun
from scheduler.pausing import CAME_BACK
from scheduler.running import Outcome
from scheduler.states import AttemptOutcome, EventTrigger, RunState
from tests.quotas.factories import (
    audit,
    block,
    change_row,
    make_daily,
    make_family,
    make_quota,
    make_rate,
    spend,
)
from tests.quotas.factories import now_is as quota_now
from tests.scheduler.factories import (
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    events_of,
    make_run,
    utc,
)
from tests.scheduler.pauses import (
    floor,
    now_is,
    pause,
    pause_of,
    paused,
    refusal,
    set_back,
    states,
    used_up,
    waits_of,
)

pytestmark = pytest.mark.django_db

MIDNIGHT = utc("2026-06-02 00:00")


# --- with its checkpoint, and why -----------------------------------------------------------------------------------


def test_a_refused_run_is_paused_with_its_checkpoint_and_goes_on_from_there() -> None:
    quota = make_daily(3, now=database_now())
    taken: list[int] = []

    def job(run: RunContext) -> None:
        for item in range(run.progress.get("item", 0), 5):
            run.charge(quota.key)
            taken.append(item)
            run.checkpoint(item=item + 1)

    with floor(job) as worker:
        run = worker.execute(worker.open())
        assert (run.state, run.progress, run.pause_count) == (RunState.PAUSED, {"item": 3}, 1)
        charging.set_limit(quota.key, 10, now=database_now())
        resuming.take_edges(now=database_now())
        assert worker.execute(run).state == RunState.DONE
    assert taken == [0, 1, 2, 3, 4]
    assert list(Attempt.objects.order_by("number").values_list("outcome", flat=True)) == ["paused", "done"]
    audit()


def test_the_rows_say_for_which_quota_it_waits_for_how_much_why_since_when_and_until_when() -> None:
    quota = used_up(10)
    run = paused(quota, 4)
    wait = QuotaWait.objects.get(run=run)
    assert waits_of(run) == [(quota.key, 4, WaitReason.OWN_BUDGET)]
    assert (wait.since, wait.expected_at, pause_of(run).since) == (NOW, MIDNIGHT, NOW)
    assert f"“{quota.key}” has 0 left of the 4 asked for" in run.reason
    assert events_of(run)[-1] == (RunState.RUNNING, RunState.PAUSED, EventTrigger.QUOTA)
    assert (run.due_at, run.lease_expires_at, run.lease_owner) == (None, None, "")


def test_each_reason_to_wait_is_told_from_the_others() -> None:
    rate = make_rate(1)
    spend(rate, 1)
    window, unknown, budget = make_quota(5), make_quota(5), make_quota(1)
    spend(budget, 1)
    block(window, NOW + HOUR)
    block(unknown, NOW + MINUTE)
    change_row(unknown, blocked_without_reset=True)
    whys = [waits_of(paused(quota))[0][2] for quota in (rate, window, unknown, budget)]
    assert whys == [WaitReason.RATE, WaitReason.PROVIDER_WINDOW, WaitReason.UNKNOWN_RESET, WaitReason.OWN_BUDGET]
    expected = [QuotaWait.objects.get(quota=quota).expected_at for quota in (rate, window, budget)]
    assert expected == [NOW + SECOND, NOW + HOUR, None]


def test_a_run_may_wait_for_several_quotas_at_once() -> None:
    """B9d: the window of five hours and that of the week."""
    short, long = used_up(5), used_up(50)
    run = make_run(RunState.RUNNING)
    pause(run, refusal(short), refusal(long, 3))
    assert waits_of(run) == [(short.key, 1, WaitReason.OWN_BUDGET), (long.key, 3, WaitReason.OWN_BUDGET)]


def test_an_earlier_pause_leaves_no_waits_behind() -> None:
    first, second = used_up(), used_up()
    run = paused(first)
    set_back(run, second, now=NOW + HOUR)
    assert [key for key, _, _ in waits_of(run)] == [second.key]
    assert pause_of(run).since == NOW + HOUR


def test_what_lacks_is_noted_on_the_link_of_the_chain_that_lacks_it() -> None:
    parent, leaf, _ = make_family(root=10, leaves=10)
    spend(leaf, 8)
    change_row(leaf, used=0)
    paused(leaf, 5)
    assert (quota_now(parent).waited_for, quota_now(leaf).waited_for) == (5, None)


def test_the_smallest_need_that_waits_is_the_one_that_is_noted() -> None:
    quota = used_up(10)
    for amount in (7, 3, 5):
        paused(quota, amount)
    assert (quota_now(quota).waited_for, quota_now(quota).waited_since) == (3, NOW)


def test_running_work_is_never_stopped_because_a_quota_reached_zero() -> None:
    """B59c."""
    quota = make_daily(100)
    running_run = make_run(RunState.RUNNING)
    spend(quota, 80, owner=f"run:{running_run.pk}")
    charging.set_limit(quota.key, 50, now=NOW)
    assert states(running_run) == [RunState.RUNNING]


def test_a_need_above_a_limit_that_was_lowered_meanwhile_waits_for_a_person() -> None:
    quota = used_up(10)
    refused = refusal(quota, 8)
    charging.set_limit(quota.key, 5, now=NOW)
    run = make_run(RunState.RUNNING)
    pause(run, refused)
    assert QuotaWait.objects.get(run=run).expected_at is None


def test_a_charge_that_can_never_be_granted_fails_the_run_at_once_and_for_good() -> None:
    """B24."""
    quota = make_daily(10, now=database_now())

    def job(run: RunContext) -> None:
        run.charge(quota.key, 11)

    with floor(job) as worker:
        run = worker.execute(worker.open(retry_delays=[1, 1]))
    assert (run.state, run.due_at) == (RunState.FAILED, None)
    assert "can never be charged" in run.reason


def test_in_shadow_mode_nothing_is_paused() -> None:
    quota = make_daily(1, shadow=True, now=database_now())

    def job(run: RunContext) -> None:
        for _ in range(3):
            run.charge(quota.key)

    with floor(job) as worker:
        assert worker.execute(worker.open(quota=quota)).state == RunState.DONE
    assert quota_now(quota).over_limit_count == 2


# --- while it is being paused ----------------------------------------------------------------------------------------


def test_a_reset_that_came_in_between_makes_the_run_due_at_once() -> None:
    """B8."""
    quota = used_up(10)
    run = make_run(RunState.RUNNING, progress={"page": 7})
    refused = refusal(quota, 4)
    assert pause(run, refused, now=MIDNIGHT)
    run = now_is(run)
    assert (run.state, run.due_at, run.reason, run.progress) == (RunState.PENDING, MIDNIGHT, CAME_BACK, {"page": 7})
    assert not QuotaWait.objects.exists()
    assert Attempt.objects.get(run=run).outcome == AttemptOutcome.PAUSED


def test_of_two_quotas_only_the_one_that_still_refuses_is_waited_for() -> None:
    back, still = used_up(10), used_up(10)
    refusals = refusal(back), refusal(still)
    charging.set_limit(back.key, 20, now=NOW)
    run = make_run(RunState.RUNNING)
    pause(run, *refusals)
    assert [key for key, _, _ in waits_of(run)] == [still.key]


def test_a_worker_that_lost_its_claim_pauses_nothing() -> None:
    quota = used_up()
    run = make_run(RunState.RUNNING)
    refused = refusal(quota)
    TaskRun.objects.filter(pk=run.pk).update(lease_token=run.lease_token + 1)
    assert not pause(run, refused)
    assert (states(run), QuotaWait.objects.count(), Pause.objects.count()) == ([RunState.RUNNING], 0, 0)


def test_a_run_whose_cancel_was_asked_for_is_cancelled_instead() -> None:
    quota = used_up()
    run = make_run(RunState.RUNNING)
    operations.cancel(run, now=NOW, actor="ann")
    outcome = Outcome(RunState.PAUSED, AttemptOutcome.PAUSED, refusals=[refusal(quota)], spent=True)
    assert running.settle(run, outcome, now=NOW)
    assert (states(run), QuotaWait.objects.count()) == ([RunState.CANCELLED], 0)
