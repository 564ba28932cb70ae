"""django-celery-beat on SQLite under a clock that is set: its scheduler ticks, and what it sends is noted, not sent."""

import atexit
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import django
import time_machine
from celery import Celery
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management import call_command

from tests.comparison import faults
from tests.comparison.cases import Case
from tests.comparison.peers.answering import LeftOut, answers, report

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
FOLDER = Path(tempfile.mkdtemp(prefix="comparison-"))
SENT = FOLDER / "sent"
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)

app = Celery("peer", broker="memory://", set_as_current=True)
app.conf.update(timezone="UTC", result_expires=None, task_ignore_result=True)


def main() -> None:
    """Put the cases and the faults to it."""
    database = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(FOLDER / "database")}
    installed = ["django.contrib.contenttypes", "django_celery_beat"]
    settings.configure(DATABASES={"default": database}, INSTALLED_APPS=installed, USE_TZ=True, TIME_ZONE="UTC")
    django.setup()
    call_command("migrate", verbosity=0, interactive=False)
    seen = {
        name: performed(fault)
        for name, fault in {
            faults.AWAY: away,
            faults.SWITCHED: switched,
            faults.UPDATED: updated,
            faults.KILLED: killed,
            faults.DOUBLED: doubled,
            faults.SUSPENDED: suspended,
            faults.BROKEN: broken,
            faults.SEVEN: seven,
        }.items()
    }
    report("django-celery-beat", "celery", cron=answers(ask, ValidationError), faults=seen)


# --- cron -------------------------------------------------------------------------------------------------------------


def ask(case: Case) -> Iterator[datetime]:
    """Yield each instant at which its entry is due when it is asked minute by minute; by the hour over years."""
    from django_celery_beat.schedulers import ModelEntry

    row = _accepted(case)
    try:
        entry = ModelEntry(row, app=app)
    except ValueError as error:  # which its scheduler passes over
        raise LeftOut from error
    step = MINUTE if case.until - case.after < 400 * DAY else HOUR
    now = case.after
    entry.schedule.nowfun = lambda: now.astimezone(entry.schedule.tz)
    entry.last_run_at = now - MINUTE
    while now < case.until:
        if entry.is_due().is_due:
            yield now
            entry.last_run_at = now
        now += step


def _accepted(case: Case) -> Any:
    from django_celery_beat.models import CrontabSchedule, PeriodicTask

    minute, hour, day, month, weekday = case.cron.split()
    crontab = CrontabSchedule(
        minute=minute, hour=hour, day_of_month=day, month_of_year=month, day_of_week=weekday, timezone=case.zone
    )
    crontab.full_clean()
    return PeriodicTask(name="case", task="noop", crontab=crontab, last_run_at=case.after)


# --- faults -----------------------------------------------------------------------------------------------------------


def performed(fault: Callable[[], str]) -> str:
    """Perform a fault with no rows and nothing sent."""
    from django_celery_beat.models import PeriodicTask

    PeriodicTask.objects.all().delete()
    SENT.write_text("")
    return fault()


def away() -> str:
    """Down over the instant of a daily task."""
    task(crontab(hour="2"), last_run_at=NOON.replace(hour=2))
    scheduler = None
    for now in minutes(NOON.replace(hour=5) + DAY, NOON.replace(hour=3) + 2 * DAY):
        with at(now):
            scheduler = scheduler or new_scheduler()
            tick(scheduler)
    return sent()


def switched() -> str:
    """Off and on by what the actions of its admin's list do."""
    return _off_and_on(enabled=False, last_run_at=None)


def updated() -> str:
    """Off and on by a bulk update."""
    return _off_and_on(enabled=False)


def _off_and_on(**off: Any) -> str:
    from django_celery_beat.models import PeriodicTask, PeriodicTasks

    task(crontab(hour="*"), last_run_at=NOON - HOUR)
    with at(NOON):
        PeriodicTask.objects.update(**off)
        PeriodicTasks.update_changed()
        scheduler = new_scheduler()
        tick(scheduler)
    with at(NOON + 3 * HOUR + 10 * MINUTE):
        PeriodicTask.objects.update(enabled=True)
        PeriodicTasks.update_changed()
    for now in minutes(NOON + 3 * HOUR + 10 * MINUTE, NOON + 4 * HOUR + MINUTE):
        with at(now):
            tick(scheduler)
    return sent()


def killed() -> str:
    """A real SIGKILL, in a process of its own, after the task was sent."""
    from django.db import connections
    from django_celery_beat.models import ClockedSchedule

    clocked = ClockedSchedule.objects.create(clocked_time=NOON)
    task(clocked=clocked, one_off=True, last_run_at=None)
    connections.close_all()
    child = os.fork()
    if not child:
        with at(NOON):
            tick(new_scheduler())
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    with at(NOON + MINUTE):
        tick(new_scheduler())
    return sent()


def doubled() -> str:
    """Two of them at once."""
    task(crontab(hour="2"), last_run_at=NOON.replace(hour=2))
    with at(NOON.replace(hour=1, minute=59) + DAY):
        schedulers = [new_scheduler(), new_scheduler()]
    for now in minutes(NOON.replace(hour=1, minute=59) + DAY, NOON.replace(hour=2, minute=2) + DAY):
        for scheduler in schedulers:
            with at(now):
                tick(scheduler)
    return sent()


def suspended() -> str:
    """One process, whose clock jumps."""
    task(crontab(hour="*", minute="*"), last_run_at=NOON - MINUTE)
    with at(NOON):
        scheduler = new_scheduler()
        tick(scheduler)
    SENT.write_text("")
    with at(NOON + 3 * HOUR):
        tick(scheduler)
    return sent()


def broken() -> str:
    """A day that never comes, beside an hourly task."""
    task(crontab(hour="*"), last_run_at=NOON - HOUR)
    task(crontab(hour="12", day_of_month="31", month_of_year="4"), name="broken", last_run_at=NOON - DAY)
    with at(NOON):
        scheduler = new_scheduler()
        tick(scheduler)
    return sent() + _silence(scheduler, "broken")


def seven() -> str:
    """Weekday 7."""
    task(crontab(hour="8", day_of_week="7"), last_run_at=NOON)
    with at(NOON.replace(day=7, hour=7, minute=58)):
        scheduler = new_scheduler()
    for now in minutes(NOON.replace(day=7, hour=7, minute=58), NOON.replace(day=7, hour=8, minute=5)):
        with at(now):
            tick(scheduler)
    return sent() + _silence(scheduler, "task")


def _silence(scheduler: Any, name: str) -> str:
    """Say whether an enabled row was left out."""
    from django_celery_beat.models import PeriodicTask

    enabled = PeriodicTask.objects.filter(name=name, enabled=True).exists()
    return "; the row is left out without a word" if enabled and name not in scheduler.schedule else ""


def crontab(**fields: str) -> Any:
    """Insert its crontab, which its own validation accepts, at the full hour unless the fields say otherwise."""
    from django_celery_beat.models import CrontabSchedule

    row = CrontabSchedule(**{"minute": "0", "timezone": "UTC"} | fields)
    row.full_clean()
    row.save()
    return row


def task(crontab: Any = None, *, name: str = "task", **fields: Any) -> None:
    """Insert its periodic task."""
    from django_celery_beat.models import PeriodicTask

    with at(NOON - DAY):
        PeriodicTask.objects.bulk_create([PeriodicTask(name=name, task="noop", crontab=crontab, **fields)])


def new_scheduler() -> Any:
    """Start its scheduler, which notes what it sends."""
    from django_celery_beat.schedulers import DatabaseScheduler

    class Noting(DatabaseScheduler):
        def apply_async(self, entry: Any, *_: Any, **__: Any) -> None:
            self.reserve(entry)
            with SENT.open("a") as file:
                file.write(time.strftime("%m-%d %H:%M\n", time.gmtime()))

    return Noting(app=app)


def tick(scheduler: Any) -> None:
    """Let it do all that it does in a minute: it checks its rows each tick, and sends one task a tick."""
    for _ in range(4):
        scheduler.tick()


def at(now: datetime) -> Any:
    """Set the clock."""
    return time_machine.travel(now, tick=False)


def minutes(start: datetime, end: datetime) -> Iterator[datetime]:
    """Yield each minute."""
    while start < end:
        yield start
        start += MINUTE


def sent() -> str:
    """Return what was sent, in words."""
    lines = SENT.read_text().splitlines()
    return f"sent at {', '.join(lines)}" if lines else "nothing is sent"


if __name__ == "__main__":
    main()
