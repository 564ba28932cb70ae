"""Paused runs go on once, by one entry for all triggers, and nobody goes on who is held, delayed or cancelled."""

from collections.abc import Callable
from datetime import time, timedelta
from typing import Any

import pytest
from django.db import transaction

from project.kit.clock import database_now
from quotas import charging, scans
from quotas.models import Edge
from scheduler import operations, resuming, running
from scheduler.models import QuotaWait, TaskRun
from scheduler.operations import NotPossible, Resumed
from scheduler.resuming import Resumption, resume, take_edges
from scheduler.states import EventTrigger, RunState
from tests.quotas.factories import audit, change_row, spend
from tests.quotas.factories import now_is as quota_now
from tests.races.helpers import run_after
from tests.scheduler.factories import (
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
    come_back,
    delayed,
    held,
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


def test_an_edge_is_handled_once_and_says_how_many_it_resumed(django_assert_num_queries: Any) -> None:
    quota = used_up()
    for _ in range(3):
        paused(quota)
    assert come_back(quota) == 3
    with django_assert_num_queries(1):  # looks for others and does nothing
        assert take_edges(now=NOW) == 0
    edge = Edge.objects.get()
    assert (edge.handled_at, edge.resumed_count) == (NOW, 3)


def test_an_edge_leaves_what_an_earlier_one_says_as_it_is() -> None:
    quota = used_up()
    paused(quota)
    assert come_back(quota, 50) == 1
    spend(quota, 49)
    paused(quota, now=NOW + MINUTE)
    assert come_back(quota, now=NOW + MINUTE) == 1
    assert [(edge.handled_at, edge.resumed_count) for edge in Edge.objects.all()] == [(NOW + MINUTE, 1), (NOW, 1)]


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


# --- who does not go on ----------------------------------------------------------------------------------------------


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


def test_a_run_waits_while_a_younger_one_of_its_key_is_at_work() -> None:
    schedule, quota = make_schedule(), used_up()
    run = paused(quota, schedule=schedule)
    make_run(RunState.RUNNING, schedule=schedule)
    assert come_back(quota) == 0
    assert states(run) == [PAUSED]


def test_a_run_waits_until_the_older_ones_of_its_key_have_ended() -> None:
    schedule, quota = make_schedule(), used_up()
    older, younger = (paused(quota, schedule=schedule) for _ in range(2))
    assert come_back(quota) == 1
    assert states(older, younger) == [RESUMING, PAUSED]
    assert operations.cancel(older, now=NOW, actor="ann")
    assert resume(quota.pk, POLL, now=NOW) == 1
    assert states(younger) == [RESUMING]


def test_a_run_that_has_come_to_wait_for_a_further_quota_meanwhile_is_left_to_the_next_look() -> None:
    quota, further = used_up(), used_up()
    run = paused(quota)
    wait = QuotaWait(run=run, quota=further, amount=1, since=NOW)
    charging.set_limit(quota.key, 1000, now=NOW)
    with run_after("scheduler.resuming.chains_of", wait.save, elsewhere=False):
        assert resume(quota.pk, POLL, now=NOW) == 0
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
