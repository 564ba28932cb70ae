"""Which runs, fires, backfills and reservations go, and which stay whatever their age."""

from datetime import datetime
from typing import Any

import pytest

from alerts.recording import raise_alert, resolve_alert
from project.kit.pruning import count, prune
from quotas.models import Reservation
from quotas.states import ReservationState
from scheduler import pruning, sealing
from scheduler.firing import fire_due
from scheduler.models import Approval, Attempt, Backfill, Fire, RunEvent, Schedule, TaskRun
from scheduler.states import FireKind, FireOutcome, RunState
from scheduler.waits import owner_of
from tests.alerts.factories import problem
from tests.quotas.factories import make_quota
from tests.scheduler.factories import DAY, HOUR, MINUTE, NOW, SECOND, fires_of, make_run, make_schedule

pytestmark = pytest.mark.django_db

RUNS, FIRES, BACKFILLS, RESERVATIONS = pruning.KINDS
OLD, LIMIT = NOW - 100 * DAY, NOW - 90 * DAY


def make_ended(state: RunState = RunState.DONE, *, now: datetime = OLD, **fields: Any) -> TaskRun:
    """Insert a run that ended and was sealed."""
    run = make_run(state, now=now, ended=True, **fields)
    sealing.seal_ended()
    return run


def make_fire(schedule: Schedule, fire_at: datetime = OLD, **fields: Any) -> Fire:
    """Insert a planned fire of which no run is left."""
    values = {"kind": FireKind.SCHEDULED, "outcome": FireOutcome.STARTED, "recorded_at": fire_at} | fields
    return Fire.objects.create(schedule=schedule, fire_at=fire_at, **values)


def goes(kind: Any = RUNS) -> int:
    """Prune, and return how many rows went; it is as many as were foretold."""
    expected = count(kind, before=LIMIT)
    assert sum(prune(kind, before=LIMIT)) == expected
    return expected


# --- runs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", [RunState.DONE, RunState.FAILED, RunState.CANCELLED])
def test_an_old_run_that_ended_goes_with_all_that_belongs_to_it(state: RunState) -> None:
    run = make_ended(state)
    Approval.objects.create(run=run, segment=1, question="Go on?", asked_at=OLD)
    assert goes() == 1
    assert [rows.objects.count() for rows in (TaskRun, Attempt, RunEvent, Approval)] == [0, 0, 0, 0]


@pytest.mark.parametrize("state", sorted(set(RunState) - {RunState.DONE, RunState.CANCELLED}))
def test_a_run_that_has_not_ended_stays_whatever_its_age(state: RunState) -> None:
    make_run(state, now=OLD)
    assert goes() == 0


def test_a_young_run_stays() -> None:
    make_ended(now=LIMIT + SECOND)
    assert goes() == 0


def test_a_run_without_its_seal_stays_until_it_has_it() -> None:
    make_run(RunState.DONE, now=OLD)
    assert goes() == 0
    sealing.seal_ended()
    assert goes() == 1


def test_the_newest_run_of_a_schedule_stays() -> None:
    schedule = make_schedule()
    _, newest = make_ended(schedule=schedule), make_ended(schedule=schedule)
    assert goes() == 1
    assert TaskRun.objects.get() == newest


def test_what_is_left_can_still_be_verified() -> None:
    schedule = make_schedule()
    _, newest = make_ended(schedule=schedule), make_ended(schedule=schedule)
    goes()
    assert sealing.verify(newest.pk)


def test_a_run_that_was_run_again_stays_as_long_as_that_one() -> None:
    first = make_ended(RunState.FAILED)
    again = make_ended(rerun_of=first)
    make_run(rerun_of=again)
    assert goes() == 0


def test_a_run_of_a_backfill_stays_until_the_backfill_is_over() -> None:
    schedule = make_schedule()
    backfill = make_backfill(schedule)
    make_ended(schedule=schedule, backfill=backfill)
    going = make_run(schedule=schedule, backfill=backfill, now=OLD)
    make_ended(schedule=schedule)
    assert goes() == 0
    going.delete()
    assert goes() == 1


def test_a_run_stays_while_an_alert_about_it_is_open() -> None:
    run = make_ended(RunState.FAILED)
    raise_alert(problem("failed", subject=owner_of(run.pk)), now=OLD)
    assert goes() == 0
    resolve_alert("failed", now=NOW)
    assert goes() == 1


def test_a_run_stays_that_may_be_the_work_its_schedule_is_behind_with() -> None:
    schedule = make_schedule(due=OLD - HOUR)
    make_ended(schedule=schedule), make_ended(schedule=schedule)
    assert goes() == 0


# --- fires -----------------------------------------------------------------------------------------------------


def test_an_old_fire_goes_but_the_latest_planned_one_of_its_schedule() -> None:
    schedule = make_schedule()
    make_fire(schedule), make_fire(schedule, OLD + DAY)
    make_fire(schedule, OLD + 2 * DAY, kind=FireKind.MANUAL)
    assert goes(FIRES) == 1
    assert [fire_at for fire_at, _, _ in fires_of(schedule)] == [OLD + DAY, OLD + 2 * DAY]


def test_a_fire_goes_only_after_its_run() -> None:
    schedule = make_schedule()
    first, second = make_fire(schedule), make_fire(schedule, OLD + DAY)
    make_ended(schedule=schedule, fire=first), make_ended(schedule=schedule, fire=second)
    assert goes(FIRES) == 0
    assert (goes(RUNS), goes(FIRES)) == (1, 1)


def test_a_skip_stays_while_its_last_instant_is_young() -> None:
    schedule = make_schedule()
    span = {"missed_from": OLD, "missed_until": LIMIT, "reason": "missed", "outcome": FireOutcome.SKIPPED_MISFIRE}
    make_fire(schedule, kind=FireKind.MISFIRE, **span), make_fire(schedule, NOW)
    assert goes(FIRES) == 0


@pytest.mark.parametrize("set_back_to", [OLD - DAY, OLD])
def test_a_fire_stays_while_its_schedule_is_set_back_to_it(set_back_to: datetime) -> None:
    schedule = make_schedule(due=set_back_to)
    make_fire(schedule), make_fire(schedule, NOW)
    assert goes(FIRES) == 0


def test_no_instant_fires_again_when_a_schedule_is_set_back_after_its_fires_went() -> None:
    start = OLD.replace(hour=2)
    schedule = make_schedule(due=start, misfire_grace_seconds=365 * 86_400)
    for number in range(3):
        fire_due(now=start + number * DAY)
    TaskRun.objects.update(due_at=None, state=RunState.CANCELLED, finished_at=start + 2 * DAY)
    sealing.seal_ended()
    assert (goes(RUNS), goes(FIRES)) == (2, 2)

    Schedule.objects.filter(pk=schedule.pk).update(next_run_at=start)
    fire_due(now=start + 2 * DAY + MINUTE)
    assert TaskRun.objects.count() == 1
    assert [outcome for _, _, outcome in fires_of(schedule)] == [FireOutcome.SKIPPED_MISFIRE, FireOutcome.STARTED]


# --- backfills, reservations -----------------------------------------------------------------------------------


def make_backfill(schedule: Schedule) -> Backfill:
    """Insert an old backfill without runs."""
    day = OLD.date()
    return Backfill.objects.create(schedule=schedule, first_day=day, last_day=day, created_at=OLD, created_by="ada")


def test_a_backfill_goes_when_none_of_its_runs_is_left() -> None:
    schedule = make_schedule()
    make_ended(schedule=schedule, backfill=make_backfill(schedule)), make_ended(schedule=schedule)
    assert goes(BACKFILLS) == 0
    assert (goes(RUNS), goes(BACKFILLS)) == (1, 1)


def make_reservation(owner: str = "", **fields: Any) -> Reservation:
    """Insert a reservation that has ended."""
    values = {"state": ReservationState.SETTLED, "ended_at": OLD} | fields
    return Reservation.objects.create(
        quota=make_quota(),
        idempotency_key=owner,
        amount=1,
        owner=owner,
        lease_seconds=60,
        expires_at=OLD,
        created_at=OLD,
        **values,
    )


def test_an_old_reservation_that_ended_goes() -> None:
    make_reservation(owner_of(make_ended().pk)), make_reservation("somebody else")
    assert goes(RESERVATIONS) == 2


def test_a_reservation_that_is_held_stays_and_so_does_a_young_one() -> None:
    make_reservation(state=ReservationState.HELD, ended_at=None), make_reservation(ended_at=LIMIT)
    assert goes(RESERVATIONS) == 0


def test_a_reservation_stays_while_its_run_may_ask_for_it_again() -> None:
    make_reservation(owner_of(make_run(RunState.PAUSED, now=OLD).pk))
    assert goes(RESERVATIONS) == 0
