"""Bare Celery: tasks that do nothing and leave nothing, under our settings, in one worker of two processes.

It does less than we do: no row, no lease. Publishing is not counted either; the worker finds a full queue.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable

from celery import Celery

from tests.benchmarks.peers.workload import given, report

QUEUE = "runs"
PREFIX = "tideline:"

app = Celery("bare")
app.conf.update(json.loads(os.environ["CELERY_SETTINGS"]), task_default_queue=QUEUE)


@app.task(name="noop")
def noop(hint: list[tuple[int, int]]) -> None:
    """Do nothing."""


def main() -> None:
    """Fill the queue, start the worker, and time it from its first task to its last."""
    workload = given()
    with app.producer_pool.acquire() as producer, producer.batch():
        for number in range(workload.size):
            noop.apply_async(args=[[[number, 1]]], producer=producer)
    redis = app.connection_for_write().default_channel.client
    worker = subprocess.Popen([*_command(), *os.environ["CELERY_OPTIONS"].split()], stdout=sys.stderr)
    try:
        _wait(lambda: redis.llen(QUEUE) < workload.size)
        start = time.perf_counter()
        _wait(lambda: not redis.llen(QUEUE) and not redis.hlen("unacked"))
        report(workload.size, time.perf_counter() - start)
    finally:
        worker.terminate()
        worker.wait()


def _command() -> list[str]:
    return [sys.executable, "-m", "celery", "--quiet", "-A", __spec__.name, "worker", "--queues", QUEUE]


def _wait(condition: Callable[[], object]) -> None:
    while not condition():
        time.sleep(0.01)


if __name__ == "__main__":
    main()
