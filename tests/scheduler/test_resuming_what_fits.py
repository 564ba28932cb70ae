"""Of those who wait for a quota those go on for whom there is enough, in their order, spread; it is kept for them."""

import pytest

from project.kit.clock import database_now
from quotas import charging, reserving, scans
from quotas.models import Reservation
from quotas.states import Kind, ReservationState
from scheduler.jobs import RunContext
from scheduler.models import Attempt
from scheduler.resuming import Resumption, resume, take_edges
from scheduler.states import EventTrigger, RunState
from tests.quotas.factories import audit, block, change_row, edges_of, make_family, make_quota, spend
from tests.quotas.factories import now_is as quota_now
from tests.scheduler.factories import (
    DAY,
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    make_run,
    make_schedule,
)
from tests.scheduler.pauses import (
    admitted,
    begun,
    come_back,
    floor,
    now_is,
    pause,
    paused,
    refusal,
    states,
    used_up,
)

pytestmark = pytest.mark.django_db

PAUSED, RESUMING = RunState.PAUSED, RunState.RESUMING
POLL = Resumption(EventTrigger.FALLBACK_POLL, "It is back.")


# --- all quotas allow it ---------------------------------------------------------------------------------------------


def test_a_run_that_waits_for_two_quotas_goes_on_only_when_both_allow_it() -> None:
    """B9d."""
    short, long = used_up(), used_up()
    run = make_run(RunState.RUNNING)
    pause(run, refusal(short), refusal(long, 3))
    assert come_back(short) == 0
    assert states(run) == [PAUSED]
    assert come_back(long) == 1
    assert {row.quota_id: row.amount for row in Reservation.objects.all()} == {short.pk: 1, long.pk: 3}


def test_a_run_waits_for_the_parent_of_its_quota_as_well() -> None:
    parent, leaf, other = make_family(root=10, leaves=10)
    spend(leaf, 10)
    run = paused(leaf, 2)
    charging.set_limit(leaf.key, 20, now=NOW)
    assert take_edges(now=NOW) == 0
    charging.set_limit(parent.key, 20, now=NOW)
    assert take_edges(now=NOW) == 1
    assert states(run) == [RESUMING]
    assert (quota_now(parent).reserved, quota_now(leaf).reserved, quota_now(other).reserved) == (2, 2, 0)


def test_what_the_parent_still_lacks_is_noted_there_so_that_its_coming_is_an_edge() -> None:
    """The parent is sufficient for others all the while: nothing but the noted need can tell."""
    parent, leaf, _ = make_family(root=100, leaves=100)
    spend(leaf, 85)
    change_row(leaf, used=100)
    run = paused(leaf, 20)
    change_row(parent, waited_for=None, waited_since=None)
    charging.set_limit(leaf.key, 200, now=NOW)
    assert take_edges(now=NOW) == 0
    assert quota_now(parent).waited_for == 20
    charging.top_up(parent.key, 5, now=NOW)
    assert take_edges(now=NOW) == 1
    assert states(run) == [RESUMING]


def test_the_verdict_counts_and_not_only_what_is_there() -> None:
    """B58: 10 % are there, and it takes more."""
    quota = used_up(100)
    run = paused(quota)
    charging.set_limit(quota.key, 111, now=NOW)
    assert resume(quota.pk, POLL, now=NOW) == 0
    charging.set_limit(quota.key, 112, now=NOW)
    assert take_edges(now=NOW) == 1
    assert states(run) == [RESUMING]


def test_a_raised_limit_resumes_at_once_and_a_lowered_one_does_not() -> None:
    """B59, B59c."""
    quota = used_up(10)
    run = paused(quota)
    charging.set_limit(quota.key, 5, now=NOW)
    assert resume(quota.pk, POLL, now=NOW) == 0
    charging.set_limit(quota.key, 20, now=NOW)
    assert take_edges(now=NOW) == 1
    assert states(run) == [RESUMING]


def test_a_quota_that_was_set_to_shadow_mode_lets_everybody_go_on() -> None:
    quota = used_up()
    run = paused(quota, 7)
    change_row(quota, shadow=True)
    assert resume(quota.pk, POLL, now=NOW) == 1
    assert states(run) == [RESUMING]


# --- only part fits --------------------------------------------------------------------------------------------------


def test_runs_are_admitted_while_their_needs_fit_and_the_rest_stays_in_order() -> None:
    quota = used_up(100)
    runs = [paused(quota, 10, now=NOW + number * SECOND) for number in range(5)]
    assert come_back(quota, 35, now=NOW + MINUTE) == 3
    assert states(*runs) == [RESUMING] * 3 + [PAUSED] * 2
    assert quota_now(quota).reserved == 30
    assert (quota_now(quota).waited_for, quota_now(quota).waited_since) == (10, NOW + 3 * SECOND)


def test_priority_goes_before_age() -> None:
    quota = used_up(100)
    old = paused(quota, 10)
    urgent = paused(quota, 10, now=NOW + MINUTE, priority=5)
    assert come_back(quota, 15, now=NOW + HOUR) == 1
    assert states(old, urgent) == [PAUSED, RESUMING]


def test_tenants_take_turns() -> None:
    quota = used_up(100)
    busy, quiet = make_schedule(), make_schedule()
    many = [paused(quota, 10, schedule=busy, exclusive_key=None, now=NOW + n * SECOND) for n in range(3)]
    one = paused(quota, 10, schedule=quiet, now=NOW + MINUTE)
    assert come_back(quota, 25, now=NOW + HOUR) == 2
    assert states(*many, one) == [RESUMING, PAUSED, PAUSED, RESUMING]


def test_a_big_request_is_passed_by_small_ones_for_a_while_and_not_for_ever() -> None:
    """B56: of a capacity."""
    quota = make_quota(20, patience_seconds=600)
    spend(quota, 20)
    big = paused(quota, 8)
    small = [paused(quota, 1, now=NOW + SECOND) for _ in range(3)]
    assert come_back(quota, 4, now=NOW + MINUTE) == 3
    assert states(big, *small) == [PAUSED] + [RESUMING] * 3
    late = paused(quota, 2, now=NOW + MINUTE)
    assert come_back(quota, 7, now=NOW + HOUR) == 0
    assert come_back(quota, 13, now=NOW + HOUR) == 2
    assert states(big, late) == [RESUMING, RESUMING]


def test_what_is_left_of_a_period_is_not_kept_for_a_need_that_only_the_reset_can_meet() -> None:
    quota = used_up(100, patience_seconds=600)
    big, small = paused(quota, 90), paused(quota, 1, now=NOW + SECOND)
    assert come_back(quota, 40, now=NOW + HOUR) == 1
    assert states(big, small) == [PAUSED, RESUMING]


def test_what_stays_behind_goes_on_when_its_need_is_there_though_the_verdict_never_changed() -> None:
    quota = used_up(100)
    run, big = paused(quota, 5), paused(quota, 40)
    assert come_back(quota, 30) == 1
    assert edges_of(quota) == ["limit_change"]
    assert come_back(quota, 60) == 1
    assert states(run, big) == [RESUMING, RESUMING]


def test_nobody_tries_a_quota_that_is_below_its_threshold_and_not_in_doubt() -> None:
    quota = used_up(100)
    run = paused(quota)
    charging.set_limit(quota.key, 105, now=NOW)
    assert resume(quota.pk, Resumption(EventTrigger.FALLBACK_POLL, "Try it.", trial=True), now=NOW) == 0
    assert states(run) == [PAUSED]


def test_a_blocked_quota_keeps_nobody_of_another_one_waiting() -> None:
    """B52."""
    drained, ready = used_up(), used_up()
    for _ in range(20):
        paused(drained)
    run = paused(ready)
    assert come_back(ready) == 1
    assert states(run) == [RESUMING]


def test_many_blocked_runs_of_high_priority_do_not_hide_one_that_can_go_on() -> None:
    """B53."""
    parent, drained, ready = make_family(root=1000, leaves=10)
    for leaf in (drained, ready):
        spend(leaf, 10)
    for _ in range(20):
        paused(drained, priority=9)
    run = paused(ready)
    charging.set_limit(ready.key, 20, now=NOW)
    assert take_edges(now=NOW) == 1
    assert resume(parent.pk, POLL, now=NOW) == 0
    assert states(run) == [RESUMING]


def test_resumed_runs_start_one_after_another_within_the_configured_span() -> None:
    quota = used_up(spread_seconds=10)
    runs = [paused(quota, now=NOW + number * SECOND) for number in range(5)]
    come_back(quota, now=NOW + MINUTE)
    dues = [now_is(run).due_at for run in runs]
    assert dues == [NOW + MINUTE + offset * SECOND for offset in (0, 2, 4, 6, 8)]


def test_without_a_span_they_are_due_at_once() -> None:
    quota = used_up(spread_seconds=0)
    runs = [paused(quota) for _ in range(3)]
    come_back(quota)
    assert {now_is(run).due_at for run in runs} == {NOW}


# --- what it was admitted for ----------------------------------------------------------------------------------------


def test_what_a_run_was_admitted_for_is_kept_for_it_until_it_charges() -> None:
    quota = used_up(100)
    run = paused(quota, 20)
    come_back(quota, 30)
    assert refusal(quota, 11).available == 10
    begun(run)
    charging.charge(quota.key, 20, now=NOW, owner=f"run:{run.pk}", attempt=2)
    assert (admitted(run), quota_now(quota).reserved, quota_now(quota).used) == (0, 0, 120)
    audit()


def test_what_nobody_used_by_the_deadline_is_free_again() -> None:
    quota = used_up(100)
    run = paused(quota, 20)
    come_back(quota, 30)
    deadline = now_is(run).deadline_at
    assert deadline is not None
    assert reserving.free_expired(now=deadline) == 0
    assert reserving.free_expired(now=deadline + 2 * MINUTE) == 1
    assert Reservation.objects.get().state == ReservationState.EXPIRED


def test_the_effective_parameters_are_kept_over_a_pause() -> None:
    """B9b: what the run was launched with, and not what its schedule says by now."""
    quota = used_up(now=database_now())
    seen: list[tuple[object, object]] = []

    def job(run: RunContext) -> None:
        seen.append((run.params, run.stat_date))
        run.charge(quota.key)

    fields = {"params": {"limit": 7}, "retry_delays": [5], "timeout_seconds": 30, "priority": 3, "quota_need": 2}
    with floor(job) as worker:
        schedule = make_schedule(job=worker.job, params={"limit": 7})
        run = worker.execute(worker.open(schedule=schedule, **fields))
        type(schedule).objects.update(params={"limit": 99}, timeout_seconds=1, priority=0)
        charging.set_limit(quota.key, 1000, now=database_now())
        take_edges(now=database_now())
        done = worker.execute(run)
    assert done.state == RunState.DONE
    assert seen[0] == seen[1]
    assert {name: getattr(done, name) for name in fields} == fields
    assert Attempt.objects.filter(run=run).count() == 2


# --- providers -------------------------------------------------------------------------------------------------------


def test_after_a_providers_reset_one_run_tries_and_the_others_wait() -> None:
    """B74."""
    quota = make_quota(100, kind=Kind.CAPACITY)
    block(quota, NOW + HOUR)
    runs = [paused(quota, now=NOW + number * SECOND) for number in range(3)]
    later = NOW + HOUR
    scans.evaluate_due(now=later)
    assert quota_now(quota).provider_unverified
    assert take_edges(now=later) == resume(quota.pk, POLL, now=later) == 0
    trial = Resumption(EventTrigger.QUOTA_EDGE, "This run tries.", trial=True)
    assert resume(quota.pk, trial, now=later) == 1
    assert states(*runs) == [RESUMING, PAUSED, PAUSED]
    assert quota_now(quota).trial_owner == f"run:{runs[0].pk}"


def test_of_a_day_long_wait_nothing_depends_on_the_broker() -> None:
    """B9g: due times are columns."""
    quota = used_up()
    run = paused(quota)
    assert now_is(run).due_at is None
    scans.evaluate_due(now=NOW + 3 * DAY)
    assert take_edges(now=NOW + 3 * DAY) == 1
