"""`manage.py preview` answers before anything is saved."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from scheduler import schedules
from scheduler.cron import Interval, cron
from tests.scheduler import factories  # noqa: F401 -- registers the job test.noop

CHECKOUT = Path(__file__).parents[2]
CASES = json.loads((Path(__file__).parent / "cases" / "cron.json").read_text())
NOW = datetime(2026, 3, 7, 6, 0, tzinfo=UTC)


def printed(capsys: pytest.CaptureFixture[str], *args: str, **options: Any) -> str:
    call_command("preview", *args, **options)
    return capsys.readouterr().out


def instants(capsys: pytest.CaptureFixture[str], *args: str) -> list[str]:
    listed: list[str] = json.loads(printed(capsys, *args, "--json"))
    return listed


def refusal(*args: str) -> str:
    with pytest.raises(CommandError) as refused:
        call_command("preview", *args)
    assert refused.value.returncode == 1
    return str(refused.value)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_case_is_answered_as_json(capsys: pytest.CaptureFixture[str], case: dict[str, Any]) -> None:
    asked = ["--cron", case["cron"], "--tz", case["timezone"], "--from", case["after"], "--to", case["until"]]
    if case["expect_utc"] is None:
        assert "never comes" in refusal(*asked)
    else:
        assert instants(capsys, *asked) == case["expect_utc"]


def test_an_expression_needs_no_database_no_secret_and_no_settings(tmp_path: Path) -> None:
    bare = {"PATH": os.environ["PATH"], "TIDELINE_STATE_DIR": str(tmp_path)}
    answer = subprocess.run(
        [sys.executable, CHECKOUT / "manage.py", "preview", "--cron", "0 0 1 1 *", "--from", "2030-01-01", "--json"],
        env=bare,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(answer.stdout)[0] == "2030-01-01T00:00:00+00:00"
    assert answer.stderr == ""


def test_a_wrong_expression_is_one_sentence_on_stderr_and_status_1(tmp_path: Path) -> None:
    answer = subprocess.run(
        [sys.executable, CHECKOUT / "manage.py", "preview", "--cron", "0 25 * * *"],
        env={"PATH": os.environ["PATH"], "TIDELINE_STATE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 1
    assert answer.stdout == ""
    assert answer.stderr == "CommandError: The cron expression's hour field “25” is not between 0 and 23.\n"


def test_the_first_instant_counts_and_the_last_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--cron", "0 * * * *", "--from", "2026-06-01T01:00Z", "--to", "2026-06-01T03:00Z"]
    assert instants(capsys, *asked) == ["2026-06-01T01:00:00+00:00", "2026-06-01T02:00:00+00:00"]


def test_a_time_without_an_offset_is_local_to_the_zone(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--cron", "0 0 * * *", "--tz", "Asia/Shanghai", "--from", "2026-06-01", "--to", "2026-06-02"]
    assert instants(capsys, *asked) == ["2026-05-31T16:00:00+00:00"]


def test_without_an_end_the_next_five_are_shown_or_as_many_as_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--cron", "@daily", "--from", "2026-06-01"]
    assert len(instants(capsys, *asked)) == 5
    assert len(instants(capsys, *asked, "--count", "7")) == 7


def test_without_a_start_it_begins_now(capsys: pytest.CaptureFixture[str]) -> None:
    first = datetime.fromisoformat(instants(capsys, "--cron", "* * * * *")[0])
    later = datetime.fromisoformat(instants(capsys, "--cron", "* * * * *")[0])
    assert first <= later
    assert first.second == 0


def test_a_span_in_which_nothing_is_due_is_an_empty_list(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--cron", "@yearly", "--from", "2026-06-01", "--to", "2026-07-01"]
    assert instants(capsys, *asked) == []
    assert printed(capsys, *asked) == "Nothing is due.\n"


def test_the_table_shows_local_time_utc_and_what_a_change_of_the_clocks_does(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ["--cron", "30 2 * * *", "--tz", "America/New_York", "--from", "2026-03-07", "--to", "2026-03-09"]
    assert printed(capsys, *asked).splitlines() == [
        "America/New_York              UTC",
        "Sat 2026-03-07 02:30 -05:00   2026-03-07 07:30",
        "Sun 2026-03-08 03:00 -04:00   2026-03-08 07:00  "
        "02:30 does not exist on 2026-03-08: the clock goes forward; it runs at 03:00.",
    ]


def test_the_table_points_out_days_that_people_misread(capsys: pytest.CaptureFixture[str]) -> None:
    assert "one of them is enough" in printed(capsys, "--cron", "0 0 13 * 5")


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ([], "Name one schedule, or give an expression"),
        (["backup", "--cron", "@daily"], "Name one schedule, or give an expression"),
        (["--cron", "@daily", "--tz", "Berlin"], "Did you mean Europe/Berlin?"),
        (["--cron", "@daily", "--tz", ""], "The time zone “” is not known."),
        (["--cron", "@reboot"], "@reboot is not a time"),
        (["--cron", "@daily", "--from", "yesterday"], "--from “yesterday” is not an ISO time"),
        (["--cron", "@daily", "--to", "2026-02-30"], "--to “2026-02-30” is not an ISO time"),
        (["--cron", "@daily", "--from", "0001-01-01"], "outside the years 1900 to 9000"),
        (["--cron", "@daily", "--to", "9999-12-31"], "outside the years 1900 to 9000"),
        (["--cron", "@daily", "--from", "2026-01-02", "--to", "2026-01-01"], "is before --from"),
        (["--cron", "@daily", "--count", "0"], "--count is 0: say 1 to 10,000."),
        (["--cron", "* * * * *", "--from", "2026-01-01", "--to", "2026-01-08"], "more than 10,000 instants"),
        (["backup", "--tz", "UTC"], "--tz goes with --cron"),
    ],
)
def test_a_wrong_question_is_answered_with_a_sentence(asked: list[str], sentence: str) -> None:
    assert sentence in refusal(*asked)


def test_a_span_may_hold_ten_thousand_instants(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--cron", "* * * * *", "--from", "2026-01-01T00:00", "--to", "2026-01-07T22:40"]
    assert len(instants(capsys, *asked)) == 10_000


@pytest.mark.django_db
def test_a_schedule_is_found_by_its_name_and_by_its_id(capsys: pytest.CaptureFixture[str]) -> None:
    schedule = schedules.create(name="backup", job="test.noop", trigger=cron("30 2 * * *", "Asia/Tokyo"), now=NOW)
    asked = ["--from", "2026-06-01", "--to", "2026-06-02"]
    for name in ("backup", str(schedule.pk)):
        assert instants(capsys, name, *asked) == ["2026-05-31T17:30:00+00:00"]


@pytest.mark.django_db
def test_an_interval_is_shown_in_its_schedules_zone(capsys: pytest.CaptureFixture[str]) -> None:
    schedules.create(name="often", job="test.noop", trigger=Interval(90, NOW), timezone="Europe/Berlin", now=NOW)
    asked = ["often", "--from", "2026-03-07T06:00:00Z", "--to", "2026-03-07T06:03:00Z"]
    assert printed(capsys, *asked).splitlines()[1:] == [
        "Sat 2026-03-07 07:00:00 +01:00  2026-03-07 06:00:00",
        "Sat 2026-03-07 07:01:30 +01:00  2026-03-07 06:01:30",
    ]


@pytest.mark.django_db
def test_a_paused_schedule_says_that_it_is_paused(capsys: pytest.CaptureFixture[str]) -> None:
    schedules.create(name="backup", job="test.noop", trigger=cron("@daily", "UTC"), now=NOW, enabled=False)
    assert printed(capsys, "backup").startswith("“backup” is paused: none of this happens until it is enabled.")


@pytest.mark.django_db
def test_an_unknown_schedule_is_refused_with_names_like_it() -> None:
    schedules.create(name="nightly backup", job="test.noop", trigger=cron("@daily", "UTC"), now=NOW)
    assert refusal("backup") == "There is no schedule “backup”. Did you mean “nightly backup”?"
    assert refusal("4711") == "There is no schedule “4711”."
