"""Paused runs go on once, by one entry for all triggers: when all their quotas allow it, in their order, spread."""

from collections.abc import Callable
from datetime import datetime, time, timedelta
from typing import Any

import pytest
from django.db import transaction

from project.kit.clock import database_now
from quotas import charging, reserving, scans
from quotas.models import Edge, Quota, Reservation
from quotas.states import Kind, ReservationState
from scheduler import operations, resuming, running
from scheduler.jobs import RunContext
from scheduler.models import Attempt, Pause, RunEvent, TaskRun
from scheduler.operations import NotPossible, Resumed
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
    WORKER,
    events_of,
    launched,
    make_run,
    make_schedule,
    utc,
)
from tests.scheduler.pauses import (
    admitted,
    begun,
    floor,
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

MIDNIGHT = utc("2026-06-02 00:00")
PAUSED, RESUMING = RunState.PAUSED, RunState.RESUMING
POLL = Resumption(EventTrigger.FALLBACK_POLL, "It is back.")


def come_back(quota: Quota, left: int = 1000, *, now: datetime = NOW) -> int:
    """Let so much be left of the quota, and take its edge; return how many runs were resumed."""
    charging.set_limit(quota.key, quota_now(quota).used + left, now=now)
    return take_edges(now=now)


# --- edges -----------------------------------------------------------------------------------------------------------


def test_a_reset_resumes_what_waits_with_its_trigger_its_reason_and_a_deadline() -> None:
    quota = used_up()
    run = paused(quota)
    scans.evaluate_due(now=MIDNIGHT)
    assert take_edges(now=MIDNIGHT) == 1
    run = now_is(run)
    assert (run.state, run.due_at, run.lease_token) == (RESUMING, MIDNIGHT, 2)
    assert run.deadline_at is not None
    assert run.deadline_at > MIDNIGHT
    assert events_of(run)[-1] == (PAUSED, RESUMING, EventTrigger.QUOTA_EDGE)
    assert run.reason == f"The quota “{quota.key}” is back: reset."
    stands = pause_of(run)
    assert (stands.resume_count, stands.last_trigger) == (1, EventTrigger.QUOTA_EDGE)
    assert stands.last_resumed_at == MIDNIGHT


def test_an_edge_is_handled_once_and_says_how_many_it_resumed() -> None:
    quota = used_up()
    for _ in range(3):
        paused(quota)
    assert come_back(quota) == 3
    assert take_edges(now=NOW) == 0
    edge = Edge.objects.get()
    assert (edge.handled_at, edge.resumed_count) == (NOW, 3)


def test_more_than_one_transaction_takes_are_resumed_batch_after_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resuming, "BATCH", 2)
    quota = used_up()
    runs = [paused(quota) for _ in range(5)]
    assert come_back(quota) == 5
    assert states(*runs) == [RESUMING] * 5
    assert Edge.objects.get().resumed_count == 5


def test_a_crash_between_two_batches_leaves_the_edge_for_the_next_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resuming, "BATCH", 2)
    quota = used_up()
    for _ in range(5):
        paused(quota)
    charging.set_limit(quota.key, 1000, now=NOW)
    resuming._resume_batch(quota.pk, POLL, NOW)
    assert Edge.objects.get().handled_at is None
    assert take_edges(now=NOW) == 3
    assert Edge.objects.get().resumed_count == 5


@pytest.mark.django_db(transaction=True)
def test_who_lets_a_quota_come_back_resumes_right_after_his_commit_and_not_before() -> None:
    quota = used_up(now=database_now())
    run = paused(quota, now=database_now())
    with transaction.atomic():
        charging.set_limit(quota.key, 1000, now=database_now())
        assert states(run) == [PAUSED]
    assert states(run) == [RESUMING]


@pytest.mark.django_db(transaction=True)
def test_with_events_off_nothing_is_resumed_on_commit(settings: Any) -> None:
    settings.TIDELINE_QUOTA_EVENTS = False
    quota = used_up(now=database_now())
    run = paused(quota, now=database_now())
    charging.set_limit(quota.key, 1000, now=database_now())
    assert states(run) == [PAUSED]


@pytest.mark.django_db(transaction=True)
def test_an_error_right_after_the_commit_costs_nothing_but_time(monkeypatch: pytest.MonkeyPatch) -> None:
    quota = used_up(now=database_now())
    run = paused(quota, now=database_now())

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as broken:
        broken.setattr(resuming, "resume_by_edge", fail)
        charging.set_limit(quota.key, 1000, now=database_now())
    assert states(run) == [PAUSED]
    assert take_edges(now=database_now()) == 1


def test_a_quota_whose_zone_is_not_known_any_more_holds_up_no_other() -> None:
    broken, fine = used_up(), used_up()
    held, run = paused(broken), paused(fine)
    for quota in (broken, fine):
        charging.set_limit(quota.key, 1000, now=NOW)
    change_row(broken, timezone="Atlantis/Capital", period_end=NOW)
    assert take_edges(now=NOW) == 1
    assert states(held, run) == [PAUSED, RESUMING]


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
    """B56: of a capacity; a period is not kept for what only its reset can meet."""
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


def test_what_stays_behind_goes_on_when_its_need_is_there_though_the_verdict_never_changed() -> None:
    quota = used_up(100)
    run, big = paused(quota, 5), paused(quota, 40)
    assert come_back(quota, 30) == 1
    assert edges_of(quota) == ["limit_change"]
    assert come_back(quota, 60) == 1
    assert states(run, big) == [RESUMING, RESUMING]


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


# --- who does not go on ----------------------------------------------------------------------------------------------


def delayed(run: TaskRun) -> None:
    Pause.objects.filter(run=run).update(not_before=NOW + MINUTE)


def held(run: TaskRun) -> None:
    Pause.objects.filter(run=run).update(held=Pause.Held.AGREEMENT)


def to_be_cancelled(run: TaskRun) -> None:
    TaskRun.objects.filter(pk=run.pk).update(cancel_requested_at=NOW)


def cancelled(run: TaskRun) -> None:
    operations.cancel(run, now=NOW, actor="ann")


@pytest.mark.parametrize("hindered", [delayed, held, to_be_cancelled, cancelled])
def test_an_edge_passes_by_what_is_delayed_held_or_cancelled(hindered: Callable[[TaskRun], None]) -> None:
    """B2, B9e."""
    quota = used_up(10)
    run, other = paused(quota, 10), paused(quota, 10)
    hindered(run)
    assert come_back(quota, 10) == 1
    assert (resumed_times(run), resumed_times(other)) == (0, 1)


def test_more_runs_that_are_to_be_cancelled_than_a_batch_takes_stop_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resuming, "BATCH", 2)
    quota = used_up()
    for _ in range(3):
        to_be_cancelled(paused(quota))
    run = paused(quota)
    assert come_back(quota) == 1
    assert states(run) == [RESUMING]


def test_one_that_is_cancelled_amid_a_full_batch_does_not_end_the_resuming(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resuming, "BATCH", 2)
    quota = used_up()
    runs = [paused(quota, now=NOW + number * SECOND) for number in range(4)]
    original = resuming._move

    def cancelling(*args: Any) -> Any:
        TaskRun.objects.filter(pk=runs[0].pk).update(cancel_requested_at=NOW)
        return original(*args)

    monkeypatch.setattr(resuming, "_move", cancelling)
    assert come_back(quota, now=NOW + MINUTE) == 3
    assert states(*runs) == [PAUSED] + [RESUMING] * 3


def test_quiet_hours_put_the_resumption_off_to_their_end() -> None:
    quota = used_up()
    schedule = make_schedule(quiet_from=time(11, 0), quiet_until=time(13, 30))
    run = paused(quota, schedule=schedule)
    assert come_back(quota) == 0
    assert pause_of(run).not_before == NOW + timedelta(minutes=90)


def test_resuming_does_not_depend_on_whether_the_schedule_takes_new_work() -> None:
    """B7."""
    quota = used_up()
    run = paused(quota, schedule=make_schedule(enabled=False))
    assert come_back(quota) == 1
    assert states(run) == [RESUMING]


def test_a_run_whose_key_another_run_has_waits_for_its_end() -> None:
    quota = used_up()
    schedule = make_schedule(overlap="queue")
    first = make_run(RunState.RUNNING, schedule=schedule)
    run = paused(quota)
    TaskRun.objects.filter(pk=run.pk).update(exclusive_key=first.exclusive_key)
    assert come_back(quota) == 0
    assert states(run) == [PAUSED]


# --- once ------------------------------------------------------------------------------------------------------------


def test_who_comes_second_finds_nothing_left_and_that_is_a_success() -> None:
    """B1, B4."""
    quota = used_up()
    run = paused(quota)
    assert come_back(quota) == 1
    assert [resume(quota.pk, POLL, now=NOW) for _ in range(3)] == [0, 0, 0]
    assert operations.resume(run, now=NOW, actor="ann") == Resumed.ALREADY
    assert (resumed_times(run), now_is(run).lease_token) == (1, 2)


@pytest.mark.parametrize("state", [RunState.RESUMING, RunState.RUNNING, RunState.DONE])
def test_the_button_of_a_stale_page_succeeds_without_doing_anything(state: RunState) -> None:
    """B76."""
    run = make_run(state, pause_count=1)
    assert operations.resume(run, now=NOW, actor="ann") == Resumed.ALREADY
    assert states(run) == [state]


@pytest.mark.parametrize(
    "state", [RunState.CANCELLED, RunState.FAILED, RunState.SUSPENDED, RunState.AWAITING_APPROVAL, RunState.PENDING]
)
def test_what_was_not_paused_or_came_to_another_end_cannot_be_resumed(state: RunState) -> None:
    """B2: an ended row never changes."""
    run = make_run(state)
    with pytest.raises(NotPossible):
        operations.resume(run, now=NOW, actor="ann")
    assert states(run) == [state]


def test_a_hint_of_before_the_pause_begins_nothing() -> None:
    quota = used_up()
    run = make_run(RunState.RUNNING)
    hint = launched(run)
    pause(run, refusal(quota))
    come_back(quota)
    launched(now_is(run))
    assert running.begin(hint, WORKER, now=NOW) is None
    assert states(run) == [RESUMING]


def test_a_cancel_between_resuming_and_running_wins() -> None:
    """B2, B9e."""
    quota = used_up()
    run = paused(quota)
    come_back(quota)
    hint = launched(now_is(run))
    assert operations.cancel(run, now=NOW, actor="ann") is True
    assert running.begin(hint, WORKER, now=NOW) is None
    assert (states(run), admitted(run)) == ([RunState.CANCELLED], 0)
    assert quota_now(quota).reserved == 0
    audit()


# --- a person --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hindered", [delayed, held])
def test_a_person_resumes_what_is_held_or_delayed(hindered: Callable[[TaskRun], None]) -> None:
    quota = used_up()
    run = paused(quota)
    hindered(run)
    assert come_back(quota) == 0
    assert operations.resume(run, now=NOW, actor="ann", reason="the bill is paid") == Resumed.RESUMED
    event = RunEvent.objects.filter(run=run).latest("id")
    assert (event.trigger, event.actor, event.reason) == (EventTrigger.MANUAL, "ann", "the bill is paid")
    assert pause_of(run).held == ""


def test_the_api_is_told_from_a_person() -> None:
    quota = used_up()
    run = paused(quota)
    held(run)
    come_back(quota)
    operations.resume(run, now=NOW, actor="ann", trigger=EventTrigger.API)
    assert events_of(run)[-1][2] == EventTrigger.API
    assert pause_of(run).last_trigger == EventTrigger.API


def test_a_person_cannot_resume_what_the_quota_still_refuses_but_nothing_else_holds_it_any_more() -> None:
    quota = used_up()
    run = paused(quota)
    held(run)
    assert operations.resume(run, now=NOW, actor="ann") == Resumed.WAITS
    assert come_back(quota) == 1


def test_what_a_person_released_goes_on_when_its_need_comes_though_the_verdict_never_changes() -> None:
    quota = used_up(100)
    run = paused(quota, 50)
    held(run)
    come_back(quota, 30)
    assert operations.resume(run, now=NOW, actor="ann") == Resumed.WAITS
    assert come_back(quota, 60) == 1


def test_a_person_who_resumes_one_run_leaves_the_edge_to_the_others() -> None:
    quota = used_up()
    runs = [paused(quota) for _ in range(3)]
    charging.set_limit(quota.key, 1000, now=NOW)
    assert operations.resume(runs[1], now=NOW, actor="ann") == Resumed.RESUMED
    assert take_edges(now=NOW) == 2


def test_the_setbacks_of_a_run_that_a_person_resumed_begin_anew() -> None:
    quota = used_up()
    run = paused(quota)
    Pause.objects.filter(run=run).update(setbacks=5, held=Pause.Held.SETBACKS)
    operations.resume(run, now=NOW, actor="ann")
    assert (pause_of(run).setbacks, pause_of(run).held) == (0, "")


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
