"""Is all well: what the doctor finds, what it says to do, and what it tells scripts."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from celery.app.control import Inspect
from django.conf import settings as django_settings
from django.core import checks
from django.core.management import call_command
from django.db import OperationalError, connection
from pytest_django import Settings
from redis import Redis as Client

from project import doctor
from project.beat import SCANS
from project.kit.findings import Finding, Level
from project.scans import mark
from project.services import Redis
from scheduler.polling import examining
from tests.scheduler.polling.factories import make_account

QUEUES = {"worker@here": ["scans"], "runner@here": ["runs"], "notifier@here": ["alerts"]}
Readers = dict[str, list[str]]


@pytest.fixture(autouse=True)
def readers(monkeypatch: pytest.MonkeyPatch) -> Readers:
    """Which queues the workers say that they read; a test may change it."""
    said = dict(QUEUES)

    def active_queues(inspect: Inspect) -> Any:
        return {worker: [{"name": name} for name in names] for worker, names in said.items()}

    monkeypatch.setattr(Inspect, "active_queues", active_queues)
    return said


@pytest.fixture(autouse=True)
def _settings_are_fine(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    settings.PLAIN_HTTP = False
    monkeypatch.setattr(checks, "run_checks", lambda **options: [])


@pytest.fixture
def scanned(db: None) -> None:
    """All scans were done just now."""
    for name in SCANS:
        mark(name, by="a worker")


def found(part: str, level: Level) -> list[Finding]:
    """Return what is found of a part, on one level."""
    return [finding for finding in doctor.examine() if (finding.part, finding.level) == (part, level)]


def troubles() -> dict[str, str]:
    """Return the parts that are in trouble, and what to do."""
    return {finding.part: finding.remedy for finding in doctor.examine() if finding.level is Level.TROUBLE}


def test_all_is_well_where_it_is(scanned: None, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("doctor")
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "All is well."
    assert all(line.startswith("ok ") for line in lines[:-2])


def test_trouble_ends_with_a_status_for_scripts_and_says_what_to_do(
    scanned: None, readers: Readers, capsys: pytest.CaptureFixture[str]
) -> None:
    del readers["runner@here"]
    with pytest.raises(SystemExit) as ended:
        call_command("doctor")
    assert ended.value.code == 3
    lines = capsys.readouterr().out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("TROUBLE"))
    assert lines[at].endswith("Nobody reads the queue runs.")
    assert lines[at + 1].endswith("→ Start the process runner of the Procfile.")
    assert lines[-1] == "1 trouble."


def test_programs_get_the_same_as_json(scanned: None, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("doctor", "--json")
    told = json.loads(capsys.readouterr().out)
    assert told["well"] is True
    assert {"part", "level", "says", "remedy"} == set(told["findings"][0])
    assert {finding["level"] for finding in told["findings"]} == {"well"}


@pytest.mark.django_db
def test_scans_that_do_not_run_are_trouble() -> None:
    assert troubles() == {"scans": "Start beat and a worker: see the Procfile."}


def test_migrations_that_are_missing_are_trouble(scanned: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'scheduler'")
    assert troubles() == {"migrations": "Run: manage.py migrate"}


def test_without_the_database_it_says_what_it_can_without_it(
    scanned: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*args: object) -> None:
        raise OperationalError("connection to db.internal failed")

    monkeypatch.setattr("project.health.database_now", refuse)
    monkeypatch.setattr("project.health.MigrationExecutor", refuse)
    with pytest.raises(SystemExit):
        call_command("doctor")
    told = capsys.readouterr().out
    assert "Start PostgreSQL, or correct DATABASE_URL." in told
    assert "migrate" not in told
    assert "Start beat" not in told
    assert "drops no keys" in told
    assert "db.internal" not in told


def test_without_redis_it_says_what_it_can_without_it(scanned: None, redis_server: Redis, settings: Settings) -> None:
    settings.REDIS_URL = redis_server.url
    redis_server.stop()
    assert troubles() == {"redis": "Start Redis, or correct REDIS_URL."}
    assert found("PostgreSQL", Level.WELL)


def test_a_redis_that_fails_amid_the_look_is_no_crash(scanned: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(redis: Client) -> None:
        raise ConnectionError

    monkeypatch.setattr(examining, "examine", away)
    assert troubles() == {"doctor": "Ask it once more."}


# --- the servers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "level"), [(13, Level.TROUBLE), (14, Level.WELL), (18, Level.WELL), (19, Level.WARNING)]
)
def test_a_postgresql_that_nobody_has_tried_is_told(
    version: int, level: Level, scanned: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_version_of_postgresql", lambda: version)
    assert len(found("PostgreSQL", level)) == 1


@pytest.fixture
def redis_says(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return what makes Redis say something else of itself."""
    info = Client.info

    def say(**said: Any) -> None:
        monkeypatch.setattr(Client, "info", lambda client: info(client) | said)

    return say


@pytest.mark.parametrize(
    ("said", "level", "sentence"),
    [
        ({"maxmemory_policy": "noeviction"}, Level.WELL, "It drops no keys when its memory is full (noeviction)."),
        ({"maxmemory_policy": "allkeys-lru"}, Level.WARNING, "(allkeys-lru); it has no limit yet."),
        ({"maxmemory_policy": "volatile-lru", "maxmemory": 2**30}, Level.TROUBLE, "(volatile-lru), at 1,024 MiB."),
        ({"used_memory": 950 * 2**20, "maxmemory": 1000 * 2**20}, Level.WARNING, "It uses 950 MiB of 1,000 MiB."),
        ({"redis_version": "6.0.16"}, Level.TROUBLE, "It is version 6.0.16."),
    ],
)
def test_a_redis_that_could_lose_or_refuse_keys_is_told(
    said: dict[str, Any], level: Level, sentence: str, scanned: None, redis_says: Callable[..., None]
) -> None:
    redis_says(**said)
    assert any(finding.says.endswith(sentence) for finding in found("Redis", level))


def test_valkey_is_called_by_its_name_and_version(scanned: None, redis_says: Callable[..., None]) -> None:
    redis_says(valkey_version="8.1.1", redis_version="7.2.4")
    assert Finding("Valkey", Level.WELL, "It is version 8.1.1.") in found("Valkey", Level.WELL)


# --- the rest --------------------------------------------------------------------------------------------------


def test_what_the_system_checks_say_is_told_with_its_hint(scanned: None, monkeypatch: pytest.MonkeyPatch) -> None:
    said = [checks.Error("It is wrong.", "Correct it.", id="a.E001"), checks.Warning("It is odd.", id="a.W001")]
    monkeypatch.setattr(checks, "run_checks", lambda **options: said)
    assert found("settings", Level.TROUBLE) == [
        Finding("settings", Level.TROUBLE, "It is wrong. (a.E001)", "Correct it.")
    ]
    assert found("settings", Level.WARNING) == [Finding("settings", Level.WARNING, "It is odd. (a.W001)")]


def test_what_plain_http_is_warned_of_is_one_warning(
    scanned: None, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [checks.Warning("No HSTS.", id="security.W004"), checks.Warning("No secure cookie.", id="security.W012")]
    monkeypatch.setattr(checks, "run_checks", lambda **options: said)
    assert len(found("settings", Level.WARNING)) == 2
    settings.PLAIN_HTTP = True
    (finding,) = found("settings", Level.WARNING)
    assert finding.remedy == "Set TIDELINE_PLAIN_HTTP to 0."


def test_a_check_that_somebody_has_silenced_says_nothing(
    scanned: None, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SILENCED_SYSTEM_CHECKS = ["a.W001"]
    monkeypatch.setattr(checks, "run_checks", lambda **options: [checks.Warning("It is odd.", id="a.W001")])
    assert found("settings", Level.WARNING) == []


def test_the_polling_is_looked_at_as_well(scanned: None) -> None:
    make_account(name="acme", gateway="unheard of")
    assert "“acme” cannot be asked" in found(examining.ACCOUNTS, Level.TROUBLE)[0].says


def test_no_address_and_no_password_is_told(scanned: None, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("doctor")
    assert django_settings.REDIS_URL not in capsys.readouterr().out
