"""celery-redbeat: its tick's loop on Redis, all entries due. Loading them, which each tick does, is not counted."""

import os
import time
from datetime import UTC, datetime, timedelta

from celery import Celery
from celery.schedules import crontab
from redbeat import RedBeatSchedulerEntry
from redbeat.schedulers import RedBeatScheduler

from tests.benchmarks.peers.workload import given, report

QUEUE = "celery"


def main() -> None:
    """Send all that is due."""
    workload = given()
    app = Celery("peer", broker=os.environ["REDIS_URL"], set_as_current=True)
    app.conf.update(
        task_ignore_result=True, timezone="UTC", redbeat_lock_key=None, redbeat_redis_url=os.environ["REDIS_URL"]
    )
    _lay_down(app, workload.size)
    scheduler = RedBeatScheduler(app)
    entries = scheduler.schedule
    start = time.perf_counter()
    for entry in entries.values():
        scheduler.maybe_due(entry, **scheduler._maybe_due_kwargs)
    seconds = time.perf_counter() - start
    sent = app.connection_for_write().default_channel.client.llen(QUEUE)
    assert sent == workload.size, f"{sent} of {workload.size} were sent"
    report(sent, seconds)


def _lay_down(app: Celery, size: int) -> None:
    last_run_at = datetime.now(UTC) - timedelta(hours=1)
    for number in range(size):
        entry = RedBeatSchedulerEntry(f"task {number}", "noop", crontab(minute="*"), app=app, last_run_at=last_run_at)
        entry.save()


if __name__ == "__main__":
    main()
