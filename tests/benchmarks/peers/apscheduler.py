"""APScheduler 3 on PostgreSQL: jobs that are all due and do nothing, in its usual pool of threads.

It does less than we do: no message is sent to a worker, and a run leaves no row.
"""

import os
import pickle
import threading
import time
from datetime import UTC, datetime, timedelta
from urllib.parse import unquote, urlsplit

from apscheduler.events import EVENT_JOB_EXECUTED
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.job import Job
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger
from apscheduler.util import datetime_to_utc_timestamp
from sqlalchemy import URL

from tests.benchmarks.peers.workload import given, report


def noop() -> None:
    """Do nothing."""


class Counter:
    """Counts executed jobs until there are enough."""

    def __init__(self, enough: int) -> None:
        self.count, self._enough = 0, enough
        self.reached = threading.Event()

    def __call__(self, event: object) -> None:
        self.count += 1
        if self.count == self._enough:
            self.reached.set()


def main() -> None:
    """Start the scheduler over a store full of due jobs, and count until all ran or the time is up."""
    workload = given()
    store = SQLAlchemyJobStore(url=_address(os.environ["DATABASE_URL"]))
    options = {"misfire_grace_time": None, "coalesce": True, "max_instances": 1}
    scheduler = BackgroundScheduler(
        jobstores={"default": store}, executors={"default": ThreadPoolExecutor(10)}, job_defaults=options, timezone=UTC
    )
    counter = Counter(workload.size)
    scheduler.add_listener(counter, EVENT_JOB_EXECUTED)
    scheduler.start(paused=True)
    _lay_down(store, scheduler, workload.size)
    start = time.perf_counter()
    scheduler.resume()
    counter.reached.wait(workload.seconds)
    report(counter.count, time.perf_counter() - start)
    os._exit(0)  # it would work on through the rest


def _address(url: str) -> URL:
    """Return the server's address as SQLAlchemy writes a folder with a socket."""
    parts = urlsplit(url)
    host = unquote(parts.netloc.rpartition("@")[2])
    return URL.create("postgresql+psycopg", parts.username, database=parts.path.lstrip("/"), query={"host": host})


def _lay_down(store: SQLAlchemyJobStore, scheduler: BackgroundScheduler, size: int) -> None:
    """Insert the jobs at once; `add_job` would commit each."""
    due_at = datetime.now(UTC) - timedelta(seconds=1)
    rows = []
    for number in range(size):
        job = Job(
            scheduler,
            id=f"job {number}",
            func=noop,
            args=(),
            kwargs={},
            name="noop",
            trigger=CronTrigger(minute="*", timezone=UTC),
            executor="default",
            misfire_grace_time=None,
            coalesce=True,
            max_instances=1,
            next_run_time=due_at,
        )
        state = pickle.dumps(job.__getstate__(), store.pickle_protocol)
        rows.append({"id": job.id, "next_run_time": datetime_to_utc_timestamp(due_at), "job_state": state})
    with store.engine.begin() as connection:
        connection.execute(store.jobs_t.insert(), rows)


if __name__ == "__main__":
    main()
