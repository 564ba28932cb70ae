"""Fires are written once, and each is given its number."""

from datetime import datetime

import pytest

from scheduler.fires import NewFire, insert_fires
from scheduler.models import Fire, Schedule
from scheduler.states import FireKind, FireOutcome
from tests.scheduler.factories import HOUR, MINUTE, NOW, make_schedule

pytestmark = pytest.mark.django_db


def a_fire(schedule: Schedule, fire_at: datetime) -> NewFire:
    """Return a fire that starts a run on time."""
    return NewFire(schedule, fire_at, FireKind.SCHEDULED, FireOutcome.STARTED, NOW)


def test_of_fires_that_come_together_each_is_given_its_own_number() -> None:
    schedules = [make_schedule(name=name) for name in ("first", "second")]
    instants = [NOW + HOUR, NOW, NOW + MINUTE]
    fires = [a_fire(schedule, instant) for instant in instants for schedule in schedules]
    assert insert_fires(fires) == fires
    rows = Fire.objects.in_bulk([fire.id for fire in fires])
    assert [(rows[fire.id].schedule, rows[fire.id].fire_at) for fire in fires if fire.id] == [
        (fire.schedule, fire.fire_at) for fire in fires
    ]


def test_an_instant_that_is_recorded_already_is_given_no_number_and_takes_none_from_those_beside_it() -> None:
    schedule = make_schedule()
    insert_fires([a_fire(schedule, NOW)])
    before, again, after = (a_fire(schedule, instant) for instant in (NOW - HOUR, NOW, NOW + HOUR))
    assert insert_fires([before, again, after]) == [before, after]
    assert again.id is None
    assert [Fire.objects.get(pk=fire.id).fire_at for fire in (before, after)] == [NOW - HOUR, NOW + HOUR]
