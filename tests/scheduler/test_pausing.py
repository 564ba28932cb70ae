"""A run that its quotas refuse waits for them, with its checkpoint and with rows that say for what and why."""

from datetime import timedelta
from typing import Any

import pytest

from project.kit.clock import database_now
from quotas import charging
from quotas.models import Edge, Quota
from quotas.states import Verdict, WaitReason
from scheduler import operations, pausing, resuming, running
from scheduler.jobs import RunContext
from scheduler.models import Attempt, Pause, QuotaWait, TaskRun
from scheduler.pausing import CAME_BACK, FIRST_DELAY, LONGEST_DELAY, MOST_PAUSES_AN_HOUR, SETBACKS_UNTIL_TOLD
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
    DAY,
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    WORKER,
    claim_of,
    events_of,
    launched,
    make_run,
    utc,
)
from tests.scheduler.pauses import (
    begun,
    floor,
    now_is,
    pause,
    pause_of,
    paused,
    refusal,
    set_back,
    states,
    telling,
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


# --- the launch gate -------------------------------------------------------------------------------------------------


def due(quota: Quota, **fields: Any) -> TaskRun:
    """Make a due run that needs the quota, just leased."""
    run = make_run(quota=quota, **fields)
    launched(run)
    return run


def held_back(*runs: TaskRun) -> list[bool]:
    """Ask the gate, and return for each run whether it was held back."""
    held = pausing.hold_back([claim_of(run) for run in runs], now=NOW)
    return [run.pk in held for run in runs]


def test_the_due_runs_of_a_quota_that_is_used_up_wait_together_instead_of_being_launched() -> None:
    quota = used_up(default_step=2)
    runs = [due(quota), due(quota, quota_need=5)]
    assert held_back(*runs) == [True, True]
    assert states(*runs) == [RunState.PAUSED] * 2
    assert [waits_of(run)[0][1] for run in runs] == [2, 5]
    assert "it waits, and is not launched" in now_is(runs[0]).reason
    assert not Attempt.objects.exists()


def test_a_quota_that_has_enough_holds_nobody_back() -> None:
    runs = [due(make_daily(10)), make_run()]
    launched(runs[1])
    assert held_back(*runs) == [False, False]


def test_a_need_that_is_not_there_is_held_back_though_smaller_ones_are() -> None:
    quota = make_daily(10)
    spend(quota, 6)
    assert held_back(due(quota, quota_need=5), due(quota, quota_need=4)) == [True, False]


def test_a_need_above_the_limit_is_launched_so_that_it_fails_at_once() -> None:
    assert held_back(due(used_up(10), quota_need=11)) == [False]


def test_a_run_that_is_to_be_cancelled_is_launched_so_that_its_job_is_told() -> None:
    run = due(used_up())
    TaskRun.objects.filter(pk=run.pk).update(cancel_requested_at=NOW)
    assert held_back(run) == [False]


def test_a_run_that_was_resumed_passes_the_gate() -> None:
    quota = used_up()
    run = make_run(RunState.RESUMING, quota=quota)
    launched(run)
    assert held_back(run) == [False]


def test_what_another_launched_meanwhile_is_not_held_back() -> None:
    run = due(used_up())
    stale = claim_of(run)
    launched(run)
    assert pausing.hold_back([stale], now=NOW) == set()
    assert states(run) == [RunState.PENDING]


def test_while_the_verdict_is_insufficient_newcomers_wait_behind_those_who_wait() -> None:
    """B58: 5 % are there, and the bar is 10 %."""
    quota = used_up(100)
    charging.set_limit(quota.key, 105, now=NOW)
    assert quota_now(quota).verdict == Verdict.INSUFFICIENT
    run = due(quota)
    assert held_back(run) == [True]
    assert quota_now(quota).waited_for == 1
    charging.set_limit(quota.key, 120, now=NOW)
    assert resuming.take_edges(now=NOW) == 1
    assert states(run) == [RunState.RESUMING]


def test_the_gate_of_a_quota_in_shadow_mode_is_open() -> None:
    assert held_back(due(used_up(shadow=True))) == [False]


def test_a_parent_that_is_used_up_holds_back_the_runs_of_its_children() -> None:
    parent, leaf, other = make_family(root=10)
    spend(other, 10)
    assert held_back(due(leaf)) == [True]
    assert (quota_now(parent).waited_for, quota_now(leaf).waited_for) == (1, None)


def test_a_quota_whose_zone_is_not_known_any_more_holds_up_no_launch() -> None:
    broken, spent = used_up(), used_up()
    change_row(broken, timezone="Atlantis/Capital", period_end=NOW)
    assert held_back(due(broken), due(spent)) == [False, True]


# --- valves ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "held"),
    [
        ({}, ""),
        ({"resume_limit": 0}, Pause.Held.LIMIT),
        ({"resume_limit": 1}, ""),
        ({"resume_by_hand": True}, Pause.Held.AGREEMENT),
        ({"resume_by_hand": True, "resume_limit": 0}, Pause.Held.AGREEMENT),
    ],
)
def test_a_valve_holds_a_run_whether_it_was_running_or_only_due(fields: dict[str, Any], held: str) -> None:
    quota = used_up()
    assert pause_of(paused(quota, **fields)).held == held
    newcomer = due(quota, **fields)
    held_back(newcomer)
    assert pause_of(newcomer).held == held


def test_a_run_that_was_resumed_as_often_as_it_may_be_is_held() -> None:
    quota = used_up()
    run = paused(quota, resume_limit=2)
    Pause.objects.filter(run=run).update(resume_count=2)
    TaskRun.objects.filter(pk=run.pk).update(state=RunState.RESUMING, due_at=NOW)
    pause(begun(run), refusal(quota), progressed=True)
    assert pause_of(run).held == Pause.Held.LIMIT


# --- setbacks --------------------------------------------------------------------------------------------------------


def test_the_first_pause_is_no_setback() -> None:
    run = paused(used_up())
    assert (pause_of(run).setbacks, pause_of(run).not_before) == (0, None)


def test_a_run_that_pauses_again_without_getting_anywhere_waits_longer_each_time() -> None:
    """B5, B9j."""
    quota = used_up()
    run = paused(quota)
    delays = []
    for hour in range(1, 5):
        stands = set_back(run, quota, now=NOW + hour * HOUR)
        assert stands.not_before is not None
        delays.append(stands.not_before - (NOW + hour * HOUR))
    assert delays == [FIRST_DELAY, 2 * FIRST_DELAY, 4 * FIRST_DELAY, 8 * FIRST_DELAY]


def test_the_delay_grows_no_further_than_an_hour() -> None:
    quota = used_up()
    run = paused(quota)
    Pause.objects.filter(run=run).update(setbacks=50)
    assert set_back(run, quota, now=NOW + HOUR).not_before == NOW + HOUR + LONGEST_DELAY


def test_after_several_setbacks_it_is_held_for_a_person_who_is_told_once() -> None:
    quota = used_up()
    run = paused(quota)
    with telling() as told:
        helds = [set_back(run, quota, now=NOW + hour * HOUR).held for hour in range(1, SETBACKS_UNTIL_TOLD + 1)]
    assert helds == [""] * (SETBACKS_UNTIL_TOLD - 1) + [Pause.Held.SETBACKS]
    assert told == ["run_not_resumed"]


def test_getting_somewhere_forgets_the_setbacks() -> None:
    quota = used_up()
    run = paused(quota)
    for hour in (1, 2):
        set_back(run, quota, now=NOW + hour * HOUR)
    stands = set_back(run, quota, now=NOW + 3 * HOUR, progressed=True)
    assert (stands.setbacks, stands.not_before) == (0, None)


def test_a_job_got_somewhere_if_it_checkpointed_or_was_granted_anything() -> None:
    open_, closed = make_daily(10, now=database_now()), used_up(now=database_now())

    def refused(run: RunContext) -> None:
        run.charge(closed.key)

    def granted(run: RunContext) -> None:
        run.charge(open_.key)
        run.charge(closed.key)

    def checkpointed(run: RunContext) -> None:
        run.checkpoint(page=1)
        run.charge(closed.key)

    setbacks = []
    for job in (refused, granted, checkpointed):
        with floor(job) as worker:
            run = worker.execute(worker.open())
            Pause.objects.filter(run=run).update(resume_count=1)
            TaskRun.objects.filter(pk=run.pk).update(state=RunState.PENDING, due_at=database_now())
            worker.execute(run)
            setbacks.append(pause_of(run).setbacks)
    assert setbacks == [1, 0, 0]


def test_more_than_twelve_pauses_an_hour_wait_until_the_hour_has_passed_and_are_told() -> None:
    """B58."""
    quota = used_up()
    run = paused(quota)
    with telling() as told:
        for minute in range(1, MOST_PAUSES_AN_HOUR):
            assert pause_of(run).not_before is None
            set_back(run, quota, now=NOW + minute * MINUTE, progressed=True)
    assert pause_of(run).not_before == NOW + HOUR
    assert told == ["run_flaps"]


def test_pauses_that_are_spread_over_the_day_are_no_flapping() -> None:
    quota = used_up(now=NOW - DAY)
    spend(quota, 100)
    run = paused(quota)
    for number in range(1, 2 * MOST_PAUSES_AN_HOUR):
        set_back(run, quota, now=NOW + number * timedelta(minutes=6), progressed=True)
    assert pause_of(run).not_before is None


# --- resumed, and not begun ------------------------------------------------------------------------------------------


def resumed(quota: Quota, run: TaskRun) -> TaskRun:
    """Let the quota come back."""
    charging.set_limit(quota.key, 1000, now=NOW)
    assert resuming.take_edges(now=NOW) == 1
    return now_is(run)


def test_a_resumed_run_that_no_worker_begins_by_its_deadline_is_paused_again_and_waits_longer() -> None:
    """B9a."""
    quota = used_up()
    run = resumed(quota, paused(quota))
    assert run.deadline_at is not None
    assert pausing.return_to_pause(now=run.deadline_at - SECOND) == 0
    assert pausing.return_to_pause(now=run.deadline_at) == 1
    stands = pause_of(run)
    assert (states(run), stands.setbacks) == ([RunState.PAUSED], 1)
    assert stands.not_before == run.deadline_at + FIRST_DELAY
    assert events_of(run)[-1] == (RunState.RESUMING, RunState.PAUSED, EventTrigger.TIMEOUT)
    assert quota_now(quota).reserved == 0
    audit()


def test_a_resume_that_nobody_began_does_not_count_against_the_limit() -> None:
    """B9j."""
    quota = used_up()
    run = resumed(quota, paused(quota, resume_limit=1))
    pausing.return_to_pause(now=NOW + HOUR)
    assert (pause_of(run).resume_count, pause_of(run).held) == (0, "")


def test_after_several_a_person_is_told_once_and_it_is_still_tried() -> None:
    quota = used_up()
    run = resumed(quota, paused(quota))
    with telling() as told:
        for hour in range(1, SETBACKS_UNTIL_TOLD + 3):
            now = NOW + hour * 2 * HOUR
            pausing.return_to_pause(now=now)
            assert resuming.resume(quota.pk, by_poll(), now=now + HOUR) == 1
    assert told == ["run_not_resumed"]
    assert (states(run), pause_of(run).held) == ([RunState.RESUMING], "")


def by_poll() -> resuming.Resumption:
    """Return what the fallback poll sets off."""
    return resuming.Resumption(EventTrigger.FALLBACK_POLL, "It is back.")


def test_the_hint_of_a_launch_before_the_deadline_begins_nothing_afterwards() -> None:
    quota = used_up()
    run = resumed(quota, paused(quota))
    hint = launched(run)
    pausing.return_to_pause(now=NOW + HOUR)
    resuming.resume(quota.pk, by_poll(), now=NOW + 2 * HOUR)
    launched(now_is(run), now=NOW + 2 * HOUR)
    assert running.begin(hint, WORKER, now=NOW + 2 * HOUR) is None


def test_a_resumed_run_that_is_to_be_cancelled_stays_due_for_the_worker_that_tells_its_job() -> None:
    quota = used_up()
    run = resumed(quota, paused(quota))
    TaskRun.objects.filter(pk=run.pk).update(cancel_requested_at=NOW)
    assert pausing.return_to_pause(now=NOW + HOUR) == 0
    assert states(run) == [RunState.RESUMING]


def test_pausing_is_no_edge() -> None:
    quota = used_up()
    paused(quota)
    assert not Edge.objects.exists()
    assert quota_now(quota).verdict == Verdict.INSUFFICIENT
