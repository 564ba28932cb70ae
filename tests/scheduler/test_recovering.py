"""What the events missed is found: delays that have passed, providers to be tried, and all the rest by the poll."""

from collections.abc import Callable
from datetime import datetime, time, timedelta
from typing import Any

import pytest

from quotas import charging, scans
from quotas.models import Edge, Quota
from quotas.states import Verdict
from scheduler import operations, pausing, resuming
from scheduler.models import Pause, TaskRun
from scheduler.recovering import TRIAL_PASSED, poll, resume_after_delays, resume_by_events, try_providers
from scheduler.resuming import TRIAL
from scheduler.states import EventTrigger, RunState
from tests.quotas.factories import block, books_of, change_row, make_quota, make_rate, spend
from tests.quotas.factories import now_is as quota_now
from tests.scheduler.factories import HOUR, MINUTE, NOW, SECOND, events_of, launched, make_run, make_schedule
from tests.scheduler.pauses import (
    begun,
    now_is,
    pause,
    pause_of,
    paused,
    refusal,
    resumed_times,
    states,
    used_up,
)

pytestmark = pytest.mark.django_db

PAUSED, RESUMING = RunState.PAUSED, RunState.RESUMING


def at(now: datetime) -> Callable[[], datetime]:
    """Return a clock that stands still."""
    return lambda: now


def raise_limit(quota: Quota, limit: int = 1000, *, now: datetime = NOW) -> None:
    charging.set_limit(quota.key, limit, now=now)


# --- delays ----------------------------------------------------------------------------------------------------------


def test_a_run_goes_on_when_its_delay_has_passed_and_not_before() -> None:
    quota = used_up()
    run = paused(quota)
    Pause.objects.filter(run=run).update(not_before=NOW + MINUTE)
    raise_limit(quota)
    assert resume_by_events(now=NOW + 59 * SECOND) == 0
    assert resume_by_events(now=NOW + MINUTE) == 1
    assert pause_of(run).not_before is None


def test_a_delay_that_passes_while_the_quota_is_used_up_makes_it_wait_like_everybody_else() -> None:
    quota = used_up()
    run = paused(quota)
    Pause.objects.filter(run=run).update(not_before=NOW + MINUTE)
    assert resume_after_delays(now=NOW + HOUR) == 0
    assert pause_of(run).not_before is None
    raise_limit(quota, now=NOW + HOUR)
    assert resuming.take_edges(now=NOW + HOUR) == 1


def test_what_is_held_for_a_person_is_not_resumed_by_the_end_of_a_delay() -> None:
    quota = used_up()
    run = paused(quota)
    Pause.objects.filter(run=run).update(not_before=NOW, held=Pause.Held.SETBACKS)
    raise_limit(quota)
    assert resume_by_events(now=NOW + HOUR) == 0
    assert states(run) == [PAUSED]


def test_at_the_end_of_quiet_hours_the_run_goes_on() -> None:
    quota = used_up()
    run = paused(quota, schedule=make_schedule(quiet_from=time(11, 0), quiet_until=time(13, 0)))
    raise_limit(quota)
    assert [resume_by_events(now=NOW + minutes * MINUTE) for minutes in (0, 30, 59, 60)] == [0, 0, 0, 1]
    assert states(run) == [RESUMING]


def test_a_run_that_was_paused_again_meanwhile_keeps_its_new_delay() -> None:
    run = paused(used_up())
    Pause.objects.filter(run=run).update(not_before=NOW + HOUR)
    resuming.end_delays([run.pk], now=NOW)
    assert pause_of(run).not_before == NOW + HOUR


# --- the fallback poll -----------------------------------------------------------------------------------------------


def unhandled(quota: Quota, run: TaskRun) -> None:
    """Nobody took the edge."""
    raise_limit(quota)


def lost(quota: Quota, run: TaskRun) -> None:
    """The edge was marked as handled, and nothing came of it."""
    raise_limit(quota)
    Edge.objects.update(handled_at=NOW)


def delayed(quota: Quota, run: TaskRun) -> None:
    """The run was delayed when the edge came."""
    Pause.objects.filter(run=run).update(not_before=NOW + SECOND)
    raise_limit(quota)


def forgotten(quota: Quota, run: TaskRun) -> None:
    """The quota has enough, and nobody noted that anybody waits for it."""
    raise_limit(quota)
    change_row(quota, waited_for=None, waited_since=None, next_check_at=None)


def reset(quota: Quota, run: TaskRun) -> None:
    """The period has ended, and no scan has judged the quota."""
    change_row(quota, period_end=NOW + SECOND)


@pytest.mark.parametrize("what_happened", [unhandled, lost, delayed, forgotten, reset])
def test_with_all_events_off_the_poll_resumes_within_one_interval(
    what_happened: Callable[[Quota, TaskRun], None], settings: Any
) -> None:
    settings.TIDELINE_QUOTA_EVENTS = False
    quota = used_up(poll_ceiling_seconds=60)
    run = paused(quota)
    what_happened(quota, run)
    assert resume_by_events(now=NOW + timedelta(seconds=66)) == 0
    assert poll(clock=at(NOW + timedelta(seconds=66))) == 1  # the ceiling and its jitter
    assert events_of(run)[-1] == (PAUSED, RESUMING, EventTrigger.FALLBACK_POLL)


def test_with_all_events_off_what_was_only_held_back_resumes_as_well(settings: Any) -> None:
    """The quota had as much as it needed, but below the bar: it lacked nothing that could be noted as met."""
    settings.TIDELINE_QUOTA_EVENTS = False
    quota = used_up(100, poll_ceiling_seconds=60)
    raise_limit(quota, 105)
    run = make_run(quota=quota)
    assert pausing.hold_back([launched(run)], now=NOW) == {run.pk}
    raise_limit(quota)
    assert poll(clock=at(NOW + timedelta(seconds=66))) == 1


def test_with_all_events_off_a_provider_is_tried_and_then_lets_the_crowd_in(settings: Any) -> None:
    settings.TIDELINE_QUOTA_EVENTS = False
    quota = make_quota(100, poll_ceiling_seconds=30, poll_floor_seconds=5, stable_seconds=0)
    block(quota, NOW + MINUTE)
    runs = [paused(quota, now=NOW + number * SECOND) for number in range(3)]
    now = NOW + 2 * MINUTE
    assert poll(clock=at(now)) == 1
    begun(runs[0], now=now)
    resumed = [poll(clock=at(now + seconds * SECOND)) for seconds in (10, 20, 70, 110)]
    assert resumed[:2] == [0, 0]
    assert sum(resumed) == 2
    assert states(*runs[1:]) == [RESUMING] * 2


def test_a_poll_that_died_is_made_up_for_soon() -> None:
    quota = used_up(poll_floor_seconds=5)
    paused(quota)
    due = quota_now(quota).next_check_at
    assert due is not None
    assert scans.claim_checks(now=due) == [quota.pk]
    assert poll(clock=at(due)) == 0
    raise_limit(quota, now=due)
    assert poll(clock=at(due + 6 * SECOND)) == 1


def test_the_poll_leaves_alone_what_nobody_waits_for() -> None:
    quota = make_rate(10)
    spend(quota, 5)
    assert quota_now(quota).next_check_at is None
    assert poll(clock=at(NOW + HOUR)) == 0


def test_what_waits_for_a_cancelled_elders_patience_is_found_by_the_poll() -> None:
    """A bigger need, for which the rest was kept, is gone: no edge tells that, and the next regular look is far."""
    quota = make_quota(20, patience_seconds=60)
    spend(quota, 20)
    big, small = paused(quota, 15), paused(quota, 2, now=NOW + SECOND)
    charging.top_up(quota.key, 10, now=NOW + HOUR)
    assert resuming.take_edges(now=NOW + HOUR) == 0
    operations.cancel(big, now=NOW + HOUR, actor="ann")
    assert poll(clock=at(NOW + HOUR)) == 1
    assert states(small) == [RESUMING]


# --- trials ----------------------------------------------------------------------------------------------------------


def refusing_provider(runs: int = 3) -> tuple[Quota, list[TaskRun]]:
    """Return a quota whose provider's reset has passed at NOW + HOUR, and the runs that wait for it."""
    quota = make_quota(100, stable_seconds=0)
    block(quota, NOW + HOUR)
    waiting = [paused(quota, now=NOW + number * SECOND) for number in range(runs)]
    scans.evaluate_due(now=NOW + HOUR)
    assert quota_now(quota).provider_unverified
    return quota, waiting


RESET = NOW + HOUR


def test_one_run_tries_and_nobody_else_until_it_has_got_through() -> None:
    quota, runs = refusing_provider()
    assert [try_providers(now=RESET + n * SECOND) for n in range(3)] == [1, 0, 0]
    begun(runs[0], now=RESET)
    assert resume_by_events(now=RESET + TRIAL_PASSED - SECOND) == 0
    assert states(*runs) == [RunState.RUNNING, PAUSED, PAUSED]
    try_providers(now=RESET + TRIAL_PASSED)
    assert quota_now(quota).verdict == Verdict.SUFFICIENT
    assert resuming.take_edges(now=RESET + TRIAL_PASSED) == 2


def test_a_trial_that_is_done_has_got_through_however_short_it_was() -> None:
    quota, runs = refusing_provider()
    try_providers(now=RESET)
    begun(runs[0], now=RESET)
    TaskRun.objects.filter(pk=runs[0].pk).update(state=RunState.DONE, finished_at=RESET, lease_expires_at=None)
    try_providers(now=RESET + SECOND)
    assert not quota_now(quota).provider_unverified


def test_a_trial_that_waits_for_a_worker_is_waited_for_and_no_second_one_is_sent() -> None:
    _, runs = refusing_provider()
    try_providers(now=RESET)
    assert try_providers(now=RESET + TRIAL + SECOND) == 0
    assert states(*runs) == [RESUMING, PAUSED, PAUSED]


def test_after_a_trial_that_failed_for_its_own_reasons_another_run_tries_a_little_later() -> None:
    _, runs = refusing_provider()
    try_providers(now=RESET)
    operations.cancel(runs[0], now=RESET, actor="ann")
    assert try_providers(now=RESET + TRIAL - SECOND) == 0
    assert try_providers(now=RESET + TRIAL) == 1
    assert states(*runs) == [RunState.CANCELLED, RESUMING, PAUSED]


def test_a_trial_that_is_refused_leaves_the_crowd_where_it_is() -> None:
    """B5, B74."""
    quota, runs = refusing_provider()
    try_providers(now=RESET)
    trial = begun(runs[0], now=RESET)
    with books_of(quota, now=RESET + SECOND) as locked:
        locked.blocked_until, locked.provider_unverified = RESET + HOUR, False
        locked.trial_owner, locked.trial_until = "", None
    assert pause(trial, refusal(quota, now=RESET + SECOND), now=RESET + SECOND)
    assert resume_by_events(now=RESET + TRIAL + MINUTE) == 0
    assert states(*runs) == [PAUSED] * 3
    assert pause_of(runs[0]).setbacks == 1


def test_where_nobody_waits_nobody_tries() -> None:
    quota, _ = refusing_provider(runs=0)
    assert try_providers(now=RESET) == 0
    assert quota_now(quota).trial_owner == ""


def test_a_run_that_waits_for_another_quota_as_well_does_not_try() -> None:
    quota, _ = refusing_provider(runs=0)
    other = used_up()
    run = make_run(RunState.RUNNING)
    block(quota, RESET + HOUR, now=RESET)
    pause(run, refusal(quota, now=RESET), refusal(other, now=RESET), now=RESET)
    scans.evaluate_due(now=RESET + HOUR)
    assert try_providers(now=RESET + HOUR) == 0
    assert (states(run), resumed_times(run)) == ([PAUSED], 0)
    assert now_is(run).due_at is None
