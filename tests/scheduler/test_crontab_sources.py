"""Which crontabs a machine has, and which form each is in."""

from pathlib import Path

import pytest

from scheduler.cron import zone
from scheduler.importing import sources
from scheduler.importing.sources import Missing, Source, from_file, on_this_machine


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with a system crontab, a folder of crontabs and a crontab of its user."""
    (tmp_path / "etc/cron.d").mkdir(parents=True)
    (tmp_path / "etc/crontab").write_text("17 * * * * root run-parts /etc/cron.hourly\n")
    (tmp_path / "etc/cron.d/sysstat").write_text("5-55/10 * * * * root debian-sa1 1 1\n")
    (tmp_path / "etc/cron.d/job.dpkg-old").write_text("* * * * * root never\n")
    (tmp_path / "etc/cron.d/.placeholder").write_text("")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "crontab").write_text("#!/bin/sh\necho '0 7 * * * mine'\n")
    (programs / "crontab").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    return tmp_path


def test_the_machines_crontabs_are_found_and_what_cron_ignores_is_said(root: Path) -> None:
    found = list(on_this_machine(root))
    assert [(source.name, source.with_user) for source in found if isinstance(source, Source)] == [
        (f"{root}/etc/crontab", True),
        (f"{root}/etc/cron.d/sysstat", True),
        (f"crontab of {sources.this_machine('UTC').user}", False),
    ]
    (ignored,) = [source for source in found if isinstance(source, Missing)]
    assert ignored.name == f"{root}/etc/cron.d/job.dpkg-old"
    assert "letters, digits, _ and - only" in ignored.reason
    assert not ignored.failed


def test_a_machine_without_any_crontab_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = list(on_this_machine(tmp_path))
    assert [source.failed for source in found if isinstance(source, Missing)] == [False, False, False]
    assert "no crontab command" in found[-1].reason


def test_a_user_without_a_crontab_is_no_fault(root: Path) -> None:
    (root / "bin/crontab").write_text("#!/bin/sh\necho 'no crontab for me' >&2\nexit 1\n")
    last = list(on_this_machine(root))[-1]
    assert (last.reason, last.failed) == ("no crontab for me", False)


@pytest.mark.parametrize(
    ("path", "with_user", "owner"),
    [
        ("etc/crontab", True, None),
        ("etc/cron.d/job", True, None),
        ("var/spool/cron/crontabs/alice", False, "alice"),
        ("var/spool/cron/bob", False, "bob"),
        ("home/me/crontab.txt", False, None),
    ],
)
def test_the_form_of_a_crontab_is_known_by_its_path(
    tmp_path: Path, path: str, with_user: bool, owner: str | None
) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text("")
    source = from_file(file)
    assert isinstance(source, Source)
    assert (source.with_user, source.owner) == (with_user, owner)


def test_a_folder_is_not_a_crontab(tmp_path: Path) -> None:
    absent = from_file(tmp_path)
    assert isinstance(absent, Missing)
    assert (absent.reason, absent.failed) == ("It cannot be read: Is a directory.", True)


def test_the_machines_zone_is_one_that_exists() -> None:
    assert zone(sources.this_machine().zone).key == sources.this_machine().zone
