"""What is decided about the embedded servers: where they are, which are taken, and what wins over them."""

import os
import sys
from pathlib import Path

import pytest

from project.services import ServiceError, Services
from project.services import postgresql as postgresql_module
from project.services.postgresql import (
    LONGEST_SOCKET_PATH,
    check_version,
    private_folder,
    reach_postgresql,
    run_as_nobody,
    server_command,
    socket_folder,
)
from project.services.redis_server import find_binary, line_of, reach_redis, server_configuration
from project.services.server import reason_in


def test_the_socket_lies_in_the_state_folder_when_its_path_is_short_enough():
    assert socket_folder(Path("/srv/tideline/.tideline")) == Path("/srv/tideline/.tideline")


@pytest.mark.parametrize("state", [Path("/srv") / ("long" * 30), Path("/srv") / ("ü" * 50), Path("/srv/with, a comma")])
def test_a_path_that_no_socket_can_have_gets_a_short_folder_of_its_own(state, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", "/tmp")
    folder = socket_folder(state)
    assert folder.parent == Path("/tmp")
    assert folder == socket_folder(state)
    assert folder != socket_folder(state / "other")
    assert len(os.fsencode(folder / postgresql_module.SOCKET_NAME)) <= LONGEST_SOCKET_PATH


def test_a_temporary_folder_that_is_too_deep_is_named(monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", "/srv/" + "deep" * 30)
    with pytest.raises(ServiceError, match="set TMPDIR to a shorter one"):
        socket_folder(Path("/srv") / ("long" * 30))


def test_a_socket_folder_that_somebody_else_made_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: os.getuid() + 1)
    with pytest.raises(ServiceError, match="not this user's folder"):
        private_folder(tmp_path)


def test_a_link_in_place_of_the_socket_folder_is_refused(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(ServiceError):
        private_folder(tmp_path / "link")


def test_a_socket_folder_is_closed_to_others(tmp_path):
    (tmp_path / "open").mkdir(mode=0o755)
    private_folder(tmp_path / "open")
    assert (tmp_path / "open").stat().st_mode & 0o777 == 0o700


def test_an_ordinary_user_runs_postgresql_as_is(monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert run_as_nobody() == []


def test_root_runs_postgresql_as_nobody(monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    assert run_as_nobody()[0] == "setpriv"


def test_root_without_setpriv_is_told_what_to_do(monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(ServiceError, match="Start as an ordinary user, or set DATABASE_URL"):
        run_as_nobody()


def test_postgresql_listens_on_its_socket_only():
    command = server_command(Path("/d"), Path('/a "b"'), {"fsync": "off"}, drop=["su"])
    assert command[0] == "su"
    assert {"--listen_addresses=", '--unix_socket_directories="/a ""b"""', "--fsync=off"} <= set(command)


def test_data_of_another_postgresql_is_refused_with_the_way_out(tmp_path):
    (tmp_path / "PG_VERSION").write_text("9\n")
    with pytest.raises(ServiceError, match="made by PostgreSQL 9, and 18 is installed"):
        check_version(tmp_path)


@pytest.mark.parametrize(
    ("version", "line"),
    [
        ("Redis server v=6.2.14 sha=40305114:0 malloc=libc bits=64 build=dff95a8e7a99d269", "redis-6"),
        ("Redis server v=8.0.0 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=0", "redis-8"),
        ("Valkey server v=9.1.2 sha=00000000:1 malloc=libc bits=64 build=1536df31c0395150", "valkey-9"),
        ("Redis server v=6.0.16 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64 build=0", None),
        ("Redis server v=5.0.7", None),
        ("", None),
    ],
)
def test_a_redis_counts_from_6_2_on(version, line):
    assert line_of(version) == line


def test_where_path_has_no_redis_the_wheels_is_taken(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    binary, line = find_binary()
    assert binary.is_relative_to(sys.prefix)
    assert line.startswith("valkey-")


def test_a_redis_on_path_that_is_too_old_is_passed_over(monkeypatch, tmp_path):
    old = tmp_path / "redis-server"
    old.write_text("#!/bin/sh\necho Redis server v=5.0.7\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_binary()[0] != old


def test_the_brokers_redis_never_evicts_and_listens_on_loopback_with_a_password():
    lines = server_configuration(Path("/d"), 7, "word", durable=True).splitlines()
    assert {"maxmemory-policy noeviction", "appendonly yes", "bind 127.0.0.1", "requirepass word"} <= set(lines)
    assert "appendonly no" in server_configuration(Path("/d"), 7, "word", durable=False).splitlines()


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("", "it said nothing"),
        ("a\nb\n\n", "b"),
        ("x FATAL:  no\nLOG: shut down\n", "x FATAL:  no"),
        ("PANIC: could not write: No space left on device\ninitdb: removing\n", "the disk is full"),
        ("FATAL: wrote only 4096 of 8192 bytes\nHINT: Check free disk space.\n", "the disk is full"),
    ],
)
def test_the_reason_of_a_failed_start_is_the_line_that_tells_it(said, reason):
    assert reason_in(said).startswith(reason)


def test_database_url_and_redis_url_win_and_nothing_is_started_for_them(tmp_path):
    given = {"DATABASE_URL": os.environ["DATABASE_URL"], "REDIS_URL": os.environ["REDIS_URL"]}
    services = Services(tmp_path, given)
    assert services.servers == []
    try:
        assert services.start() == given
    finally:
        services.stop()


@pytest.mark.parametrize("name", ["DATABASE_URL", "REDIS_URL"])
def test_one_of_the_two_may_be_given_alone(tmp_path, name):
    (started,) = Services(tmp_path, {name: "somewhere"}).servers
    assert {started.variable, name} == {"DATABASE_URL", "REDIS_URL"}


@pytest.mark.parametrize(
    ("reach", "url", "sentence"),
    [
        (reach_postgresql, "postgresql://me:secret@127.0.0.1:1/x", "PostgreSQL of DATABASE_URL does not let us in"),
        (reach_postgresql, "me:secret@127.0.0.1", "DATABASE_URL is no address of a PostgreSQL"),
        (reach_redis, "redis://:secret@127.0.0.1:1/0", "Redis of REDIS_URL does not let us in"),
        (reach_redis, "me:secret@127.0.0.1", "REDIS_URL is no address of a Redis"),
    ],
)
def test_a_given_server_that_does_not_answer_is_named_without_its_password(reach, url, sentence):
    with pytest.raises(ServiceError, match=sentence) as refused:
        reach(url)
    assert "secret" not in str(refused.value)
