"""The first command of the README: from nothing to a control panel that can be logged into, and back."""

import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psutil
import pytest
from django.core.management import load_command_class

from project.management.commands.up import Greeting, answers, check_port, said
from project.processes import end, marked
from project.services import ServiceError
from project.tryout import environment, prepare, read_environment, write_environment
from tests.starting import Start, login

ROOT = Path(__file__).resolve().parents[2]


# --- the shell part: python3 and nothing else --------------------------------------------------------------------


def shell(script: str, *arguments: str, folder: Path = ROOT, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a script that knows the functions of bin/venv.sh."""
    return subprocess.run(
        ["/bin/sh", "-euc", f". {ROOT}/bin/venv.sh; {script}", "bin/up", *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"]} | environ,
        capture_output=True,
        text=True,
        check=False,
    )


def program(file: Path, script: str) -> Path:
    """Lay down an executable shell script."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


def test_help_comes_at_once_and_names_every_option_of_the_command():
    told = subprocess.run([ROOT / "bin" / "up", "--help"], capture_output=True, text=True, check=True, env={}).stdout
    parser = load_command_class("project", "up").create_parser("manage.py", "up")
    own = {action.option_strings[-1] for action in parser._actions} - {
        "--help", "--version", "--verbosity", "--settings", "--pythonpath", "--traceback", "--no-color",
        "--force-color", "--skip-checks",
    }  # fmt: skip
    assert own == set(re.findall(r"^  (?:-h, )?(--[a-z-]+)", told, re.MULTILINE)) - {"--help"}


@pytest.mark.parametrize(
    ("script", "found"), [("test $1 = --version && echo Python 3.10.13", "Python 3.10.13"), (None, "no python3")]
)
def test_a_machine_without_a_python_that_will_do_is_told_what_is_needed(tmp_path, script, found):
    if script:
        program(tmp_path / "python3", script)
    done = shell("find_python", PATH=str(tmp_path))
    assert done.returncode == 1
    assert f"Tideline needs Python 3.11, 3.12 or 3.13; found: {found}." in done.stderr
    assert "PYTHON=/path/to/python3.12 bin/up" in done.stderr


def test_a_newer_python_beside_an_old_python3_is_taken(tmp_path):
    program(tmp_path / "python3", "exit 1")
    program(tmp_path / "python3.12", "exit 0")
    assert shell('find_python; echo "$python"', PATH=str(tmp_path)).stdout == "python3.12\n"


def test_a_python_that_was_named_and_will_not_do_is_refused(tmp_path):
    old = program(tmp_path / "old", "exit 1")
    assert f"PYTHON={old} is not a Python 3.11, 3.12 or 3.13." in shell("find_python", PYTHON=str(old)).stderr


def test_a_python_without_venv_is_told_how_to_get_it(tmp_path):
    program(tmp_path / "python3", 'case "$2" in *ensurepip*) exit 1 ;; esac; echo Python 3.11.2')
    done = shell("make_venv", folder=tmp_path, PATH=f"{tmp_path}:/usr/bin:/bin")
    assert done.returncode == 1
    assert "Python 3.11.2 has no venv module. On Debian and Ubuntu: apt-get install python3-venv" in done.stderr


@pytest.mark.parametrize(
    ("log", "sentence"),
    [
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "disk is full"),
        ("WARNING: ... NewConnectionError: Failed to establish a new connection: [Errno 111]", "cannot be reached"),
        ("[Errno -3] Temporary failure in name resolution", "cannot be reached"),
        ("Error: [Errno 13] Permission denied: '/srv/.venv'", "cannot be written"),
        ("ERROR: No matching distribution found for celery==99", "No matching distribution found for celery==99"),
    ],
)
def test_what_stands_in_the_way_of_an_installation_is_one_sentence(log, sentence):
    assert sentence in shell('reason "$1"', log).stdout


def test_packages_are_installed_only_when_the_requirements_changed(tmp_path):
    program(tmp_path / ".venv" / "bin" / "python", "echo called >> calls")
    (tmp_path / "requirements.txt").write_text("one\n")

    def calls() -> int:
        assert shell("install requirements.txt", folder=tmp_path).returncode == 0
        return (tmp_path / "calls").read_text().count("called")

    assert [calls(), calls()] == [1, 1]
    (tmp_path / "requirements.txt").write_text("one\ntwo\n")
    assert [calls(), calls()] == [2, 2]


def test_an_installation_that_failed_is_tried_again_at_the_next_start(tmp_path):
    program(tmp_path / ".venv" / "bin" / "python", "echo called >> calls; exit 1")
    (tmp_path / "requirements.txt").write_text("one\n")
    assert [shell("install requirements.txt", folder=tmp_path).returncode for _ in range(2)] == [1, 1]
    assert (tmp_path / "calls").read_text().count("called") == 2


# --- decisions -------------------------------------------------------------------------------------------------


def test_the_tryouts_secrets_are_made_once_and_kept():
    first = environment({}, {"DATABASE_URL": "one"}, "http://flower/")
    second = environment(first, {"DATABASE_URL": "two"}, "http://flower/")
    assert second == first | {"DATABASE_URL": "two"}
    assert environment({}, {}, "")["SECRET_KEY"] != first["SECRET_KEY"]


def test_what_a_person_wrote_into_the_tryouts_file_stays():
    before = {"ALLOWED_HOSTS": "tideline.example", "TIDELINE_LANGUAGE": "zh-hans"}
    assert before.items() <= environment(before, {}, "").items()


def test_the_tryouts_file_is_for_its_owner_alone_and_can_be_read_again(tmp_path):
    file = tmp_path / "env"
    for values in ({"A": "1"}, {"A": "2", "B": "x=y"}):
        write_environment(file, values)
        assert read_environment(file) == values
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_what_the_settings_took_from_the_file_does_not_count_as_said():
    environ = {"DATABASE_URL": "from the file", "REDIS_URL": "said now", "HOME": "/home"}
    before = {"DATABASE_URL": "from the file", "REDIS_URL": "from the file"}
    assert said(environ, before) == {"REDIS_URL": "said now", "HOME": "/home"}


def test_a_taken_port_is_named_with_another_one_to_say():
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        with pytest.raises(ServiceError, match=f"Port {port} is taken. Say another: bin/up --port {port + 1}"):
            check_port("127.0.0.1", port, "--port")
    check_port("127.0.0.1", port, "--port")


def test_a_number_that_is_no_port_is_refused():
    with pytest.raises(ServiceError, match="a port is a number from 1 to 65535"):
        check_port("127.0.0.1", 80000, "--port")


def greeting(account: dict[str, str | None], lines: list[str], port: int = 1) -> Greeting:
    return Greeting("127.0.0.1", port, "http://127.0.0.1:5555/", account, Path("/state"), lines.append)


def test_a_new_password_is_printed_even_when_the_admin_was_never_served():
    lines: list[str] = []
    silent = greeting({"user": "admin", "password": "new-word"}, lines)
    silent.give_when_served()
    assert lines == []
    silent.give_password_at_least()
    assert sum(line.count("new-word") for line in lines) == 1


def test_a_later_start_tells_how_to_set_another_password():
    lines: list[str] = []
    later = greeting({"user": "admin", "password": None}, lines)
    later.give_password_at_least()
    assert lines == []
    assert "printed at the first start" in later.text()
    assert "python3 manage.py changepassword admin" in later.text()


def test_a_database_without_an_administrator_is_told_how_to_make_one():
    assert "createsuperuser" in greeting({"user": None, "password": None}, []).text()


@pytest.mark.django_db
def test_only_the_first_start_makes_an_administrator(django_user_model):
    first = prepare(with_tryout=False)
    assert django_user_model.objects.get(username="admin").check_password(first["password"])
    assert prepare(with_tryout=False) == {"user": "admin", "password": None, "carrier": None}
    assert django_user_model.objects.count() == 1


@pytest.mark.django_db
def test_a_database_with_users_of_its_own_gets_none(django_user_model):
    django_user_model.objects.create_user("somebody")
    assert prepare(with_tryout=True) == {"user": None, "password": None, "carrier": None}


# --- real starts -----------------------------------------------------------------------------------------------


class Up(Start):
    """A start of everything in a state folder of its own."""

    def __init__(self, state: Path) -> None:
        self.state = state
        command = [sys.executable, "manage.py", "up", "--no-tryout"]
        output = state.parent / f"output-{len(list(state.parent.glob('output-*')))}"
        super().__init__(command, ROOT, output, TIDELINE_STATE_DIR=str(state))


@pytest.fixture
def up(short_folder: Path) -> Iterator[Callable[[], Up]]:
    started: list[Up] = []

    def start() -> Up:
        started.append(Up(short_folder / "state"))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait()
    end(marked(str(short_folder / "state")), 0)


@pytest.mark.slow
def test_from_nothing_to_a_login_and_back_to_nothing(up):
    first = up()
    password = first.password()
    page = login(first.port, password)
    assert page.status_code == 200
    assert "/admin/logout/" in page.text
    assert first.said().count(password) == 1

    credentials = tuple(read_environment(first.state / "env")["FLOWER_BASIC_AUTH"].split(":"))
    flower = f"http://127.0.0.1:{first.flower_port}/"
    first.waits_for(lambda: answers("127.0.0.1", first.flower_port))
    assert httpx.get(flower).status_code == 401
    assert httpx.get(flower, auth=credentials, follow_redirects=True).status_code == 200
    assert credentials[1] not in " ".join(" ".join(child.cmdline()) for child in first.everything())

    everything = first.everything()
    first.process.send_signal(signal.SIGINT)
    assert first.process.wait(30) == 0
    assert psutil.wait_procs(everything, 5)[1] == []
    assert marked(str(first.state)) == []


@pytest.mark.slow
def test_a_killed_runner_comes_back_and_takes_nothing_along(up):
    one = up()
    one.password()
    one.waits_for(lambda: one.main_process("--queues runs").children())
    runner, others = (
        one.main_process("--queues runs"),
        [one.main_process("gunicorn"), one.main_process("--queues scans")],
    )
    runner.kill()
    one.waits_for_words(r"runner was killed by SIGKILL; it starts again in 1 s\.")
    one.waits_for(lambda: any("--queues runs" in " ".join(child.cmdline()) for child in one.everything()))
    assert [other.is_running() for other in others] == [True, True]


@pytest.mark.slow
def test_after_the_start_itself_was_killed_the_next_one_works_and_keeps_the_data(up):
    first = up()
    password = first.password()
    first.process.kill()
    first.process.wait()
    second = up()
    second.waits_for_words("the password was printed at the first start")
    assert "/admin/logout/" in login(second.port, password).text
    assert password not in second.said()
    third = up()
    assert third.process.wait(60) == 1
    assert f"Tideline already runs in {second.state} (process {second.process.pid})" in third.said()
