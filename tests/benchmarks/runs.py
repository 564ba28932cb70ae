"""Runs that do nothing, end to end: due rows in, ended rows out, by beat, a real worker for the scans and a runner."""

import json
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from tests.benchmarks import peer_programs, servers
from tests.benchmarks.measuring import OURS, Measurement, Options, rate, stated, take_turns
from tests.benchmarks.processor import used_by_kind
from tests.processes import Processes

RUNS = 3_000
CHILDREN = "2"  # of our runner, and of the bare Celery worker
SECONDS = 300

PROCRASTINATE, CELERY, CELERY_WITH_EVENTS = "procrastinate", "bare Celery", "bare Celery with events"
# Of the processor, in microseconds a run, by the kind of process, in each turn of ours.
_spent: dict[str, list[float]] = defaultdict(list)
# Flower needs events, and our runner sends them; the target is half of a worker that sends none.
WANTED = {PROCRASTINATE: 1.5, CELERY: 0.5}
# Of 1, 2, 5, 10 and 30 jobs at a time in each of two processes, the best.
PROCRASTINATE_PROCESSES, PROCRASTINATE_CONCURRENCY = "2", "2"


def measure(options: Options) -> list[Measurement]:
    """Compare runs of a job, and of a job that says it is short, with the peers' tasks."""
    size = options.size or RUNS
    ours = {
        "runs": partial(end_to_end, size, "benchmark.noop"),
        "runs of a short job": partial(end_to_end, size, "benchmark.short_noop"),
    }
    theirs = {
        PROCRASTINATE: partial(_procrastinate, size),
        CELERY: partial(_bare_celery, size, ""),
        CELERY_WITH_EVENTS: partial(_bare_celery, size, "--task-events"),
    }
    medians = take_turns({**ours, **theirs}, options.rounds)
    peers = {name: medians[name] for name in theirs}
    rates = [rate(name, "runs/s", {OURS: medians[name], **peers}, WANTED) for name in ours]
    return [*rates, *(stated(f"runs: CPU a run, {kind}", "µs", median(spent)) for kind, spent in _spent.items())]


def end_to_end(size: int, job: str) -> float:
    """Return how many runs of the job end in a second, counted from the moment when all of them became due."""
    servers.empty_broker()
    servers.empty_tables()
    with _platform() as processes:
        before = used_by_kind(processes.started)
        due_at = open_due(size, job)
        processes.wait_until(all_ended, SECONDS, f"{size} runs")
        for kind, seconds in used_by_kind(processes.started).items():
            _spent[kind].append((seconds - before[kind]) / size * 1_000_000)
    return size / (_last_end() - due_at).total_seconds()


@contextmanager
def _platform() -> Iterator[Processes]:
    """The processes that take part, once they are at work."""
    with TemporaryDirectory() as folder:
        processes = Processes(Path(folder))
        try:
            processes.start("worker")
            processes.start("runner", TIDELINE_RUNNERS=CHILDREN)
            processes.start("beat")
            warm_up(processes)
            yield processes
        finally:
            processes.end()


def warm_up(processes: Processes) -> None:
    """Let the processes do some runs."""
    open_due(100, "benchmark.noop")
    processes.wait_until(all_ended, 60, "the first runs")
    servers.refresh_statistics()


def open_due(size: int, job: str) -> datetime:
    """Open the runs in one transaction, so that all of them become due at once; return when that was."""
    from project.kit.clock import database_now
    from scheduler.opening import Opening, insert_runs
    from scheduler.states import EventTrigger

    now = database_now()
    opening = Opening(name=job, job=job, stat_date=now.date(), planned_at=now, due_at=now)
    insert_runs([opening] * size, now=now, trigger=EventTrigger.MANUAL)
    return database_now()


def all_ended() -> bool:
    """Tell whether no run is left to do."""
    from scheduler.models import TaskRun

    time.sleep(0.2)  # between two questions, so that they cost the measured ones nothing
    return not TaskRun.objects.filter(finished_at__isnull=True).exists()


def _last_end() -> datetime:
    """Return when the last run ended; trust no figure of work that left no rows."""
    from django.db.models import Max

    from scheduler.models import Attempt, RunEvent, TaskRun

    runs = TaskRun.objects.filter(state="done").count()
    left = Attempt.objects.filter(outcome="done").count(), RunEvent.objects.count()
    assert left == (runs, 3 * runs), f"{runs} runs left attempts and events: {left}"
    last: datetime = TaskRun.objects.aggregate(last=Max("finished_at"))["last"]
    return last


def _procrastinate(size: int) -> float:
    return peer_programs.rate(
        "procrastinate",
        size=size,
        seconds=SECONDS,
        DATABASE_URL=servers.peers_database(),
        WORKERS=PROCRASTINATE_PROCESSES,
        CONCURRENCY=PROCRASTINATE_CONCURRENCY,
    )


def _bare_celery(size: int, events: str) -> float:
    servers.empty_broker()
    options = f"--concurrency {CHILDREN} --without-gossip --without-mingle --loglevel warning {events}"
    settings = json.dumps(_celery_settings())
    return peer_programs.rate("celery", size=size, seconds=SECONDS, CELERY_SETTINGS=settings, CELERY_OPTIONS=options)


def _celery_settings() -> dict[str, object]:
    """Return our Celery settings as far as they are plain values and about a worker that takes from a queue."""
    from project import celery_settings

    ours_alone = ("beat", "task_queues", "task_routes", "worker_consumer")
    plain = (str, int, float, bool, list, dict, type(None))
    return {
        name: value
        for name, value in vars(celery_settings).items()
        if name[0].islower() and isinstance(value, plain) and not name.startswith(ours_alone) and name in _known()
    }


def _known() -> set[str]:
    from celery.app.defaults import NAMESPACES, flatten

    return {name for name, _ in flatten(NAMESPACES)}
