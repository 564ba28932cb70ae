"""A year's worth of old runs is pruned while schedules fire: how many go a second, and what firing feels of it."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median, quantiles

from tests.benchmarks import panel
from tests.benchmarks.measuring import Measurement, Options, stated

RUNS = 1_000_000
# So many schedules come due in each second, and each has its turn.
FIRED_A_SECOND = 100
SECONDS_ALONE, SECONDS_BESIDE = 20, 60
KEPT_DAYS = 1


def measure(options: Options) -> list[Measurement]:
    """Fire alone, then beside `manage.py prune`, which is stopped when its time is over."""
    size = panel.sized(options.size or RUNS)
    panel.lay_down(size)
    return measure_on(size.schedules)


def measure_on(schedules: int) -> list[Measurement]:
    """Measure on the runs that are there, of so many schedules."""
    alone = _fire_each_second(schedules, 0, lambda beat: beat < SECONDS_ALONE)
    before, start = _runs(), time.monotonic()
    pruning = _begin_to_prune()
    beside = _fire_each_second(
        schedules, SECONDS_ALONE, lambda beat: beat < SECONDS_ALONE + SECONDS_BESIDE and pruning.poll() is None
    )
    pruning.terminate()
    pruning.wait()
    seconds = time.monotonic() - start
    return [
        stated("prune: runs with all that belongs to them", "runs/s", (before - _runs()) / seconds),
        *_latency("alone", alone),
        *_latency("beside pruning", beside),
    ]


def _begin_to_prune() -> "subprocess.Popen[bytes]":
    keep = {"TIDELINE_KEEP_RUNS": str(KEPT_DAYS)}
    command = [sys.executable, "manage.py", "prune", "--kind", "runs", "--json"]
    return subprocess.Popen(command, env=os.environ | keep, stdout=subprocess.DEVNULL)


def _fire_each_second(schedules: int, first: int, goes_on: Callable[[int], bool]) -> list[float]:
    """Return how many milliseconds each scan took, that found so many schedules due."""
    took, beat = [], first
    while goes_on(beat):
        begun = time.monotonic()
        took.append(fire(beat * FIRED_A_SECOND % schedules))
        beat += 1
        time.sleep(max(0.0, begun + 1 - time.monotonic()))
    return took


def fire(behind: int) -> float:
    """Let the schedules that come after `behind` be due; return the milliseconds of the scan that fires them."""
    from project.kit.clock import database_now
    from scheduler import firing
    from scheduler.models import Schedule

    now = database_now()
    due = Schedule.objects.filter(pk__gt=behind, pk__lte=behind + FIRED_A_SECOND)
    due.update(next_run_at=now, enabled=True, broken_reason="")
    start = time.perf_counter()
    firing.fire_all_due(now=now)
    return (time.perf_counter() - start) * 1000


def _runs() -> int:
    """Return how many of the runs that were laid down are left."""
    from scheduler.models import TaskRun

    return TaskRun.objects.filter(finished_at__isnull=False).count()


def _latency(name: str, took: list[float]) -> list[Measurement]:
    return [
        stated(f"a scan that fires {FIRED_A_SECOND}, {name}", "ms", median(took)),
        stated(f"a scan that fires {FIRED_A_SECOND}, {name}, p95", "ms", quantiles(took, n=20)[-1]),
    ]
