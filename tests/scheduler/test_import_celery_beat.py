"""`manage.py import_celery_beat`: every row is accounted for, twice is once, and nothing floods."""

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django_celery_beat.models import CrontabSchedule, PeriodicTask

from project.kit.clock import database_now
from scheduler import schedules
from scheduler.executing import execute
from scheduler.firing import fire_due
from scheduler.identity import become_worker
from scheduler.models import Schedule, TaskRun
from scheduler.states import RunState
from tests.scheduler.factories import DAY, HOUR, MINUTE, NOW, SECOND, launched, utc
from tests.scheduler.periodic import Run, clocked, crontab, every, imported, only, outcomes, periodic, run, sunset

__all__ = ["run"]  # the fixture

pytestmark = pytest.mark.django_db

REDIS = "redis://:hush@broker.example:6379/3"


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


# --- when --------------------------------------------------------------------------------------------------------


def test_the_first_fire_is_after_now_whatever_beat_has_left_out(run: Run) -> None:
    """B1 and B22: what was missed is told, and not made up."""
    periodic(crontab("0 2 * * *", "UTC"), last_run_at=NOW - 30 * DAY)
    row = only(run("--apply"))
    assert row["next_run_at"] == "2026-06-02T02:00:00+00:00"
    assert row["notes"] == ["Beat has not run what was due at 2026-06-01 02:00 UTC; that is not made up."]
    assert fire_due(now=NOW + HOUR)[0] == 0


def test_what_beat_ran_on_time_or_has_not_written_down_yet_is_no_omission(run: Run) -> None:
    periodic(crontab("0 2 * * *", "UTC"), last_run_at=utc("2026-06-01 02:00:01"))
    periodic(crontab("* * * * *", "UTC"), last_run_at=NOW - 3 * MINUTE)
    periodic(every(10, "seconds"), last_run_at=NOW - 3 * MINUTE)
    assert [row["notes"] for row in run()["rows"]] == [[], [], []]


@pytest.mark.parametrize(
    ("number", "period", "seconds"),
    [
        (2, "days", 172_800),
        (3, "hours", 10_800),
        (5, "minutes", 300),
        (10, "seconds", 10),
        (2_000_000, "microseconds", 2),
    ],
)
def test_each_period_of_an_interval_is_imported_in_seconds(run: Run, number: int, period: str, seconds: int) -> None:
    periodic(every(number, period), last_run_at=NOW - SECOND)
    assert imported(run).interval_seconds == seconds


@pytest.mark.parametrize(("number", "period"), [(500_000, "microseconds"), (1_500_000, "microseconds")])
def test_an_interval_that_is_no_whole_number_of_seconds_is_refused(run: Run, number: int, period: str) -> None:
    periodic(every(number, period))
    report = run("--apply")
    assert only(report)["outcome"] == "refused"
    assert only(report)["reason"].startswith(f"Its interval, every {number} microseconds, is no whole number of sec")
    assert report["complaint"] == "1 row could not be imported: see above for the reasons."


@pytest.mark.parametrize(
    ("number", "period", "outcome", "reason"),
    [
        (0, "seconds", "refused", "The interval is 0 seconds: write 1 second to 10 years"),
        (-5, "minutes", "refused", "The interval is -300 seconds"),
        (4000, "days", "refused", "The interval is 345,600,000 seconds"),
        (2_000_000_000, "days", "cannot be read", "Its interval, every 2000000000 days, cannot be read."),
        (1, "fortnights", "cannot be read", "Its interval, every 1 fortnights, cannot be read."),
    ],
)
def test_an_interval_that_is_none_is_refused(run: Run, number: int, period: str, outcome: str, reason: str) -> None:
    periodic(every(number, period))
    row = only(run())
    assert row["outcome"] == outcome
    assert row["reason"].startswith(reason)


def test_an_interval_keeps_its_phase(run: Run) -> None:
    periodic(every(7, "minutes"), last_run_at=NOW - 300 * MINUTE + timedelta(milliseconds=13))
    assert imported(run).next_run_at == NOW - 300 * MINUTE + 43 * 7 * MINUTE


def test_an_interval_that_never_ran_counts_from_its_last_change(run: Run) -> None:
    """B8: a week from its creation, however often beat is restarted."""
    periodic(every(7, "days"), changed=NOW - 3 * DAY)
    assert imported(run).next_run_at == NOW + 4 * DAY


def test_an_interval_begins_at_its_start(run: Run) -> None:
    periodic(every(1, "hours"), start_time=NOW + timedelta(minutes=10))
    schedule = imported(run)
    assert (schedule.next_run_at, schedule.starts_at) == (NOW + 10 * MINUTE, NOW + 10 * MINUTE)


def test_an_interval_whose_start_is_past_counts_from_it(run: Run) -> None:
    periodic(every(1, "hours"), start_time=NOW - timedelta(minutes=10), changed=NOW)
    schedule = imported(run)
    assert (schedule.next_run_at, schedule.starts_at) == (NOW + 50 * MINUTE, None)


def test_a_run_that_lies_ahead_because_a_clock_was_set_back_silences_no_interval(run: Run) -> None:
    periodic(every(1, "minutes"), last_run_at=NOW + DAY)
    assert imported(run).next_run_at == NOW + MINUTE


def test_a_crontab_with_a_start_and_an_expiry_keeps_both(run: Run) -> None:
    periodic(crontab("0 2 * * *", "UTC"), start_time=NOW + 3 * DAY, expires=utc("2026-06-08 02:00"))
    schedule = imported(run)
    assert schedule.next_run_at == utc("2026-06-05 02:00")
    # Beat does not run what is due at the very instant of its expiry.
    assert list(schedule.as_trigger().instants(NOW, NOW + 30 * DAY)) == [
        utc(f"2026-06-0{day} 02:00") for day in (5, 6, 7)
    ]


def test_a_row_that_has_expired_is_reported(run: Run) -> None:
    periodic(expires=NOW)
    assert only(run("--apply"))["reason"] == "It expired at 2026-06-01 12:00 UTC."
    assert not Schedule.objects.exists()


def test_a_row_that_expires_before_its_next_fire_is_refused(run: Run) -> None:
    periodic(expires=NOW + HOUR)
    row = only(run())
    assert (row["outcome"], row["reason"]) == (
        "refused",
        "It ends before its next due time, so it would never fire. Choose a later end.",
    )


def test_a_clocked_row_runs_once(run: Run) -> None:
    periodic(clocked(NOW + DAY), one_off=True)
    schedule = imported(run, "--tz", "Asia/Shanghai")
    assert (schedule.once_at, schedule.next_run_at, schedule.timezone) == (NOW + DAY, NOW + DAY, "Asia/Shanghai")


@pytest.mark.parametrize(
    ("enabled", "said"), [(True, ", and beat has not run it yet. Nothing that is past is made up here."), (False, ".")]
)
def test_a_clocked_row_in_the_past_is_reported(run: Run, enabled: bool, said: str) -> None:
    periodic(clocked(NOW), one_off=True, enabled=enabled)
    row = only(run("--apply"))
    assert (row["outcome"], row["reason"]) == ("not imported", f"Its time, 2026-06-01 12:00 UTC, has passed{said}")


def test_a_disabled_clocked_row_that_is_to_come_is_imported_paused(run: Run) -> None:
    periodic(clocked(NOW + DAY), one_off=True, enabled=False)
    assert imported(run).enabled is False


def test_a_one_off_row_becomes_its_next_instant(run: Run) -> None:
    periodic(one_off=True)
    schedule = imported(run)
    assert (schedule.once_at, schedule.timezone) == (utc("2026-06-02 00:30"), "Europe/Berlin")


def test_a_one_off_row_waits_for_its_start(run: Run) -> None:
    periodic(one_off=True, start_time=NOW + 10 * DAY)
    assert imported(run).once_at == utc("2026-06-12 00:30")


def test_a_one_off_row_that_expires_first_is_reported(run: Run) -> None:
    periodic(one_off=True, expires=NOW + HOUR)
    assert only(run())["reason"] == "It is one-off, and has no due time left before it expires."


def test_a_one_off_row_that_has_run_is_not_imported(run: Run) -> None:
    """B7: beat disables it at its next look only, and counts meanwhile."""
    periodic(one_off=True, total_run_count=1)
    assert (only(run())["outcome"], only(run())["reason"]) == ("not imported", "It is one-off, and has run.")


def test_a_disabled_one_off_row_looks_like_one_that_has_run(run: Run) -> None:
    periodic(one_off=True, enabled=False)
    assert only(run())["reason"].startswith("It is one-off and disabled, as beat leaves such a row when it has run.")


def test_a_solar_row_is_reported(run: Run) -> None:
    periodic(sunset())
    row = only(run("--apply"))
    assert row["outcome"] == "not imported"
    assert row["reason"].startswith("It follows the sun (Sunset (52.520000, 13.400000)), and no schedule here does")


def test_a_row_without_a_schedule_is_reported(run: Run) -> None:
    periodic(crontab=None)
    row = only(run("--apply"))
    assert (row["outcome"], row["reason"]) == ("cannot be read", "It has no schedule, so beat never runs it.")


def test_a_row_with_two_schedules_follows_the_one_that_beat_takes(run: Run) -> None:
    periodic(interval=every(1, "hours"), changed=NOW)
    schedule = imported(run)
    assert (schedule.trigger, schedule.next_run_at) == ("interval", NOW + HOUR)


# --- crontabs ----------------------------------------------------------------------------------------------------


def test_seven_is_no_weekday_of_celery_and_beat_never_ran_the_row(run: Run) -> None:
    """B73: django-celery-beat takes it, says that 7 is Sunday, and leaves the row out."""
    periodic(crontab("0 8 * * 7"))
    row = only(run())
    assert row["outcome"] == "cannot be read"
    assert "so beat never runs it: Invalid end range: 7 > 6. Celery's Sunday is 0, not 7." in row["reason"]


@pytest.mark.parametrize(
    ("text", "expression", "first"),
    [
        ("0 8 * * 0", "0 8 * * 0", "2026-06-07 08:00"),  # B74
        ("0 8 * * mon-fri", "0 8 * * mon-fri", "2026-06-02 08:00"),
        ("0 8 31 * *", "0 8 31 * *", "2026-07-31 08:00"),  # B76
        ("0 8 29 2 *", "0 8 29 2 *", "2028-02-29 08:00"),
        ("0 22-4/2 * * *", "0 0,2,4,22 * * *", "2026-06-01 22:00"),
        ("0 8 * * sat-mon", "0 8 * * 0-1,6", "2026-06-06 08:00"),
    ],
)
def test_a_crontab_means_the_same_here(run: Run, text: str, expression: str, first: str) -> None:
    periodic(crontab(text, "UTC"))
    schedule = imported(run)
    assert (schedule.cron, schedule.next_run_at) == (expression, utc(first))


def test_a_crontab_that_cron_would_run_on_more_days_is_reported_and_not_imported(run: Run) -> None:
    periodic(crontab("0 8 13 * fri", "UTC"))
    row = only(run("--apply"))
    assert row["outcome"] == "not imported"
    assert row["reason"].startswith("Celery runs it only on days that match both its day-of-month (13) and its day-of")
    assert not Schedule.objects.exists()


def test_a_crontab_whose_two_day_fields_have_a_name_of_their_own_is_imported_with_a_note(run: Run) -> None:
    periodic(crontab("0 8 1-7,15-21 * mon", "UTC"))
    row = only(run("--apply"))
    assert (row["cron"], row["next_run_at"]) == ("0 8 * * MON#1,MON#3", "2026-06-15T08:00:00+00:00")
    assert row["notes"] == ["Both day fields must match in Celery; here that is MON#1,MON#3."]


@pytest.mark.parametrize("minute", ["1,,2", "*/", "-5", "*/0", "5/10", "noon", "60"])
def test_a_crontab_that_celery_cannot_read_is_reported_and_stops_no_other(run: Run, minute: str) -> None:
    periodic(crontab(f"{minute} 8 * * *"))
    periodic()
    report = run("--apply")
    assert outcomes(report) == ["cannot be read", "imported"]
    assert report["rows"][0]["reason"].startswith("Celery cannot read its crontab, so beat never runs it: ")


def test_a_zone_that_is_not_known_here_is_reported_and_stops_no_other(run: Run) -> None:
    periodic(name="lost")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE django_celery_beat_crontabschedule SET timezone = 'Mars/Olympus'")
    periodic()
    report = run("--apply")
    assert outcomes(report) == ["cannot be read", "imported"]
    assert report["rows"][0]["reason"] == "Its crontab cannot be read: Invalid timezone 'Mars/Olympus'."


# --- what --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("args", ["[", "not json", "[NaN]", "[1e", "[" * 100_000])
def test_arguments_that_are_no_json_are_reported(run: Run, args: str) -> None:
    periodic(args=args)
    row = only(run("--apply"))
    assert row["outcome"] == "cannot be read"
    assert row["reason"] == f"Its args cannot be read as JSON: {args[:80]}"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"args": '{"a": 1}'}, "Parameter “args”: Input should be a valid list."),
        ({"kwargs": "[1]"}, "Parameter “kwargs”: Input should be a valid dictionary."),
        ({"args": r'["\u0000"]'}, "The database cannot keep it: unsupported Unicode escape sequence."),
        ({"args": '[{"__type__": "datetime", "__value__": "2026-06-01T00:00:00"}]'}, "Its args or kwargs hold a date"),
    ],
    ids=str,
)
def test_arguments_that_the_task_would_not_get_are_refused_before_anything_is_written(
    run: Run, fields: dict[str, str], said: str
) -> None:
    periodic(**fields)
    periodic()
    assert outcomes(run()) == ["refused", "to import"]
    report = run("--apply")
    assert outcomes(report) == ["refused", "imported"]
    assert report["rows"][0]["reason"].startswith(said)


def test_what_has_no_meaning_for_a_task_that_is_executed_here_is_told(run: Run) -> None:
    periodic(queue="fast", exchange="x", routing_key="r", priority=0, expire_seconds=30, headers='{"tenant": 1}')
    row = only(run("--apply"))
    assert row["params"] == {"task": "shop.invoice"}
    assert row["notes"] == [
        "Without a meaning here: queue=fast, exchange=x, routing_key=r, priority=0, expire_seconds=30,"
        ' headers={"tenant": 1}.'
    ]


def test_a_task_that_is_not_registered_here_is_reported_with_the_remedy(run: Run) -> None:
    periodic(task="legacy.sync")
    row = only(run("--apply"))
    assert row["outcome"] == "not imported"
    assert row["reason"] == (
        "No task “legacy.sync” is registered here. Name its Django app in TIDELINE_APPS or its module in "
        "TIDELINE_JOBS, or say with --broker-url where its own workers are, and import again."
    )


def test_a_task_that_is_not_registered_here_is_sent_to_the_broker_that_is_named(run: Run) -> None:
    periodic(name="here")
    periodic(name="there", task="legacy.sync", queue="slow", priority=3, expire_seconds=30, headers='{"tenant": 1}')
    periodic(name="routed", task="legacy.sync", exchange="x", routing_key="r")
    report = run("--apply", "--broker-url", REDIS, "--result-backend", f"{REDIS}1", "--queue", "usual")
    here, there, routed = (schedule.params for schedule in Schedule.objects.order_by("pk"))
    assert here == {"task": "shop.invoice"}
    elsewhere = {"task": "legacy.sync", "broker_url": REDIS, "result_backend": f"{REDIS}1"}
    assert there == elsewhere | {"queue": "slow", "priority": 3, "expires_seconds": 30}
    assert routed == elsewhere | {"exchange": "x", "routing_key": "r"}
    assert report["rows"][1]["notes"] == ['Without a meaning here: headers={"tenant": 1}.']
    assert report["warnings"] == []
    assert "hush" not in json.dumps(report)


def test_tasks_whose_end_nobody_will_know_are_warned_of(run: Run) -> None:
    periodic(task="legacy.sync")
    report = run("--broker-url", REDIS, "--queue", "usual")
    assert only(report)["params"] == {"task": "legacy.sync", "broker_url": "••••••", "queue": "usual"}
    assert report["warnings"] == [
        "Without --result-backend it is not known how the tasks end that are sent to the other application."
    ]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--broker-url", "nonsense"), "It must be a broker's URL"),
        (("--queue", "usual"), "queue only matters to another application; give its broker_url too"),
        (("--tz", "Berlin"), r"Did you mean Europe/Berlin\?"),
    ],
)
def test_an_option_that_would_be_wrong_in_every_row_is_one_sentence(args: tuple[str, ...], said: str) -> None:
    periodic(task="legacy.sync")
    with pytest.raises(CommandError, match=said):
        call_command("import_celery_beat", *args)


def test_tidelines_own_scans_and_celerys_housekeeping_stay_with_beat(run: Run) -> None:
    periodic(every(1, "seconds"), task="scheduler.fire_due")
    periodic(task="celery.backend_cleanup")
    report = run("--apply", "--broker-url", REDIS)
    assert [(row["outcome"], row["reason"]) for row in report["rows"]] == [
        ("not imported", "It is one of Tideline's own scans, which beat is to run."),
        ("not imported", "It is Celery's own housekeeping for its application: leave it to beat."),
    ]


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
