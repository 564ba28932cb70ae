"""Rows of django-celery-beat, and the command that imports them at noon on the 1st of June 2026."""

import itertools
import json
from collections.abc import Callable
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from celery import shared_task
from django.core.management import CommandError, call_command
from django_celery_beat.models import (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
    PeriodicTasks,
    SolarSchedule,
)

from scheduler.management.commands import import_celery_beat
from scheduler.models import Schedule
from tests.scheduler.factories import DAY, NOW

Run = Callable[..., dict[str, Any]]

_numbers = itertools.count(1)


@shared_task(name="shop.invoice")
def invoice(customer: str, *, copies: int = 1) -> str:
    """A task as a team has it."""
    return f"{copies} for {customer}"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command at noon and return its JSON, with its complaint if it failed."""
    monkeypatch.setattr(import_celery_beat, "database_now", lambda: NOW)

    def run_command(*args: str) -> dict[str, Any]:
        complaint = None
        try:
            call_command("import_celery_beat", *args, "--json")
        except CommandError as error:
            complaint = str(error)
        return json.loads(capsys.readouterr().out) | {"complaint": complaint}

    return run_command


def crontab(text: str = "30 2 * * *", zone: str = "Europe/Berlin") -> CrontabSchedule:
    """Insert a crontab of five fields in cron's order."""
    minute, hour, day, month, weekday = text.split(" ")
    return CrontabSchedule.objects.create(
        minute=minute,
        hour=hour,
        day_of_month=day,
        month_of_year=month,
        day_of_week=weekday,
        timezone=ZoneInfo(zone),
    )


def every(number: int, period: str) -> IntervalSchedule:
    return IntervalSchedule.objects.create(every=number, period=period)


def clocked(at: datetime) -> ClockedSchedule:
    return ClockedSchedule.objects.create(clocked_time=at)


def sunset() -> SolarSchedule:
    return SolarSchedule.objects.create(event="sunset", latitude=52.52, longitude=13.4)


def periodic(schedule: Any = None, *, changed: datetime = NOW - DAY, **fields: Any) -> PeriodicTask:
    """Insert a row as beat leaves it in the database: nightly at half past two in Berlin, unless a schedule is given.

    Args:
        changed: when it was last saved.
    """
    schedule = schedule or crontab()
    kind = {
        CrontabSchedule: "crontab",
        IntervalSchedule: "interval",
        ClockedSchedule: "clocked",
        SolarSchedule: "solar",
    }[type(schedule)]
    values = {"name": f"row {next(_numbers)}", "task": "shop.invoice", kind: schedule} | fields
    row = PeriodicTask(**values)
    PeriodicTask.objects.bulk_create([row])
    PeriodicTask.objects.filter(pk=row.pk).update(date_changed=changed)
    PeriodicTasks.objects.update_or_create(ident=1, defaults={"last_update": NOW - DAY})
    return row


def only(report: dict[str, Any]) -> dict[str, Any]:
    """Return the report's only row."""
    (row,) = report["rows"]
    return row


def outcomes(report: dict[str, Any]) -> list[str]:
    return [row["outcome"] for row in report["rows"]]


def imported(run: Run, *args: str) -> Schedule:
    """Import, and return the only schedule."""
    report = run("--apply", *args)
    assert outcomes(report) == ["imported"], report
    return Schedule.objects.get()
