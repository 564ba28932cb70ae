"""Schedules that are all due in the same second: fired, the run's row written, its hint in the broker."""

import os
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from tests.benchmarks import peer_programs, servers
from tests.benchmarks.measuring import OURS, Measurement, Options, rate, take_turns

SCHEDULES = 10_000
WANTED = {"django-celery-beat": 150, "APScheduler": 8, "celery-redbeat": 3}
AT_LEAST = 3000
# Peers are given this long each turn; what they did by then says their rate.
SLICE_SECONDS = 12


def measure(options: Options) -> list[Measurement]:
    """Compare our scan with the peers' ticks."""
    size = options.size or SCHEDULES
    contestants = {
        OURS: partial(fire_all, size),
        "APScheduler": partial(_apscheduler, size),
        "celery-redbeat": partial(_redbeat, size),
        "django-celery-beat": partial(_django_celery_beat, size),
    }
    return [rate("fire", "schedules/s", take_turns(contestants, options.rounds), WANTED, AT_LEAST)]


def fire_all(size: int) -> float:
    """Return how many schedules a second our scan fires, from its start to the last hint in the broker."""
    from django.conf import settings

    from project.kit.clock import database_now
    from project.kit.collecting import collect_rarely
    from scheduler import firing, launching

    settings.TIDELINE_QUEUE_LIMIT = size  # else the scan leaves what goes beyond it to the next ones
    servers.empty_broker()
    servers.empty_tables()
    due_at = database_now().replace(second=0, microsecond=0)
    lay_down(size, due_at)
    collect_rarely()  # as a worker for the scans does
    start = time.perf_counter()
    firing.fire_all_due(now=due_at + timedelta(seconds=1))  # on time, however long the laying down took
    launching.launch_due(now=database_now())
    seconds = time.perf_counter() - start
    _check(size)
    return size / seconds


def lay_down(size: int, due_at: datetime) -> None:
    """Insert schedules that are due at a full minute: every minute, every day and every five minutes, in turn.

    Each has fired and run a day before: no table of a system at work is empty.
    """
    from scheduler import firing
    from scheduler.models import Schedule, TaskRun

    day_before = due_at - timedelta(days=1)
    Schedule.objects.bulk_create(_schedules(size, day_before), batch_size=2000)
    firing.fire_all_due(now=day_before + timedelta(seconds=1))
    TaskRun.objects.update(state="done", due_at=None, started_at=day_before, finished_at=day_before)
    Schedule.objects.update(next_run_at=due_at)
    servers.refresh_statistics()


def _schedules(size: int, due_at: datetime) -> Iterator[Any]:
    from scheduler.models import Schedule

    kinds: list[dict[str, Any]] = [
        {"trigger": "cron", "cron": "* * * * *", "overlap": "skip"},
        {"trigger": "cron", "cron": f"{due_at.minute} {due_at.hour} * * *", "overlap": "queue"},
        {"trigger": "interval", "interval_seconds": 300, "anchor_at": due_at, "overlap": "skip"},
    ]
    for number in range(size):
        yield Schedule(
            name=f"schedule {number}",
            job="benchmark.noop",
            next_run_at=due_at,
            created_at=due_at,
            updated_at=due_at,
            **kinds[number % len(kinds)],
        )


def _check(size: int) -> None:
    """Trust no figure of work that was not done."""
    from scheduler.models import Fire, TaskRun

    done = Fire.objects.count() // 2, TaskRun.objects.filter(state="pending", lease_token=1).count(), _hints()
    assert done == (size, size, size), f"{size} schedules: fires, leased runs, hints were {done}"


def _hints() -> int:
    return int(servers.broker().llen("tideline:runs"))


def _apscheduler(size: int) -> float:
    return peer_programs.rate("apscheduler", size=size, seconds=SLICE_SECONDS, DATABASE_URL=servers.peers_database())


def _redbeat(size: int) -> float:
    servers.empty_broker()
    return peer_programs.rate("redbeat", size=size, seconds=SLICE_SECONDS, REDIS_URL=os.environ["REDIS_URL"])


def _django_celery_beat(size: int) -> float:
    servers.empty_broker()
    return peer_programs.rate(
        "django_celery_beat",
        size=size,
        seconds=SLICE_SECONDS,
        DATABASE_URL=servers.peers_database(),
        REDIS_URL=os.environ["REDIS_URL"],
    )
