"""A stored next run that is no longer right is corrected; what is due already is left to firing."""

from datetime import datetime, timedelta

import pytest

from scheduler import firing
from scheduler.models import Schedule
from scheduler.replanning import replan
from tests.races.helpers import run_before
from tests.scheduler.factories import HOUR, MINUTE, NOW, fires_of, make_schedule

pytestmark = pytest.mark.django_db


def stored(schedule: Schedule) -> datetime | None:
    return Schedule.objects.values_list("next_run_at", flat=True).get(pk=schedule.pk)


@pytest.mark.parametrize("drift", [-HOUR, HOUR], ids=["an hour early", "an hour late"])
def test_after_a_change_of_a_zones_rules_the_next_run_is_what_the_trigger_says_now(drift: timedelta) -> None:
    """B82: next_run_at was stored, then the rules of the zone changed."""
    schedule = make_schedule()
    right = schedule.as_trigger().next_after(NOW)
    assert right is not None
    assert right + drift > NOW
    Schedule.objects.filter(pk=schedule.pk).update(next_run_at=right + drift)

    assert replan(now=NOW) == 1

    assert stored(schedule) == right
    after = Schedule.objects.get(pk=schedule.pk)
    assert (after.version, after.updated_at) == (schedule.version, schedule.updated_at)


def test_a_clock_that_had_jumped_a_year_ahead_leaves_no_schedule_waiting_for_a_year() -> None:
    schedule = make_schedule(due=NOW)
    firing.fire_all_due(now=NOW + timedelta(days=365))

    assert replan(now=NOW + MINUTE) == 1

    assert stored(schedule) == schedule.as_trigger().next_after(NOW + MINUTE)


def test_what_is_right_is_not_touched() -> None:
    make_schedule()
    make_schedule(name="each minute", cron="* * * * *")
    firing.fire_all_due(now=NOW + HOUR)
    assert replan(now=NOW + HOUR) == 0


@pytest.mark.parametrize("due", [NOW - MINUTE, NOW])
def test_what_is_due_already_is_left_to_firing(due: datetime) -> None:
    schedule = make_schedule(due=due)
    assert replan(now=NOW) == 0
    assert stored(schedule) == due


def test_a_paused_schedule_keeps_what_tells_how_much_was_left_out() -> None:
    schedule = make_schedule(due=NOW + MINUTE, enabled=False)
    assert replan(now=NOW) == 0
    assert stored(schedule) == NOW + MINUTE


def test_a_trigger_that_cannot_be_read_stops_no_other() -> None:
    broken, wrong = make_schedule(name="broken"), make_schedule(name="wrong")
    Schedule.objects.filter(pk=broken.pk).update(timezone="Europe/Atlantis")
    Schedule.objects.filter(pk=wrong.pk).update(next_run_at=NOW + 400 * HOUR)
    assert replan(now=NOW) == 1
    assert stored(wrong) == wrong.as_trigger().next_after(NOW)
    assert fires_of(broken) == []


def test_a_schedule_that_is_edited_meanwhile_keeps_what_the_edit_planned() -> None:
    schedule = make_schedule()
    Schedule.objects.filter(pk=schedule.pk).update(next_run_at=NOW + 400 * HOUR)

    def edit() -> None:
        Schedule.objects.filter(pk=schedule.pk).update(next_run_at=NOW + 2 * MINUTE, version=9)

    with run_before("scheduler.models.Schedule.as_trigger", edit, elsewhere=False):
        assert replan(now=NOW) == 0
    assert stored(schedule) == NOW + 2 * MINUTE
