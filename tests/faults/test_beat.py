"""Beat twice, not at all, or with a clock that jumps: every due instant is fired once."""

import pytest
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.db.models import Sum
from django_celery_beat.models import PeriodicTasks
from redis import Redis

from project.kit.clock import database_now
from project.models import ScanMark
from scheduler import schedules
from scheduler.models import Fire, Schedule, TaskRun
from scheduler.states import FireOutcome, RunState
from tests.faults.books import audit_fires, audit_runs
from tests.faults.clocks import SteppedClock
from tests.faults.house import House

pytestmark = pytest.mark.slow

AN_HOUR = 3600


def test_two_beats_and_two_scan_workers_double_no_fire(house: House) -> None:
    each = [house.every(1) for _ in range(3)]
    first_due = {schedule: schedule.next_run_at for schedule in each}
    house.start("worker", "worker", "beat", "beat")
    house.runner()

    house.wait_until(lambda: all(fires(schedule) >= 8 for schedule in each), what="eight fires of each")
    pause(*each)
    house.wait_for(RunState.DONE, *TaskRun.objects.all())

    for schedule in each:
        audit_fires(schedule, first_due[schedule])
    audit_runs()
    started = Fire.objects.filter(outcome=FireOutcome.STARTED).count()
    assert len(house.marks()) == TaskRun.objects.count() == started


def test_without_a_beat_the_workers_scan(house: House) -> None:
    schedule = house.every(1)
    first_due = schedule.next_run_at
    house.start("worker")
    house.runner()

    house.wait_until(lambda: TaskRun.objects.filter(state=RunState.DONE).count() >= 5, what="five runs to be done")
    pause(schedule)

    audit_fires(schedule, first_due)
    assert asked_by_beat() == 0


def test_a_beat_whose_clock_is_set_back_by_an_hour_is_stood_in_for(house: House, stepped_clock: SteppedClock) -> None:
    schedule = house.every(1)
    first_due = schedule.next_run_at
    (worker,) = house.start("worker")
    house.start("beat", **stepped_clock.environ)
    house.wait_until(lambda: asked_by_beat() >= 3, what="beat to ask for scans")

    stepped_clock.step(-AN_HOUR)
    house.wait_until(lambda: "beat is silent" in worker.output, what="the watch to notice")
    silent_since = fires(schedule)
    house.wait_until(lambda: fires(schedule) >= silent_since + 3, what="fires without beat")
    pause(schedule)

    audit_fires(schedule, first_due)


def test_workers_whose_clock_is_ahead_scan_and_run(house: House, stepped_clock: SteppedClock) -> None:
    schedule = house.every(1)
    first_due = schedule.next_run_at
    stepped_clock.step(AN_HOUR)
    house.start("worker", **stepped_clock.environ)
    house.start("beat")
    house.runner(**stepped_clock.environ)

    house.wait_until(lambda: TaskRun.objects.filter(state=RunState.DONE).count() >= 3, what="three runs to be done")
    pause(schedule)

    audit_fires(schedule, first_due)
    audit_runs()


def test_a_pause_and_an_edit_take_effect_at_the_next_scan(house: House) -> None:
    paused, edited = house.every(1), house.every(3600)
    house.start("worker", "beat")
    house.wait_until(lambda: fires(paused) >= 2, what="two fires")

    pause(paused)
    so_far = fires(paused)
    Schedule.objects.filter(pk=edited.pk).update(next_run_at=database_now())
    house.wait_until(lambda: fires(edited) == 1, 10, "the edit to take effect")

    assert fires(paused) == so_far


def fires(schedule: Schedule) -> int:
    """Return how many instants of the schedule were claimed."""
    return Fire.objects.filter(schedule=schedule).count()


def asked_by_beat() -> int:
    """Return how many scans beat asked for that were done."""
    return ScanMark.objects.aggregate(total=Sum("beat_count", default=0))["total"]


def pause(*each: Schedule) -> None:
    """Pause the schedules."""
    for schedule in each:
        assert schedules.pause(schedule, now=database_now(), reason="the test has seen enough")


def test_beat_stops_while_it_waits_for_the_database(house: House) -> None:
    redis = Redis.from_url(house.broker.url)
    (beat,) = house.start("beat")
    house.wait_until(redis.dbsize, what="beat to tick")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"LOCK TABLE {PeriodicTasks._meta.db_table} IN ACCESS EXCLUSIVE MODE")
        house.wait_until(lambda: _waits_for_a_lock(cursor), what="beat to wait")
        beat.terminate()
        assert beat.wait(10) == 0


def _waits_for_a_lock(cursor: CursorWrapper) -> bool:
    cursor.execute("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)")
    (found,) = cursor.fetchone()
    return bool(found)
