"""`manage.py import_crontab`: every line is accounted for, twice is once, and nothing fires early."""

import io
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from scheduler import schedules
from scheduler.importing.sources import Machine, on_this_machine
from scheduler.management.commands import import_crontab
from scheduler.models import Schedule

pytestmark = pytest.mark.django_db

NOBODY = Machine("nobody", is_root=False, zone="Europe/Berlin")
NOW = datetime(2026, 6, 1, 12, 0, 30, tzinfo=UTC)

SYSTEM_CRONTAB = """\
# /etc/crontab: system-wide crontab
# it has a heading of several lines
SHELL=/bin/sh
# m h dom mon dow user\tcommand
17 *\t* * *\troot\tcd / && run-parts --report /etc/cron.hourly
# Clean up
25 6\t* * *\tnobody\ttest -x /usr/sbin/anacron || echo 100\\%
@reboot root /usr/local/bin/at-start
61 * * * * root /bin/true
"""

Run = Callable[..., dict[str, Any]]


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run as root in Berlin on the 1st of June, whoever and wherever the tests are run."""
    monkeypatch.setattr(
        import_crontab, "this_machine", lambda zone=None: Machine("root", True, zone or "Europe/Berlin")
    )
    monkeypatch.setattr(import_crontab, "database_now", lambda: NOW)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command and return its JSON, with its complaint if it failed."""

    def run_command(*args: str | Path) -> dict[str, Any]:
        complaint = None
        try:
            call_command("import_crontab", *map(str, args), "--json")
        except CommandError as error:
            complaint = str(error)
        return json.loads(capsys.readouterr().out) | {"complaint": complaint}

    return run_command


@pytest.fixture
def run_text(run: Run, tmp_path: Path) -> Run:
    """Run the command on a crontab of that text."""

    def run_file(text: str, *args: str) -> dict[str, Any]:
        file = tmp_path / "text"
        file.write_text(text)
        return run(file, *args)

    return run_file


@pytest.fixture
def crontab(tmp_path: Path) -> Path:
    """A user's crontab in a file."""
    file = tmp_path / "mine"
    file.write_text("MAILTO=me\n# Backup\n30 2 * * * /usr/local/bin/backup --full\n*/5 * * * * cat%hello%you\n")
    return file


def outcomes(report: dict[str, Any]) -> list[tuple[int | None, str]]:
    return [(line["line"], line["outcome"]) for crontab in report["crontabs"] for line in crontab["lines"]]


# --- dry run and import ------------------------------------------------------------------------------------------


def test_without_apply_every_line_is_listed_and_nothing_is_written(run: Run, crontab: Path) -> None:
    report = run(crontab)
    backup, cat = report["crontabs"][0]["lines"]
    assert (backup["outcome"], backup["schedule"], backup["cron"]) == ("to import", "Backup", "30 2 * * *")
    assert (backup["timezone"], backup["next_run_at"]) == ("Europe/Berlin", "2026-06-02T00:30:00+00:00")
    assert (cat["outcome"], cat["schedule"]) == ("to import", "cat")
    assert report["complaint"] is None
    assert not Schedule.objects.exists()


def test_apply_creates_schedules_that_run_the_command_as_cron_would(run: Run, crontab: Path) -> None:
    assert outcomes(run(crontab, "--apply")) == [(3, "imported"), (4, "imported")]
    backup, cat = Schedule.objects.order_by("pk")
    assert (backup.name, backup.job) == ("Backup", "command")
    assert (backup.cron, backup.timezone) == ("30 2 * * *", "Europe/Berlin")
    assert backup.params == {"command": "/usr/local/bin/backup --full", "env": {"PATH": "/usr/bin:/bin"}}
    assert cat.params == {"command": "cat", "env": {"PATH": "/usr/bin:/bin"}, "stdin": "hello\nyou\n"}
    assert backup.enabled
    assert backup.description.startswith(f"Imported from {crontab}, line 3: 30 2 * * *")


def test_an_import_causes_no_burst_the_first_fire_is_after_now(run_text: Run) -> None:
    run_text("* * * * * a\n0 12 * * * b\n", "--tz", "UTC", "--apply")
    minutely, daily = (row.next_run_at for row in Schedule.objects.order_by("pk"))
    assert (minutely, daily) == (NOW + timedelta(seconds=30), datetime(2026, 6, 2, 12, 0, tzinfo=UTC))


def test_the_same_import_twice_changes_nothing(run: Run, crontab: Path) -> None:
    run(crontab, "--apply")
    before = list(Schedule.objects.values())
    assert outcomes(run(crontab, "--apply")) == [(3, "already imported"), (4, "already imported")]
    assert list(Schedule.objects.values()) == before


def test_a_line_that_moved_or_got_another_comment_is_the_same_line(run: Run, crontab: Path) -> None:
    run(crontab, "--apply")
    crontab.write_text("\n\n# Another name\n30 2 * * * /usr/local/bin/backup --full\n*/5 * * * * cat%hello%you\n")
    assert outcomes(run(crontab, "--apply")) == [(4, "already imported"), (5, "already imported")]


def test_a_person_may_rename_move_and_pause_what_was_imported(run: Run, crontab: Path) -> None:
    run(crontab, "--apply")
    backup = Schedule.objects.get(name="Backup")
    backup.name, backup.cron = "Nightly", "0 4 * * *"
    schedules.save_changes(backup, expected_version=backup.version, now=NOW)
    schedules.pause(backup, now=NOW, reason="holidays")
    line = run(crontab, "--apply")["crontabs"][0]["lines"][0]
    assert (line["outcome"], line["schedule"], line["next_run_at"]) == ("already imported", "Nightly", None)
    assert line["reason"] == "It is paused here."
    assert Schedule.objects.count() == 2


def test_a_line_that_is_gone_is_reported_and_its_schedule_left_alone(run: Run, crontab: Path) -> None:
    run(crontab, "--apply")
    crontab.write_text("# Backup\n30 3 * * * /usr/local/bin/backup --full\n*/5 * * * * cat%hello%you\n")
    report = run(crontab, "--apply")
    assert outcomes(report) == [(2, "imported"), (3, "already imported"), (None, "no longer there")]
    changed, _, gone = report["crontabs"][0]["lines"]
    assert (changed["schedule"], gone["schedule"]) == ("Backup (2)", "Backup")
    assert gone["reason"] == "It runs on here: right if you moved it, else pause it in the admin."
    assert Schedule.objects.get(name="Backup").enabled


def test_a_line_that_is_gone_and_paused_is_settled(run: Run, crontab: Path) -> None:
    run(crontab, "--apply")
    schedules.pause(Schedule.objects.get(name="Backup"), now=NOW, reason="gone")
    crontab.write_text("*/5 * * * * cat%hello%you\n")
    assert outcomes(run(crontab)) == [(1, "already imported")]


def test_a_line_that_stands_there_twice_runs_twice(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "twice"
    file.write_text("0 1 * * * a\n0 1 * * * a\n")
    assert outcomes(run(file, "--apply")) == [(1, "imported"), (2, "imported")]
    assert sorted(Schedule.objects.values_list("name", flat=True)) == ["a", "a (2)"]
    assert outcomes(run(file, "--apply")) == [(1, "already imported"), (2, "already imported")]


def test_a_name_that_another_schedule_has_gets_a_number(run: Run, crontab: Path, tmp_path: Path) -> None:
    run(crontab, "--apply")
    other = tmp_path / "other"
    other.write_text("# Backup\n0 5 * * * b\n# Backup\n0 6 * * * c\n")
    run(other, "--apply")
    assert set(Schedule.objects.values_list("name", flat=True)) == {"Backup", "cat", "Backup (2)", "Backup (3)"}


def test_a_long_command_gives_a_short_name(run_text: Run) -> None:
    name = run_text(f"0 1 * * * echo {'x' * 300}\n", "--apply")["crontabs"][0]["lines"][0]["schedule"]
    assert len(name) == 60
    assert name.endswith("…")


# --- system crontabs and users -----------------------------------------------------------------------------------


def test_every_line_of_a_system_crontab_is_accounted_for(run_text: Run) -> None:
    report = run_text(SYSTEM_CRONTAB, "--system", "--apply")
    assert outcomes(report) == [(5, "imported"), (7, "imported"), (8, "not imported"), (9, "cannot be read")]
    assert report["complaint"] == "1 line could not be imported: see above for the reasons."
    hourly, cleanup = Schedule.objects.order_by("pk")
    assert hourly.params == {
        "command": "cd / && run-parts --report /etc/cron.hourly",
        "shell": "/bin/sh",
        "env": {"PATH": "/usr/bin:/bin", "SHELL": "/bin/sh"},
    }
    assert cleanup.name == "Clean up"
    assert cleanup.params["user"] == "nobody"
    assert cleanup.params["command"] == "test -x /usr/sbin/anacron || echo 100%"


def test_a_runner_that_is_not_root_imports_its_own_lines_only(run_text: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_crontab, "this_machine", lambda zone=None: NOBODY)
    report = run_text("0 1 * * * root a\n0 1 * * * nobody b\n", "--system", "--apply")
    assert outcomes(report) == [(1, "not imported"), (2, "imported")]
    assert "as “root”, and a runner of “nobody” cannot" in report["crontabs"][0]["lines"][0]["reason"]
    assert "user" not in Schedule.objects.get().params
    assert report["complaint"] is None


def test_a_user_who_does_not_exist_here_is_reported(run_text: Run) -> None:
    line = run_text("0 1 * * * no-such-user a\n", "--system")["crontabs"][0]["lines"][0]
    assert line["outcome"] == "not imported"
    assert line["reason"] == "There is no user “no-such-user” on this machine."


def test_home_and_shell_of_the_crontab_are_the_commands(run_text: Run) -> None:
    run_text("HOME=/srv\nSHELL=/bin/bash\nPATH=/opt/bin:/bin\n0 1 * * * a\n", "--apply")
    assert Schedule.objects.get().params == {
        "command": "a",
        "cwd": "/srv",
        "shell": "/bin/bash",
        "env": {"HOME": "/srv", "SHELL": "/bin/bash", "PATH": "/opt/bin:/bin"},
    }


def test_cron_tz_is_the_schedules_zone(run_text: Run) -> None:
    run_text("CRON_TZ=Asia/Tokyo\n0 1 * * * a\n", "--apply")
    assert Schedule.objects.get().timezone == "Asia/Tokyo"
    assert Schedule.objects.get().next_run_at == datetime(2026, 6, 1, 16, 0, tzinfo=UTC)


# --- what goes wrong ---------------------------------------------------------------------------------------------


def test_what_the_job_refuses_is_reported_and_the_others_are_imported(run_text: Run) -> None:
    report = run_text("0 1 * * * good\nSHELL=sh\n0 1 * * * bad\n", "--apply")
    assert outcomes(report) == [(1, "imported"), (3, "refused")]
    assert "Give the whole path of the shell" in report["crontabs"][0]["lines"][1]["reason"]
    assert report["complaint"] == "1 line could not be imported: see above for the reasons."


def test_a_file_that_is_not_there_fails_and_the_others_are_imported(run: Run, crontab: Path, tmp_path: Path) -> None:
    report = run(tmp_path / "nowhere", crontab, "--apply")
    assert report["missing"][0]["reason"] == "There is no such file."
    assert report["complaint"] == f"{tmp_path}/nowhere could not be imported: see above for the reasons."
    assert Schedule.objects.count() == 2


def test_an_unknown_zone_is_one_sentence(crontab: Path) -> None:
    with pytest.raises(CommandError, match=r"Did you mean Europe/Berlin\?"):
        call_command("import_crontab", str(crontab), "--tz", "Berlin")


def test_standard_input_can_be_a_crontab(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"0 1 * * * a\n")))
    assert outcomes(run("-", "--apply")) == [(1, "imported")]
    assert Schedule.objects.get().origin.startswith("crontab:-:")


# --- what a person reads -----------------------------------------------------------------------------------------


def test_the_list_says_of_each_line_what_becomes_of_it(capsys: pytest.CaptureFixture[str], crontab: Path) -> None:
    call_command("import_crontab", str(crontab))
    assert capsys.readouterr().out.splitlines() == [
        f"{crontab}: 2 lines.",
        f"  {crontab}:3: 30 2 * * * /usr/local/bin/backup --full",
        "    → to import as “Backup”, next Tue 2026-06-02 02:30 Europe/Berlin.",
        f"  {crontab}:4: */5 * * * * cat%hello%you",
        "    → to import as “cat”, next Mon 2026-06-01 14:05 Europe/Berlin.",
        "  Nothing is mailed to me: the output is kept with each run.",
        "",
        "2 to import. Times are by Europe/Berlin where no CRON_TZ is set.",
        "This was a dry run: nothing is written. Add --apply to import.",
    ]


def test_after_the_import_a_person_is_told_that_cron_may_run_the_lines_too(
    capsys: pytest.CaptureFixture[str], crontab: Path
) -> None:
    call_command("import_crontab", str(crontab), "--apply")
    assert f"If cron runs these lines too, take them out of {crontab} once" in capsys.readouterr().out


def test_a_list_says_so_where_commands_are_off(
    capsys: pytest.CaptureFixture[str], crontab: Path, settings: Any
) -> None:
    settings.TIDELINE_ALLOW_COMMANDS = False
    call_command("import_crontab", str(crontab), "--apply")
    assert "TIDELINE_ALLOW_COMMANDS is off: every run of these will fail" in capsys.readouterr().out
    assert Schedule.objects.count() == 2


def test_without_a_file_the_machines_crontabs_are_imported(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "etc/cron.d").mkdir(parents=True)
    (tmp_path / "etc/crontab").write_text(SYSTEM_CRONTAB)
    (tmp_path / "etc/cron.d/sysstat").write_text("5-55/10 * * * * root debian-sa1 1 1\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(import_crontab, "on_this_machine", lambda: on_this_machine(tmp_path))
    found = run("--apply")
    assert [len(crontab["lines"]) for crontab in found["crontabs"]] == [4, 1]
    assert "no crontab command" in found["missing"][0]["reason"]
