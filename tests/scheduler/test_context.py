"""What a job is given: its checkpoint is fenced by the lease, and it goes on where it was."""

import uuid
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from django.db import DataError

from project.kit.clock import database_now
from scheduler import operations
from scheduler.identity import SharedSignals
from scheduler.jobs.interrupts import Cancelled, Deferred, LeaseLost, Stopping
from scheduler.models import TaskRun
from scheduler.states import RunState
from tests.scheduler.executions import in_job, running
from tests.scheduler.factories import HOUR, SECOND, row

pytestmark = pytest.mark.django_db


def lose(run: TaskRun, **changes: Any) -> None:
    """Change the row behind the job's back."""
    TaskRun.objects.filter(pk=run.pk).update(**changes)


# --- checkpoint ---------------------------------------------------------------------------------------------------


def test_a_checkpoint_saves_its_values_and_the_bar() -> None:
    run = running()
    context = in_job(run)
    context.checkpoint(page=1, done=1, total=9)
    context.checkpoint(account="a")
    context.checkpoint(page=2, done=2)
    run.refresh_from_db()
    assert (run.progress, run.progress_done, run.progress_total) == ({"page": 2, "account": "a"}, 2, 9)
    assert (context.progress, context.done, context.total) == ({"page": 2, "account": "a"}, 2, 9)
    assert run.checkpoint_at is not None


def test_a_checkpoint_without_values_keeps_what_was_there() -> None:
    run = running(progress={"page": 7}, progress_done=7, progress_total=9)
    in_job(run).checkpoint()
    run.refresh_from_db()
    assert (run.progress, run.progress_done, run.progress_total) == ({"page": 7}, 7, 9)


def test_a_checkpoint_proves_that_the_run_gets_on() -> None:
    """The count of workers lost in a row starts again."""
    run = running(interruption_count=4)
    in_job(run).checkpoint()
    run.refresh_from_db()
    assert run.interruption_count == 0


@pytest.mark.parametrize("name", ["self", "run", "cursor", "values", "progress"])
def test_a_checkpoint_may_use_any_name(name: str) -> None:
    run = running()
    in_job(run).checkpoint(**{name: 1})
    run.refresh_from_db()
    assert run.progress == {name: 1}


VALUES = {
    "day": (date(2026, 6, 1), "2026-06-01"),
    "at": (datetime(2026, 6, 1, 12, tzinfo=UTC), "2026-06-01T12:00:00Z"),
    "card": (uuid.UUID(int=7), "00000000-0000-0000-0000-000000000007"),
    "price": (Decimal("1.50"), "1.50"),
    "pair": ((1, 2), [1, 2]),
    "nothing": (None, None),
    "text": ("naïve 数据 🙂", "naïve 数据 🙂"),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_is_seen_at_once_as_the_next_attempt_will_see_it(name: str) -> None:
    given: Any
    given, stored = VALUES[name]
    run = running()
    context = in_job(run)
    context.checkpoint(**{name: given})
    run.refresh_from_db()
    assert run.progress[name] == context.progress[name] == stored


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("value", [{1, 2}, object(), float("nan"), "a\x00b"], ids=lambda one: repr(one)[:7])
def test_a_value_that_is_no_json_is_refused_and_nothing_is_saved(value: object) -> None:
    run = running(progress={"page": 7})
    context = in_job(run)
    values: dict[str, Any] = {"page": value}
    with pytest.raises((TypeError, DataError)):
        context.checkpoint(**values)
    run.refresh_from_db()
    assert run.progress == context.progress == {"page": 7}


# --- the fence ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"lease_token": 2},
        {"lease_token": 2, "lease_owner": "another"},
        {"state": RunState.PENDING, "due_at": datetime(2026, 6, 1, tzinfo=UTC), "lease_expires_at": None},
        {"state": RunState.DONE, "finished_at": datetime(2026, 6, 1, tzinfo=UTC), "lease_expires_at": None},
        {"state": RunState.SUSPENDED, "lease_expires_at": None},
    ],
    ids=str,
)
def test_a_checkpoint_of_a_worker_whose_lease_is_gone_saves_nothing_and_says_so(changes: dict[str, Any]) -> None:
    run = running(progress={"page": 7})
    context = in_job(run)
    lose(run, **changes)
    before = row(run)
    with pytest.raises(LeaseLost):
        context.checkpoint(page=8)
    assert row(run) == before
    assert context.progress == {"page": 7}


@pytest.mark.parametrize(("left", "holds"), [(HOUR, True), (SECOND * 20, True), (0 * SECOND, False), (-SECOND, False)])
def test_a_lease_holds_until_its_end_by_the_clock_of_the_database(left: Any, holds: bool) -> None:
    run = running()
    lose(run, lease_expires_at=database_now() + left)
    if holds:
        in_job(run).checkpoint(page=1)
    else:
        with pytest.raises(LeaseLost):
            in_job(run).checkpoint(page=1)


def test_a_checkpoint_of_a_cancelled_run_saves_nothing_and_says_so() -> None:
    run = running(progress={"page": 7})
    operations.cancel(run, now=database_now(), actor="ann")
    with pytest.raises(Cancelled):
        in_job(run).checkpoint(page=8)
    run.refresh_from_db()
    assert run.progress == {"page": 7}


def test_a_run_that_is_cancelled_elsewhere_after_its_lease_was_lost_is_lost_here() -> None:
    run = running()
    context = in_job(run)
    lose(run, lease_token=2)
    operations.cancel(run, now=database_now(), actor="ann")
    with pytest.raises(LeaseLost):
        context.checkpoint(page=8)


def test_a_checkpoint_while_the_worker_stops_is_saved_first() -> None:
    run, signals = running(), SharedSignals()
    context = in_job(run, signals)
    signals.stop()
    with pytest.raises(Stopping):
        context.checkpoint(page=8, done=8)
    run.refresh_from_db()
    assert (run.progress, run.progress_done) == ({"page": 8}, 8)


# --- what the world wants of it -----------------------------------------------------------------------------------


def test_a_job_asks_at_most_once_a_second_whether_it_is_cancelled(
    clock: list[float], django_assert_num_queries: Any
) -> None:
    run = running()
    context = in_job(run)
    with django_assert_num_queries(1):
        assert [context.cancelled for _ in range(5)] == [False] * 5
    operations.cancel(run, now=database_now(), actor="ann")
    clock[0] += 0.999
    assert not context.cancelled
    clock[0] += 0.002
    assert context.cancelled


@pytest.mark.parametrize("changes", [{"lease_token": 2}, {"state": RunState.SUSPENDED, "lease_expires_at": None}])
def test_a_job_whose_run_was_taken_over_counts_as_cancelled_and_hears_that_its_lease_is_lost(
    changes: dict[str, Any],
) -> None:
    run = running()
    context = in_job(run)
    lose(run, **changes)
    assert context.cancelled
    with pytest.raises(LeaseLost):
        context.raise_if_interrupted()


def test_a_job_whose_leases_ran_out_without_the_database_counts_as_cancelled() -> None:
    signals = SharedSignals()
    context = in_job(running(), signals)
    assert not context.cancelled
    signals.leases_hold_until(float("-inf"))
    assert context.cancelled


def test_a_job_that_waits_is_told_to_give_way() -> None:
    signals = SharedSignals()
    run = running()
    context = in_job(run, signals)
    context.raise_if_interrupted()
    signals.stop()
    assert context.stopping
    with pytest.raises(Stopping):
        context.raise_if_interrupted()
    operations.cancel(run, now=database_now(), actor="ann")
    with pytest.raises(Cancelled):
        in_job(run, signals).raise_if_interrupted()


# --- what it says -------------------------------------------------------------------------------------------------


def test_a_log_is_a_line_of_the_output() -> None:
    context = in_job(running())
    context.log("one")
    context.log("two")
    assert context.output.text == "one\ntwo\n"


@pytest.mark.parametrize(
    "when", [{"seconds": 0}, {"seconds": 1.5}, {"until": datetime(2026, 6, 1, tzinfo=UTC)}], ids=str
)
def test_a_job_puts_itself_off_by_a_span_or_to_an_instant(when: dict[str, Any]) -> None:
    with pytest.raises(Deferred) as deferral:
        in_job(running()).defer(**when, reason="not yet")
    assert {name: getattr(deferral.value, name) for name in when} == when
    assert deferral.value.reason == "not yet"


@pytest.mark.parametrize(
    "when",
    [
        {},
        {"seconds": 1, "until": datetime(2026, 6, 1, tzinfo=UTC)},
        {"until": datetime(2026, 6, 1)},  # noqa: DTZ001 - that is the mistake
        {"seconds": -1},
        {"seconds": float("nan")},
        {"seconds": float("inf")},
        {"seconds": 1e12},
    ],
    ids=str,
)
def test_a_deferral_that_cannot_be_waited_for_is_refused_where_the_job_asks_for_it(when: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"^defer\("):
        in_job(running()).defer(**when, reason="not yet")


def test_a_run_has_a_key_of_its_own_that_stays_over_its_attempts() -> None:
    run, other = running(), running()
    key = in_job(run).key
    run.attempt_count, run.lease_token = 5, 9
    assert in_job(run).key == key
    assert in_job(other).key != key
