"""A scan of schedules none of which is due: cheap, however many there are."""

import time
from datetime import timedelta
from statistics import median

from tests.benchmarks import servers
from tests.benchmarks.measuring import Measurement, Options, at_most

SIZES = (1_000, 10_000, 100_000)
SCANS = 200
LIMIT_MS = 5.0
# "Flat": a hundred times as many schedules may cost the scan so much more.
LIMIT_GROWTH = 2.0


def measure(options: Options) -> list[Measurement]:
    """Scan a growing table."""
    sizes = [options.size] if options.size else list(SIZES)
    took = {size: _scan(size, options.rounds * SCANS) for size in sizes}
    measurements = [at_most(f"scan of {size:,}", "ms", took[size], LIMIT_MS) for size in sizes]
    if len(sizes) == 1:
        return measurements
    growth = took[sizes[-1]] / took[sizes[0]]
    return [*measurements, at_most(f"scan of {sizes[-1]:,} to one of {sizes[0]:,}", "times", growth, LIMIT_GROWTH)]


def _scan(size: int, scans: int) -> float:
    """Return the median milliseconds of the whole scan task, its question for the time included."""
    from scheduler import tasks

    servers.empty_tables()
    lay_down(size)
    took = []
    for _ in range(scans):
        start = time.perf_counter()
        tasks.fire_due()
        took.append((time.perf_counter() - start) * 1000)
    return median(took)


def lay_down(size: int) -> None:
    """Insert schedules that are due once a day, none of them within the next hour."""
    from project.kit.clock import database_now
    from scheduler.models import Schedule

    now = database_now()
    Schedule.objects.bulk_create(
        (
            Schedule(
                name=f"schedule {number}",
                job="benchmark.noop",
                cron=f"{number % 60} {number // 60 % 24} * * *",
                overlap="queue",
                next_run_at=now + timedelta(hours=1, seconds=number),
                created_at=now,
                updated_at=now,
            )
            for number in range(size)
        ),
        batch_size=2000,
    )
    servers.refresh_statistics()
