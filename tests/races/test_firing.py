"""Several schedulers at once, and a scheduler that dies amid its work."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta

import pytest

from scheduler import schedules
from scheduler.firing import Fired, fire_all_due, fire_due
from scheduler.models import Fire, RunEvent, Schedule, TaskRun
from tests.races.helpers import Background, all_at_once, in_the_background, run_after, run_before, winner_holding
from tests.scheduler.factories import DAY, MINUTE, SECOND, fires_of, make_schedule, planned, utc

pytestmark = pytest.mark.django_db(transaction=True)

TWO = utc("2026-06-02 02:00")
Hook = Callable[..., AbstractContextManager[None]]
STEPS = ["_claim_due", "_obstacles", "_fires", "_move_on", "_record"]


class Killed(BaseException):
    """The process ends here."""


def die() -> None:
    """End the process, as far as the transaction can tell."""
    raise Killed


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("hook", [run_before, run_after])
def test_a_scan_that_dies_amid_its_work_leaves_nothing_and_the_next_one_does_all(hook: Hook, step: str) -> None:
    """B26, B7: the next run, the fire and the run stand or fall together.
    B53: what the next scan makes up keeps its planned instant.
    """
    schedule = make_schedule()
    with pytest.raises(Killed), hook(f"scheduler.firing.{step}", die, elsewhere=False):
        fire_due(now=TWO)
    assert Schedule.objects.get(pk=schedule.pk).next_run_at == TWO
    assert (Fire.objects.count(), TaskRun.objects.count(), RunEvent.objects.count()) == (0, 0, 0)

    assert fire_due(now=TWO + MINUTE) == (1, Fired(started=1))
    run = TaskRun.objects.get()
    assert (run.planned_at, run.due_at) == (TWO, TWO + MINUTE)


@pytest.mark.parametrize("step", STEPS)
def test_a_second_scan_at_any_moment_of_the_first_fires_nothing_twice(step: str) -> None:
    """B28, B31: two nodes that look at the same instant."""
    schedules_ = [make_schedule() for _ in range(5)]
    rival: list[tuple[int, Fired]] = []
    with run_before(f"scheduler.firing.{step}", lambda: rival.append(fire_due(now=TWO))):
        mine = fire_due(now=TWO)
    assert [mine[1].started + rival[0][1].started, mine[1].skipped + rival[0][1].skipped] == [5, 0]
    assert all(planned(schedule) == [TWO] for schedule in schedules_)
    assert Fire.objects.count() == 5


def test_two_beats_over_a_hundred_due_schedules_make_a_hundred_fires_and_runs() -> None:
    """B28."""
    for _ in range(100):
        make_schedule()
    fired = all_at_once(*[lambda: fire_all_due(now=TWO, batch=7)] * 3)
    assert sum(one.started for one in fired) == 100
    assert Fire.objects.count() == TaskRun.objects.count() == TaskRun.objects.values("schedule").distinct().count()


def test_a_scan_that_read_the_plan_before_another_moved_it_fires_nothing() -> None:
    """B31: it waits for nobody and finds the row taken or moved on."""
    schedule = make_schedule()
    with winner_holding(schedule):
        assert fire_due(now=TWO) == (0, Fired())
    assert fire_due(now=TWO) == (1, Fired(started=1))


def test_a_schedule_that_somebody_holds_does_not_keep_the_others_waiting() -> None:
    held, free = make_schedule(), make_schedule()
    with winner_holding(held):
        fire_due(now=TWO)
        assert (planned(held), planned(free)) == ([], [TWO])
    fire_due(now=TWO)
    assert planned(held) == [TWO]


def test_an_edit_waits_for_the_scan_and_then_keeps_what_was_fired() -> None:
    """B11, B19: one decision about the due instant, whoever is first."""
    schedule = make_schedule()

    def edit() -> list[str]:
        edited = Schedule.objects.get(pk=schedule.pk)
        edited.cron = "0 2,5 * * *"
        return schedules.save_changes(edited, expected_version=1, now=TWO + SECOND)

    editing: list[Background] = []

    def begin_to_edit() -> None:
        editing.append(Background(edit))
        editing[0].wait_until_it_waits()

    with run_after("scheduler.firing._claim_due", begin_to_edit, elsewhere=False):
        fire_due(now=TWO)
    editing[0].result()
    assert fires_of(schedule) == [(TWO, "scheduled", "started")]
    schedule.refresh_from_db()
    assert (schedule.next_run_at, schedule.version) == (TWO + timedelta(hours=3), 2)


def test_a_pause_that_comes_while_the_schedule_is_claimed_holds_from_the_next_instant_on() -> None:
    schedule = make_schedule()
    with (
        winner_holding(schedule, then=lambda: fire_due(now=TWO)) as go_on,
        in_the_background(lambda: schedules.pause(schedule, now=TWO, reason="")) as pausing,
    ):
        pausing.wait_until_it_waits()
        go_on.set()
        assert pausing.result() is True
    fire_due(now=TWO + DAY)
    assert planned(schedule) == [TWO]
