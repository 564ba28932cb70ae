"""django-celery-beat: its tick loop on PostgreSQL and Redis, all entries due. Loading them is not counted."""

import os
import time
from datetime import timedelta
from urllib.parse import unquote, urlsplit

import django
from celery import Celery
from django.conf import settings
from django.core.management import call_command

from tests.benchmarks.peers.workload import given, report


def main() -> None:
    """Tick until all was sent or the time is up."""
    workload = given()
    _set_up()
    app = Celery("peer", broker=os.environ["REDIS_URL"], set_as_current=True)
    app.conf.update(task_ignore_result=True, timezone="UTC", beat_max_loop_interval=1)
    _lay_down(workload.size)

    from django_celery_beat.schedulers import DatabaseScheduler

    scheduler = DatabaseScheduler(app=app)
    scheduler.tick()  # the first one loads the entries and builds the heap
    sent, start = 0, time.perf_counter()
    while sent < workload.size - 1 and time.perf_counter() - start < workload.seconds:
        scheduler.tick()
        sent += 1
    seconds = time.perf_counter() - start
    assert app.connection_for_write().default_channel.client.llen("celery") == sent + 1, "a tick sent nothing"
    report(sent, seconds)


def _set_up() -> None:
    url = urlsplit(os.environ["DATABASE_URL"])
    database = {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": url.path.lstrip("/"),
        "USER": url.username,
        "HOST": unquote(url.netloc.rpartition("@")[2]),
        "CONN_MAX_AGE": None,
    }
    apps = ["django.contrib.contenttypes", "django_celery_beat"]
    settings.configure(DATABASES={"default": database}, INSTALLED_APPS=apps, USE_TZ=True, TIME_ZONE="UTC")
    django.setup()
    call_command("migrate", verbosity=0, interactive=False)


def _lay_down(size: int) -> None:
    from django.utils.timezone import now
    from django_celery_beat.models import CrontabSchedule, PeriodicTask, PeriodicTasks

    every_minute = CrontabSchedule.objects.create(minute="*")
    PeriodicTask.objects.bulk_create(
        PeriodicTask(name=f"task {n}", task="noop", crontab=every_minute, last_run_at=now() - timedelta(hours=1))
        for n in range(size)
    )
    PeriodicTasks.update_changed()


if __name__ == "__main__":
    main()
