"""A thousand paused runs and one reset, by real processes: how soon they are launched, and whether each is, once."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from tests.benchmarks import runs, servers
from tests.benchmarks.measuring import Measurement, Options, at_most
from tests.processes import Processes

RUNS = 1_000
SCANNERS = (1, 2, 4)
JOB = "benchmark.spend"
SPREAD, POLL_INTERVAL = 2, 10  # seconds, of the quota
LIMIT_FIRST, LIMIT_ALL = 1.0, 5.0 + SPREAD
# With events off: the quota's interval with its jitter, and beat's between two polls.
LIMIT_POLL = POLL_INTERVAL * 1.1 + 5.0
LEAD = timedelta(seconds=3)  # until the reset
SECONDS = 300


@dataclass(frozen=True, slots=True)
class Reset:
    """What came of one reset: seconds to the first and to the last launch, and how many runs were not resumed and
    executed exactly once, or were charged wrongly.
    """

    first: float
    last: float
    wrong: int


def measure(options: Options) -> list[Measurement]:
    """Let the quota reset with one, two and four scanners, and with events off."""
    size = options.size or RUNS
    lines = []
    for scanners in SCANNERS:
        resets = [_reset(size, scanners, events="1") for _ in range(options.rounds)]
        lines += _lines(f"resume, {scanners} scanners", resets, LIMIT_FIRST, LIMIT_ALL)
    resets = [_reset(size, 2, events="0") for _ in range(options.rounds)]
    return lines + _lines("resume, events off", resets, LIMIT_POLL, LIMIT_POLL + LIMIT_ALL)


def _lines(name: str, resets: list[Reset], limit_first: float, limit_all: float) -> list[Measurement]:
    wrong = sum(reset.wrong for reset in resets)
    return [
        at_most(f"{name}: first launch", "s", median(reset.first for reset in resets), limit_first),
        at_most(f"{name}: all launched", "s", median(reset.last for reset in resets), limit_all),
        Measurement(f"{name}: doubled or forgotten", wrong, "runs", target=0, met=wrong == 0),
    ]


def _reset(size: int, scanners: int, *, events: str) -> Reset:
    servers.empty_broker()
    servers.empty_tables()
    with _platform(scanners, events) as processes:
        quota, run_ids = _open(size)
        processes.wait_until(_all_paused, SECONDS, "the launcher to hold them back")
        reset_at = _plan_reset(quota)
        first, last = _watch(processes, run_ids, reset_at)
        processes.wait_until(runs.all_ended, SECONDS, f"{size} runs")
        return Reset(first, last, _wrong(quota, run_ids))


@contextmanager
def _platform(scanners: int, events: str) -> Iterator[Processes]:
    with TemporaryDirectory() as folder:
        processes = Processes(Path(folder))
        try:
            for _ in range(scanners):
                processes.start("worker", TIDELINE_QUOTA_EVENTS=events)
            processes.start("runner", TIDELINE_RUNNERS=runs.CHILDREN)
            processes.start("beat")
            runs.warm_up(processes)
            yield processes
        finally:
            processes.end()


def _open(size: int) -> tuple[Any, list[int]]:
    """Open due runs whose quota is used up; return it and them."""
    from project.kit.clock import database_now
    from quotas import charging, defining
    from quotas.states import Kind
    from scheduler.opening import Opening, open_runs
    from scheduler.states import EventTrigger

    now = database_now()
    quota = defining.create(
        key=f"benchmark {now.isoformat()}",
        kind=Kind.PERIODIC,
        limit=2 * size,
        reset_preset="day",
        spread_seconds=SPREAD,
        poll_floor_seconds=1,
        poll_ceiling_seconds=POLL_INTERVAL,
        now=now,
    )
    charging.charge(quota.key, 2 * size, now=now)
    opening = Opening(
        name=JOB,
        job=JOB,
        params={"quota": quota.key},
        stat_date=now.date(),
        planned_at=now,
        due_at=now,
        quota_id=quota.pk,
    )
    return quota, [run.pk for run in open_runs([opening] * size, now=now, trigger=EventTrigger.MANUAL)]


def _all_paused() -> bool:
    from scheduler.models import TaskRun

    time.sleep(0.2)
    return not TaskRun.objects.exclude(state__in=["paused", "done"]).exists()


def _plan_reset(quota: Any) -> datetime:
    """Let the quota's period end a few seconds from now; return when."""
    from project.kit.clock import database_now
    from quotas.models import Quota

    servers.refresh_statistics()
    reset_at = database_now() + LEAD
    Quota.objects.filter(pk=quota.pk).update(period_end=reset_at, evaluate_at=reset_at)
    return reset_at


def _watch(processes: Processes, run_ids: list[int], reset_at: datetime) -> tuple[float, float]:
    """Return how many seconds after the reset the first and the last run were launched."""
    seen: list[datetime] = []

    def all_launched() -> bool:
        launched, at = _launched(run_ids)
        if launched and (not seen or launched == len(run_ids)):
            seen.append(at)
        return launched == len(run_ids)

    processes.wait_until(all_launched, SECONDS, "the launches")
    return (seen[0] - reset_at).total_seconds(), (seen[-1] - reset_at).total_seconds()


def _launched(run_ids: list[int]) -> tuple[int, datetime]:
    """Return how many runs are launched by now: held back they had their first lease token, the resumption is the
    second, the launch the third.
    """
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FILTER (WHERE lease_token >= 3), clock_timestamp() FROM scheduler_taskrun"
            " WHERE id = ANY(%s)",
            [run_ids],
        )
        launched, at = cursor.fetchone()
    time.sleep(0.02)  # between two questions, so that they cost the measured ones nothing
    return launched, at


def _wrong(quota: Any, run_ids: list[int]) -> int:
    """Count by the rows: one resumption and one attempt each, one unit each, and books that are right."""
    from collections import Counter

    from quotas.checking import check_books
    from quotas.models import Quota
    from scheduler.models import Attempt, RunEvent

    resumed = Counter(RunEvent.objects.filter(to_state="resuming").values_list("run", flat=True))
    attempts = Counter(Attempt.objects.filter(run__in=run_ids, outcome="done").values_list("run", flat=True))
    wrong = sum(resumed[run_id] != 1 or attempts[run_id] != 1 for run_id in run_ids)
    spent = Quota.objects.get(pk=quota.pk)
    return wrong + abs(spent.used - len(run_ids)) + spent.reserved + len(check_books())
