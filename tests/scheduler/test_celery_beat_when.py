"""`manage.py import_celery_beat`: a row is due here when beat would run it, and never before now."""

from datetime import timedelta

import pytest
from django.db import connection

from scheduler.firing import fire_due
from scheduler.models import Schedule
from tests.scheduler.factories import DAY, HOUR, MINUTE, NOW, SECOND, utc
from tests.scheduler.periodic import Run, clocked, crontab, every, imported, only, outcomes, periodic, run, sunset

__all__ = ["run"]  # the fixture

pytestmark = pytest.mark.django_db


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
