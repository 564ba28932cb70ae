"""The embedded servers for real: what they keep, what they survive, and that none outlives its starter."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import psycopg
import pytest
import redis
from celery import Celery
from redis.backoff import NoBackoff
from redis.retry import Retry

from project.services import PostgreSQL, Redis, ServiceError, Services

ROOT = Path(__file__).resolve().parents[2]


def write_in_both(urls):
    with psycopg.connect(urls["DATABASE_URL"]) as connection:
        connection.execute("CREATE TABLE kept (what text)")
        connection.execute("INSERT INTO kept VALUES ('row')")
    redis.Redis.from_url(urls["REDIS_URL"]).set("kept", "key")


def read_from_both(urls):
    with psycopg.connect(urls["DATABASE_URL"]) as connection:
        row = connection.execute("SELECT what FROM kept").fetchone()
    return row[0], redis.Redis.from_url(urls["REDIS_URL"]).get("kept").decode()


def wait_until(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_second_start_finds_the_data_of_the_first(short_folder):
    first = Services(short_folder, {})
    write_in_both(first.start())
    first.stop()
    second = Services(short_folder, {})
    try:
        assert read_from_both(second.start()) == ("row", "key")
    finally:
        second.stop()


def test_servers_that_were_killed_start_again_at_the_same_place(short_folder):
    services = Services(short_folder, {})
    try:
        urls = services.start()
        write_in_both(urls)
        for server in services.servers:
            server.process.kill()
            server.process.wait()
        assert sorted(services.revive()) == ["PostgreSQL", "Redis"]
        for server in services.servers:
            wait_until(server.answers)
        with psycopg.connect(urls["DATABASE_URL"]) as connection:
            assert connection.execute("SELECT what FROM kept").fetchone() == ("row",)
        assert redis.Redis.from_url(urls["REDIS_URL"]).ping()
        assert services.revive() == []
    finally:
        services.stop()


def test_a_second_start_in_a_folder_in_use_says_that_it_runs(short_folder):
    first = Services(short_folder, {"DATABASE_URL": "x", "REDIS_URL": "y"})
    first.lock()
    try:
        with pytest.raises(ServiceError, match=f"already runs in .* \\(process {os.getpid()}\\)"):
            Services(short_folder, {}).start()
    finally:
        first.stop()


def test_servers_that_an_earlier_start_left_running_are_ended_first(short_folder):
    left = [PostgreSQL(short_folder, durable=True), Redis(short_folder, durable=True)]
    for server in left:
        server.start()
    services = Services(short_folder, {})
    try:
        services.start()
        assert [server.process.wait(10) for server in left] == [0, 0]
    finally:
        services.stop()


def test_a_pid_file_whose_number_now_belongs_to_another_program_is_survived(postgresql_server):
    postgresql_server.process.kill()
    postgresql_server.process.wait()
    file = postgresql_server.pid_file
    lines = file.read_text().splitlines()
    file.write_text("\n".join([str(os.getppid()), *lines[1:]]))
    postgresql_server.start()
    assert postgresql_server.answers()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent has died")
@pytest.mark.slow
def test_servers_end_when_their_starter_is_killed(short_folder):
    script = (
        "import signal, sys; from pathlib import Path; from project.services import Services\n"
        "services = Services(Path(sys.argv[1]), {}); services.start()\n"
        "print(*[server.process.pid for server in services.servers], flush=True); signal.pause()"
    )
    starter = subprocess.Popen(
        [sys.executable, "-c", script, str(short_folder)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    with starter, starter.stdout:
        servers = [psutil.Process(int(number)) for number in starter.stdout.readline().split()]
        starter.kill()
    _, alive = psutil.wait_procs(servers, 20)
    assert alive == []
    next_start = Services(short_folder, {})
    next_start.lock()  # the folder is free again
    next_start.stop()


def test_without_the_password_redis_gives_nothing(redis_server):
    stranger = redis.Redis(port=redis_server.port, retry=Retry(NoBackoff(), 0))
    with pytest.raises(redis.AuthenticationError):
        stranger.keys()


def test_one_url_serves_celery_and_redis_py_alike(redis_server):
    app = Celery(broker=redis_server.url, set_as_current=False)
    with app.connection_for_write() as connection:
        connection.ensure_connection(timeout=5)
        queue = connection.SimpleQueue("hints")
        queue.put({"run": 1})
        queue.close()
    assert redis.Redis.from_url(redis_server.url).llen("hints") == 1


def test_the_passwords_stand_in_no_command_line(redis_server):
    assert redis_server.password not in " ".join(psutil.Process(redis_server.process.pid).cmdline())


def test_a_server_that_does_not_hear_is_killed_in_the_end(redis_server, monkeypatch):
    monkeypatch.setattr("project.services.server.STOP_SECONDS", 0.2)
    process = redis_server.process
    process.send_signal(signal.SIGSTOP)
    redis_server.stop()
    assert process.returncode == -signal.SIGKILL


def test_a_server_that_cannot_start_says_why(short_folder, redis_server, monkeypatch):
    monkeypatch.setattr("project.services.redis_server.free_port", lambda: redis_server.port)
    (short_folder / "other").mkdir()
    with pytest.raises(ServiceError, match=f"Redis did not start: .*port {redis_server.port}"):
        Redis(short_folder / "other", durable=False).start()


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ServiceError, match="file/state cannot be used"):
        Services(tmp_path / "file" / "state", {}).start()
