"""`manage.py import_celery_beat`: every row is accounted for, twice is once, and nothing floods."""

from datetime import datetime
from typing import Any

import pytest
from django.core.management import call_command
from django_celery_beat.models import CrontabSchedule, PeriodicTask

from project.kit.clock import database_now
from scheduler import schedules
from scheduler.executing import execute
from scheduler.firing import fire_due
from scheduler.identity import become_worker
from scheduler.models import Schedule, TaskRun
from scheduler.states import RunState
from tests.scheduler.factories import DAY, NOW, launched, utc
from tests.scheduler.periodic import Run, clocked, every, imported, only, outcomes, periodic, run, sunset

__all__ = ["run"]  # the fixture

pytestmark = pytest.mark.django_db


# --- dry run and import ------------------------------------------------------------------------------------------


def test_without_apply_every_row_is_listed_and_nothing_is_written(run: Run) -> None:
    periodic(name="Invoices", args='["acme"]')
    periodic(sunset())
    report = run()
    assert outcomes(report) == ["to import", "not imported"]
    invoices = report["rows"][0]
    assert (invoices["schedule"], invoices["cron"], invoices["timezone"]) == ("Invoices", "30 2 * * *", "Europe/Berlin")
    assert invoices["params"] == {"task": "shop.invoice", "args": ["acme"]}
    assert invoices["next_run_at"] == "2026-06-02T00:30:00+00:00"
    assert invoices["runs_in_beat"] is True
    assert report["complaint"] is None
    assert not Schedule.objects.exists()
    assert PeriodicTask.objects.filter(enabled=True).count() == 2


def test_apply_creates_schedules_for_the_job_celery(run: Run) -> None:
    periodic(name="Invoices", args='["acme"]', kwargs='{"copies": 2}', description="For the bookkeeper.")
    schedule = imported(run)
    assert (schedule.name, schedule.job, schedule.enabled) == ("Invoices", "celery", True)
    assert schedule.params == {"task": "shop.invoice", "args": ["acme"], "kwargs": {"copies": 2}}
    assert (schedule.cron, schedule.timezone) == ("30 2 * * *", "Europe/Berlin")
    assert schedule.description.startswith("For the bookkeeper.\n\nImported from django-celery-beat: Invoices: 30 2")


def test_what_was_imported_executes_the_task(run: Run) -> None:
    periodic(args='["acme"]', kwargs='{"copies": 2}')
    imported(run)
    fire_due(now=utc("2026-06-02 00:30"))
    opened = TaskRun.objects.get()
    execute(launched(opened, now=database_now()), become_worker(), database_now)
    done = TaskRun.objects.get()
    assert (done.state, done.result, str(done.stat_date)) == (RunState.DONE, "2 for acme", "2026-06-02")


def test_the_same_import_twice_changes_nothing(run: Run) -> None:
    periodic()
    periodic(every(10, "seconds"), last_run_at=NOW - DAY)
    periodic(every(1, "hours"), enabled=False)
    run("--apply")
    before = list(Schedule.objects.values())
    assert outcomes(run("--apply")) == ["already imported"] * 3
    assert list(Schedule.objects.values()) == before


def test_what_beat_counts_or_a_person_renames_there_is_no_change(run: Run) -> None:
    row = periodic()
    imported(run)
    row.last_run_at, row.total_run_count, row.name, row.description = NOW, 7, "Renamed", "Now with words."
    row.save()
    assert only(run("--apply"))["outcome"] == "already imported"


def test_a_person_may_rename_change_and_pause_what_was_imported(run: Run) -> None:
    periodic()
    schedule = imported(run)
    schedule.name, schedule.cron = "Nightly", "0 4 * * *"
    schedules.save_changes(schedule, expected_version=schedule.version, now=NOW)
    schedules.pause(schedule, now=NOW, reason="holidays")
    row = only(run("--apply"))
    assert (row["outcome"], row["schedule"], row["next_run_at"]) == ("already imported", "Nightly", None)
    assert row["reason"] == "It is paused here."


@pytest.mark.parametrize(
    "change",
    [{"args": '["other"]'}, {"queue": "fast"}, {"expire_seconds": 9}, {"one_off": True}, {"task": "shop.other"}],
    ids=str,
)
def test_a_row_that_was_changed_in_beat_is_reported_and_its_schedule_left_alone(
    run: Run, change: dict[str, Any]
) -> None:
    changing = periodic()
    schedule = imported(run)
    PeriodicTask.objects.filter(pk=changing.pk).update(**change)
    row = only(run("--apply"))
    assert (row["outcome"], row["schedule"]) == ("changed since its import", schedule.name)
    assert row["reason"] == "Change the schedule here too, or delete it and import the row again. Both run it."
    assert Schedule.objects.get().version == schedule.version


def test_a_crontab_that_was_changed_in_beat_is_reported_too(run: Run) -> None:
    periodic()
    imported(run)
    CrontabSchedule.objects.update(hour="3")
    assert only(run("--apply"))["outcome"] == "changed since its import"


def test_a_row_whose_schedule_was_deleted_is_imported_again(run: Run) -> None:
    periodic()
    imported(run).delete()
    assert outcomes(run("--apply")) == ["imported"]


def test_a_row_that_is_gone_is_reported_while_its_schedule_is_enabled(run: Run) -> None:
    row = periodic(name="Invoices")
    schedule = imported(run)
    row.delete()
    assert outcomes(run("--apply")) == ["no longer there"]
    assert only(run())["schedule"] == "Invoices"
    schedules.pause(schedule, now=NOW, reason="gone")
    assert run("--apply")["rows"] == []


def test_a_name_that_another_schedule_has_gets_a_number_and_still_fits(run: Run) -> None:
    periodic(name="x" * 200)
    imported(run)
    Schedule.objects.update(origin=None)
    assert only(run("--apply"))["schedule"] == "x" * 196 + " (2)"


def test_a_disabled_row_is_imported_paused_with_the_reason(run: Run) -> None:
    periodic(enabled=False)
    row = only(run())
    assert (row["outcome"], row["next_run_at"], row["runs_in_beat"]) == ("to import", None, False)
    schedule = imported(run)
    assert (schedule.enabled, schedule.pause_reason) == (False, "It was disabled in beat when it was imported.")


# --- what a person reads -----------------------------------------------------------------------------------------


def test_the_list_says_of_each_row_what_becomes_of_it(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    first = periodic(name="Invoices", queue="fast").pk
    periodic(every(10, "seconds"), name="Poll", enabled=False)
    periodic(sunset(), name="Lamps")
    call_command("import_celery_beat")
    assert capsys.readouterr().out.splitlines() == [
        "django-celery-beat: 3 rows.",
        f"  {first}: Invoices: 30 2 * * * (m/h/dM/MY/d) Europe/Berlin, shop.invoice",
        "    → to import as “Invoices”, next Tue 2026-06-02 02:30 Europe/Berlin.",
        "      Without a meaning here: queue=fast.",
        f"  {first + 1}: Poll: every 10 seconds, shop.invoice",
        "    → to import as “Poll”, paused.",
        f"  {first + 2}: Lamps: Sunset (52.520000, 13.400000), shop.invoice",
        "    → not imported. It follows the sun (Sunset (52.520000, 13.400000)), and no schedule here does: "
        "leave it in beat.",
        "",
        "2 to import, 1 not imported.",
        "This was a dry run: nothing is written. Add --apply to import.",
        "Beat runs 1 of these: --apply --take-over disables them there, in the same transaction.",
    ]


def test_where_there_is_nothing_the_list_says_so(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("import_celery_beat")
    assert capsys.readouterr().out.splitlines() == ["django-celery-beat: no rows.", "", "Nothing to import."]


def test_instants_of_the_report_are_iso(run: Run) -> None:
    periodic(every(1, "hours"), last_run_at=NOW)
    periodic(clocked(NOW + DAY), one_off=True)
    hourly, once = run()["rows"]
    assert (hourly["interval_seconds"], datetime.fromisoformat(hourly["anchor_at"])) == (3600, NOW)
    assert datetime.fromisoformat(once["once_at"]) == NOW + DAY
