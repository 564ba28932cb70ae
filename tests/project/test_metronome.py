"""Beat's rows say what project/beat.py says, and beat sends what is taken."""

import pytest
from celery import current_app
from django_celery_beat.models import PeriodicTask
from kombu.messaging import Producer

from project.beat import SCANS, beat_schedule
from project.metronome import MOST_WAITING, QUEUE, SteadyScheduler
from project.services import Redis

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("name", SCANS)
def test_a_row_holds_the_interval_of_its_scan_to_the_fraction_of_a_second(name: str) -> None:
    for _ in range(2):  # at each start
        SteadyScheduler.Entry.from_entry(name, app=current_app, **beat_schedule[name])
    assert PeriodicTask.objects.get(name=name).interval.schedule.run_every == SCANS[name].every


def test_while_no_worker_takes_the_scans_they_do_not_pile_up(
    redis_server: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    beat = SteadyScheduler(app=current_app, lazy=True)
    entry = SteadyScheduler.Entry.from_entry("all clear", app=current_app, **beat_schedule["all clear"])
    with current_app.connection_for_write(redis_server.url) as connection:
        producer = Producer(connection)
        for _ in range(MOST_WAITING + 5):
            beat.apply_async(entry, producer)
        queue = producer.channel.client
        assert queue.llen(QUEUE) == MOST_WAITING
        assert len(caplog.messages) == 1
        queue.rpop(f"{producer.channel.global_keyprefix}{QUEUE}")
        beat.apply_async(entry, producer)
        assert queue.llen(QUEUE) == MOST_WAITING


def test_a_broker_that_is_away_is_an_error_that_beat_survives(redis_server: Redis) -> None:
    beat = SteadyScheduler(app=current_app, lazy=True)
    entry = SteadyScheduler.Entry.from_entry("all clear", app=current_app, **beat_schedule["all clear"])
    with current_app.connection_for_write(redis_server.url) as connection:
        producer = Producer(connection)
        assert producer.channel
        redis_server.stop()
        beat.apply_entry(entry, producer)
