"""A run that waits is handed to another day."""

from datetime import datetime

import pytest

from scheduler import operations, running
from scheduler.models import RunEvent, TaskRun
from scheduler.operations import NotPossible, putting_off
from scheduler.states import RunState
from tests.scheduler.factories import DAY, HOUR, NOW, WORKER, events_of, launched, make_run

pytestmark = pytest.mark.django_db

TOMORROW = NOW + DAY
BECOMES = {
    RunState.PENDING: RunState.DEFERRED,
    RunState.FAILED: RunState.DEFERRED,
    RunState.DEFERRED: RunState.PENDING,
    RunState.SUSPENDED: RunState.PENDING,
}


@pytest.mark.parametrize("state", BECOMES)
def test_a_run_that_waits_is_due_on_the_other_day_for_its_own_data_day_and_with_its_checkpoint(state: RunState) -> None:
    run = make_run(state, progress={"item": 7})
    putting_off.put_off(run, TOMORROW, now=NOW, actor="ann", reason="the upstream is closed today")
    after = TaskRun.objects.get(pk=run.pk)
    assert (after.state, after.due_at, after.reason) == (BECOMES[state], TOMORROW, "the upstream is closed today")
    assert (after.stat_date, after.planned_at, after.progress) == (run.stat_date, run.planned_at, {"item": 7})
    assert events_of(run)[-1] == (state, BECOMES[state], "manual")
    assert RunEvent.objects.filter(run=run).latest("id").actor == "ann"


def test_a_run_is_put_off_again_and_again() -> None:
    run = make_run()
    for days in (1, 2, 3):
        putting_off.put_off(run, NOW + days * DAY, now=NOW, actor="ann")
        assert TaskRun.objects.get(pk=run.pk).due_at == NOW + days * DAY
    assert len(events_of(run)) == 4


def test_a_hint_that_is_on_its_way_begins_nothing_that_was_put_off() -> None:
    run = make_run()
    hint = launched(run)
    putting_off.put_off(run, TOMORROW, now=NOW, actor="ann")
    assert running.begin(hint, WORKER, now=NOW) is None


@pytest.mark.parametrize("state", sorted(set(RunState) - set(BECOMES)))
def test_a_run_that_does_not_wait_for_its_time_is_not_put_off(state: RunState) -> None:
    run = make_run(RunState(state))
    with pytest.raises(NotPossible, match="does not wait any more"):
        putting_off.put_off(run, TOMORROW, now=NOW, actor="ann")
    assert TaskRun.objects.get(pk=run.pk).state == state


def test_a_failed_run_without_a_retry_has_ended_and_is_not_put_off() -> None:
    run = make_run(RunState.FAILED, ended=True)
    with pytest.raises(NotPossible):
        putting_off.put_off(run, TOMORROW, now=NOW, actor="ann")


def test_a_cancel_wins_over_a_putting_off() -> None:
    run = make_run(RunState.PENDING, cancel_requested_at=NOW, cancel_requested_by="ada")
    with pytest.raises(NotPossible):
        putting_off.put_off(run, TOMORROW, now=NOW, actor="ann")


@pytest.mark.parametrize(
    ("until", "sentence"), [(NOW, "still to come"), (NOW - HOUR, "still to come"), (NOW + 400 * DAY, "within a year")]
)
def test_a_time_that_has_passed_or_is_too_far_away_is_refused(until: datetime, sentence: str) -> None:
    run = make_run()
    with pytest.raises(NotPossible, match=sentence):
        putting_off.put_off(run, until, now=NOW, actor="ann")
    assert TaskRun.objects.get(pk=run.pk).due_at == NOW


def test_what_was_put_off_can_be_wanted_now_after_all() -> None:
    run = make_run()
    putting_off.put_off(run, TOMORROW, now=NOW, actor="ann")
    operations.retry_now(run, now=NOW, actor="ann")
    assert TaskRun.objects.get(pk=run.pk).due_at == NOW
