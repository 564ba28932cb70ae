"""procrastinate: async tasks that do nothing, on PostgreSQL, in several worker processes.

Deferring the jobs and starting the workers are not counted: from its first `started` event to its last `succeeded`.
"""

import logging
import os
import subprocess
import sys
import time

import procrastinate
import psycopg

from tests.benchmarks.peers.workload import given, report

POLL_SECONDS = 0.2

logging.getLogger("procrastinate").setLevel(logging.ERROR)  # it warns of an app in a program's own module
app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=os.environ["DATABASE_URL"]))


@app.task(name="noop")
async def noop(number: int) -> None:
    """Do nothing."""


def main() -> None:
    """Defer the jobs, start the workers, and read from the events how long they took."""
    workload = given()
    with app.open():
        app.schema_manager.apply_schema()
        for first in range(0, workload.size, 1000):
            noop.batch_defer(*({"number": number} for number in range(first, min(first + 1000, workload.size))))
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
        workers = [subprocess.Popen(_command(), stdout=sys.stderr) for _ in range(int(os.environ["WORKERS"]))]
        try:
            while _unfinished(connection):
                time.sleep(POLL_SECONDS)
            report(workload.size, _seconds(connection))
        finally:
            for worker in workers:
                worker.terminate()
            for worker in workers:
                worker.wait()


def _command() -> list[str]:
    concurrency = os.environ["CONCURRENCY"]
    return [sys.executable, "-m", "procrastinate", "-a", f"{__spec__.name}.app", "worker", "--concurrency", concurrency]


def _unfinished(connection: psycopg.Connection) -> bool:
    left = connection.execute("SELECT EXISTS (SELECT FROM procrastinate_jobs WHERE status <> 'succeeded')").fetchone()
    return bool(left and left[0])


def _seconds(connection: psycopg.Connection) -> float:
    row = connection.execute(
        "SELECT extract(epoch FROM max(at) FILTER (WHERE type = 'succeeded') - min(at) FILTER (WHERE type = 'started'))"
        " FROM procrastinate_events"
    ).fetchone()
    assert row
    return float(row[0])


if __name__ == "__main__":
    main()
