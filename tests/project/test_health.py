"""Alive and ready: what a supervisor is told."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django_celery_beat.models import IntervalSchedule, PeriodicTask
from pytest_django import Settings

from project.beat import SCANS
from project.kit.clock import database_now
from project.models import ScanMark
from project.scans import mark
from project.services import Redis

READY = {"database", "migrations", "redis", "scans"}


def ask(address: str = "/readyz") -> tuple[int, Any]:
    """Return the status and the JSON of an answer."""
    response = Client().get(address)
    return response.status_code, json.loads(response.content)


def parts_that_fail(answer: dict[str, Any]) -> set[str]:
    """Return the parts that are not ready."""
    assert set(answer["parts"]) == READY
    return {name for name, part in answer["parts"].items() if not part["ok"]}


@pytest.fixture
def scanned(db: None) -> None:
    """All scans were done just now."""
    for name in SCANS:
        mark(name, by="a worker")


def test_alive_asks_nobody() -> None:  # no database is allowed here
    response = Client().get("/healthz")
    assert (response.status_code, response.content) == (200, b"ok")


def test_a_probe_changes_nothing() -> None:
    assert Client().post("/healthz").status_code == 405
    assert Client().post("/readyz").status_code == 405


def test_ready_when_all_parts_are(scanned: None) -> None:
    status, answer = ask()
    assert (status, answer["ready"], parts_that_fail(answer)) == (200, True, set())


@pytest.mark.django_db
def test_only_the_parts_that_are_asked_for_matter() -> None:
    status, answer = ask("/readyz?part=database&part=migrations")
    assert (status, set(answer["parts"])) == (200, {"database", "migrations"})


def test_a_part_that_does_not_exist_is_not_ready() -> None:
    status, answer = ask("/readyz?part=weather")
    assert status == 503
    assert answer["parts"]["weather"]["says"].startswith("There is no such part. Ask for database,")


@pytest.mark.django_db
def test_not_ready_before_the_first_scan() -> None:
    status, answer = ask()
    assert (status, parts_that_fail(answer)) == (503, {"scans"})
    assert all(name in answer["parts"]["scans"]["says"] for name in SCANS)


def test_a_scan_of_which_beat_has_just_learnt_is_awaited_and_not_missing(scanned: None) -> None:
    name = "correct next runs"
    ScanMark.objects.filter(name=name).delete()
    assert parts_that_fail(ask()[1]) == {"scans"}
    interval = IntervalSchedule.objects.create(every=10, period=IntervalSchedule.MINUTES)
    PeriodicTask.objects.create(name=name, task=SCANS[name].task, interval=interval)
    assert ask()[0] == 200
    PeriodicTask.objects.update(date_changed=database_now() - timedelta(hours=1))
    assert parts_that_fail(ask()[1]) == {"scans"}


def test_not_ready_when_one_scan_stays_away(scanned: None) -> None:
    silent = next(iter(SCANS))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE project_scanmark SET last_at = last_at - interval '1 hour' WHERE name = %s", [silent])
    status, answer = ask()
    assert (status, parts_that_fail(answer)) == (503, {"scans"})
    assert answer["parts"]["scans"]["says"].startswith(f"Not done lately: {silent}.")


def test_not_ready_without_redis(scanned: None, redis_server: Redis, settings: Settings) -> None:
    settings.REDIS_URL = redis_server.url
    assert ask()[0] == 200
    redis_server.stop()
    status, answer = ask()
    assert (status, parts_that_fail(answer)) == (503, {"redis"})
    assert redis_server.url not in str(answer)


def test_not_ready_while_migrations_are_missing(scanned: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'scheduler'")
    status, answer = ask()
    assert (status, parts_that_fail(answer)) == (503, {"migrations"})
    assert "manage.py migrate" in answer["parts"]["migrations"]["says"]


def test_not_ready_without_the_database_and_says_nothing_of_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    from django.db import OperationalError

    def refuse(*args: object) -> None:
        raise OperationalError("connection to host db.internal failed: password of tideline is wrong")

    monkeypatch.setattr("project.health.database_now", refuse)
    monkeypatch.setattr("project.health.MigrationExecutor", refuse)
    status, answer = ask()
    assert (status, parts_that_fail(answer)) == (503, {"database", "migrations", "scans"})
    assert "db.internal" not in str(answer)


def test_marks_of_scans_that_are_gone_do_not_matter(scanned: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE project_scanmark SET last_at = last_at - interval '1 hour', name = 'old ' || name")
    for name in SCANS:
        mark(name, by="a worker")
    assert ask()[0] == 200
    assert ScanMark.objects.count() == 2 * len(SCANS)
