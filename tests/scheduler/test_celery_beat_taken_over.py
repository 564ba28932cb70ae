"""Rows that were imported are taken from beat, and rows may come from another system's database."""

from collections.abc import Iterator
from copy import deepcopy
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import pytest
import pytest_django
from celery import current_app
from django.core.management import CommandError, call_command
from django.db import connections
from django_celery_beat.models import (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
    PeriodicTasks,
    SolarSchedule,
)
from django_celery_beat.schedulers import DatabaseScheduler

from project.services import PostgreSQL
from scheduler import schedules
from scheduler.importing import beat_rows
from scheduler.models import Schedule
from tests.scheduler.factories import DAY, MINUTE, NOW, SECOND
from tests.scheduler.periodic import Run, every, imported, only, outcomes, periodic, run, sunset

__all__ = ["run"]  # the fixture

pytestmark = pytest.mark.django_db

TAKE_OVER = ("--apply", "--take-over")
MODELS = (CrontabSchedule, IntervalSchedule, SolarSchedule, ClockedSchedule, PeriodicTasks, PeriodicTask)


def enabled_in_beat() -> list[str]:
    return list(PeriodicTask.objects.filter(enabled=True).order_by("pk").values_list("name", flat=True))


def stamped() -> datetime | None:
    """Return when beat was last told that its rows have changed."""
    return PeriodicTasks.last_change()


@pytest.fixture
def beat(transactional_db: None) -> DatabaseScheduler:
    """A beat that has read its rows; it closes and commits as it likes."""
    scheduler = DatabaseScheduler(app=current_app, lazy=True)
    scheduler.schedule  # noqa: B018 - it is read for its effect
    return scheduler


# --- from beat to here -------------------------------------------------------------------------------------------


def test_what_fires_here_is_disabled_in_beat_and_beat_is_told(run: Run) -> None:
    periodic(name="Invoices")
    periodic(sunset(), name="Lamps")
    report = run(*TAKE_OVER)
    assert outcomes(report) == ["imported", "not imported"]
    assert report["rows"][0]["reason"] == "It is disabled in beat now."
    assert [row["runs_in_beat"] for row in report["rows"]] == [False, True]
    assert enabled_in_beat() == ["Lamps"]
    assert stamped() == NOW


def test_a_dry_run_disables_nothing(run: Run) -> None:
    periodic(name="Invoices")
    assert outcomes(run("--take-over")) == ["to import"]
    assert enabled_in_beat() == ["Invoices"]
    assert stamped() == NOW - DAY


def test_without_the_word_beat_runs_on(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    periodic(name="Invoices")
    call_command("import_celery_beat", "--apply")
    assert "Beat runs 1 of these: --apply --take-over disables them there" in capsys.readouterr().out
    assert enabled_in_beat() == ["Invoices"]


def test_a_later_import_takes_over_what_an_earlier_one_brought(run: Run) -> None:
    periodic()
    imported(run)
    row = only(run(*TAKE_OVER))
    assert (row["outcome"], row["reason"]) == ("already imported", "It is disabled in beat now.")
    assert enabled_in_beat() == []
    assert only(run(*TAKE_OVER))["reason"] == ""


def test_what_does_not_fire_here_is_left_to_beat(run: Run) -> None:
    """Taken over, it would run nowhere."""
    periodic(name="paused here")
    schedules.pause(imported(run), now=NOW, reason="holidays")
    periodic(name="broken here")
    run("--apply")
    Schedule.objects.filter(name="broken here").update(broken_reason="no such zone", next_run_at=None)
    changed = periodic(name="changed there")
    run("--apply")
    PeriodicTask.objects.filter(pk=changed.pk).update(args='["x"]')
    periodic(name="refused", args="[")
    periodic(name="unknown", task="legacy.sync")
    run(*TAKE_OVER)
    assert enabled_in_beat() == ["paused here", "broken here", "changed there", "refused", "unknown"]


def test_a_running_beat_drops_the_rows_at_its_next_look(run: Run, beat: DatabaseScheduler) -> None:
    periodic(every(1, "seconds"), name="Poll")
    assert "Poll" in read_again(beat)
    run(*TAKE_OVER)
    assert "Poll" not in beat.schedule


def test_a_beat_that_writes_its_last_run_afterwards_does_not_enable_the_row_again(
    run: Run, beat: DatabaseScheduler
) -> None:
    periodic(every(1, "seconds"), name="Poll")
    beat.reserve(read_again(beat)["Poll"])  # sent, and not yet written down
    run(*TAKE_OVER)
    beat.sync()
    row = PeriodicTask.objects.get()
    assert (row.enabled, row.last_run_at) == (False, None)


def test_beat_notices_also_where_its_clock_was_ahead(run: Run, beat: DatabaseScheduler) -> None:
    periodic(every(1, "seconds"), name="Poll")
    PeriodicTasks.objects.update(last_update=NOW + DAY)
    assert "Poll" in read_again(beat)
    run(*TAKE_OVER)
    assert stamped() == NOW + DAY + timedelta.resolution
    assert "Poll" not in beat.schedule


def read_again(beat: DatabaseScheduler) -> dict[str, object]:
    """Have beat read its rows, as it does each five minutes."""
    beat.schedule_changed()
    beat._initial_read = True
    entries: dict[str, object] = beat.schedule
    return entries


def test_enabled_again_in_beat_a_row_counts_from_the_take_over(run: Run) -> None:
    periodic(every(1, "days"), last_run_at=NOW - DAY + SECOND, changed=NOW - 30 * DAY)
    run(*TAKE_OVER)
    row = PeriodicTask.objects.get()
    assert (row.last_run_at, row.date_changed) == (None, NOW)


def test_import_and_take_over_are_one_transaction(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object) -> None:
        raise RuntimeError("the machine stops here")

    periodic(name="Invoices")
    monkeypatch.setattr(beat_rows, "_tell_beat", fail)
    with pytest.raises(RuntimeError):
        call_command("import_celery_beat", *TAKE_OVER)
    assert enabled_in_beat() == ["Invoices"]
    assert not Schedule.objects.exists()


def test_after_a_take_over_a_person_is_told_that_beat_needs_a_moment(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    periodic()
    call_command("import_celery_beat", *TAKE_OVER)
    assert "Beat notices within seconds what is disabled; what falls due before that, both may run." in (
        capsys.readouterr().out
    )


# --- from another database ---------------------------------------------------------------------------------------


@pytest.fixture
def any_database(db: None, django_db_blocker: pytest_django.DjangoDbBlocker) -> Iterator[None]:
    """Let the test connect to databases that the settings do not name."""
    with django_db_blocker.unblock():
        yield


@pytest.fixture
def old_system(any_database: None, tmp_path: Path) -> str:
    """The SQLite file of another system, with one row; its URL."""
    url = f"sqlite:///{tmp_path / 'old.sqlite3'}"
    (tmp_path / "old.sqlite3").touch()
    with beat_rows.beat_at(url) as old:
        fill(old.alias)
    return url


def fill(alias: str) -> None:
    """Make the tables of django-celery-beat in that database, and one row that is due each ten minutes."""
    with connections[alias].schema_editor() as editor:
        for model in MODELS:
            editor.create_model(model)
    interval = IntervalSchedule.objects.using(alias).create(every=10, period="minutes")
    row = PeriodicTask(name="Old", task="shop.invoice", interval=interval, last_run_at=NOW - 3 * MINUTE)
    PeriodicTask.objects.using(alias).bulk_create([row])


def test_the_rows_of_another_database_are_imported_once(run: Run, old_system: str) -> None:
    periodic(name="own")
    schedule = imported(run, "--database-url", old_system)
    assert (schedule.name, schedule.next_run_at) == ("Old", NOW + 7 * MINUTE)
    assert outcomes(run("--apply", "--database-url", old_system)) == ["already imported"]
    assert outcomes(run("--apply")) == ["imported"]
    assert set(Schedule.objects.values_list("name", flat=True)) == {"Old", "own"}


def test_the_rows_of_another_database_are_taken_over_there(run: Run, old_system: str) -> None:
    run(*TAKE_OVER, "--database-url", old_system)
    with beat_rows.beat_at(old_system) as old:
        assert PeriodicTask.objects.using(old.alias).get().enabled is False
        assert PeriodicTasks.objects.using(old.alias).get().last_update == NOW


@pytest.mark.usefixtures("any_database")
def test_another_postgresql_is_read_and_taken_over_too(run: Run, postgresql_server: PostgreSQL) -> None:
    with beat_rows.beat_at(postgresql_server.url) as old:
        fill(old.alias)
    assert outcomes(run(*TAKE_OVER, "--database-url", postgresql_server.url)) == ["imported"]
    assert only(run("--database-url", postgresql_server.url))["runs_in_beat"] is False


def test_of_a_connection_to_another_database_nothing_stays(run: Run, old_system: str) -> None:
    before = deepcopy(connections.settings)
    run("--database-url", old_system)
    assert connections.settings == before
    assert [connection.alias for connection in connections.all(initialized_only=True)] == ["default"]


def test_tidelines_own_database_is_its_own_by_whatever_url(run: Run) -> None:
    settings = connections["default"].settings_dict
    periodic()
    imported(run)
    place = f"{quote(settings['HOST'], safe='')}:{settings['PORT'] or 5432}"
    url = f"postgresql://somebody:else@{place}/{settings['NAME']}"
    assert outcomes(run("--database-url", url)) == ["already imported"]


@pytest.mark.usefixtures("any_database")
@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("nonsense", "This is no URL of a database: say postgresql://user@host:5432/name."),
        (
            "postgresql://user:hush@host:port/name",
            "This is no URL of a database: say postgresql://user@host:5432/name.",
        ),
        ("sqlite:////no/such/file", "There is no such file."),
        ("postgresql://user:hush@127.0.0.1:1/name", "The database cannot be used: connection failed"),
        ("mysql://user:hush@127.0.0.1:1/name", "The database cannot be used: Error loading MySQLdb module"),
    ],
)
def test_a_database_that_cannot_be_used_is_one_sentence_without_its_password(url: str, said: str) -> None:
    before = set(connections)
    with pytest.raises(CommandError) as refusal:
        call_command("import_celery_beat", "--database-url", url)
    assert str(refusal.value).startswith(said)
    assert "hush" not in str(refusal.value)
    assert set(connections) == before


@pytest.mark.usefixtures("any_database")
def test_a_database_without_the_rows_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "empty.sqlite3").touch()
    with pytest.raises(CommandError, match="The database cannot be used: no such table: django_celery_beat"):
        call_command("import_celery_beat", "--database-url", f"sqlite:///{tmp_path / 'empty.sqlite3'}")
