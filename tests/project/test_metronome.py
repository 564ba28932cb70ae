"""Beat's rows say what project/beat.py says."""

import pytest
from celery import current_app
from django_celery_beat.models import PeriodicTask

from project.beat import SCANS, beat_schedule
from project.metronome import SteadyScheduler

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("name", SCANS)
def test_a_row_holds_the_interval_of_its_scan_to_the_fraction_of_a_second(name: str) -> None:
    for _ in range(2):  # at each start
        SteadyScheduler.Entry.from_entry(name, app=current_app, **beat_schedule[name])
    assert PeriodicTask.objects.get(name=name).interval.schedule.run_every == SCANS[name].every
