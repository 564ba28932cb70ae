"""What each worker tells of itself; see project/tallying.py."""

from collections.abc import Iterator, Mapping
from typing import cast

from redis import Redis

from project.metrics.definitions import MORE_THAN_SHOWN, MOST_SHOWN, Figure, counter, gauge
from project.tallying import NAMES, key_of

UPTIME = gauge("tideline_worker_uptime_seconds", "For how long the worker has run.", "worker")
PROCESSES = gauge("tideline_worker_processes", "Processes of the worker.", "worker")
MEMORY = gauge(
    "tideline_worker_memory_bytes", "Memory of all its processes; what they share counts for each.", "worker"
)
TASKS = counter("tideline_worker_tasks_total", "Tasks that it has ended.", "worker", "task", "outcome")
SECONDS = counter("tideline_worker_task_seconds_total", "How long those took together.", "worker", "task")
METRICS = (UPTIME, PROCESSES, MEMORY, TASKS, SECONDS, MORE_THAN_SHOWN)

OF_THE_PROCESS = {"uptime": UPTIME, "processes": PROCESSES, "memory": MEMORY}


def figures(redis: Redis) -> Iterator[Figure]:
    """Yield the figures of the workers that live, with two round trips, and forget the names of those that are gone.

    Raises:
        redis.RedisError: it is away.
    """
    names = sorted(name.decode() for name in cast(set[bytes], redis.smembers(NAMES)))
    yield MORE_THAN_SHOWN.at(len(names) > MOST_SHOWN, "workers")
    shown = names[:MOST_SHOWN]
    with redis.pipeline(transaction=False) as pipeline:
        for name in shown:
            pipeline.hgetall(key_of(name))
        found = dict(zip(shown, pipeline.execute(), strict=True))
    for name, told in found.items():
        yield from _of(name, told)
    if gone := [name for name, told in found.items() if not told]:
        redis.srem(NAMES, *gone)


def _of(worker: str, told: Mapping[bytes, bytes]) -> Iterator[Figure]:
    for field, value in told.items():
        match field.decode().split(":", 2):
            case ["tasks", outcome, task]:
                yield TASKS.at(int(value), worker, task, outcome)
            case ["seconds", *task]:
                yield SECONDS.at(float(value), worker, ":".join(task))
            case [fact]:
                yield OF_THE_PROCESS[fact].at(float(value), worker)
