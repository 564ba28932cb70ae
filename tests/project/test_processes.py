"""The supervisor: one process that dies harms no other, and none outlives it."""

import errno
import io
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from project.processes import Console, commands, end, marked, parting, restart_delay

ROOT = Path(__file__).resolve().parents[2]


class Supervised:
    """A supervisor in a process of its own, with the Procfile that a test gives it."""

    def __init__(self, folder: Path, *before: str, **processes: str) -> None:
        (folder / "Procfile").write_text("".join(f"{name}: {line}\n" for name, line in processes.items()))
        self.folder = folder
        self.output = folder / "output"
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [*before, sys.executable, "-m", "tests.project.supervised", str(folder)],
                cwd=ROOT,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def said(self) -> str:
        return self.output.read_text()

    def waits_for(self, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + 30
        while not condition():
            assert time.monotonic() < deadline, self.said()
            time.sleep(0.02)

    def waits_for_words(self, pattern: str) -> None:
        self.waits_for(lambda: re.search(pattern, self.said()))

    def pid(self, name: str, *, but: int = 0) -> int:
        """Return the number that a process wrote into its file, when it is another than `but`."""
        file = self.folder / name
        self.waits_for(lambda: file.exists() and file.read_text().strip() not in {"", str(but)})
        return int(file.read_text())

    def ends(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait(30)


@pytest.fixture
def supervised(tmp_path: Path) -> Iterator[Callable[..., Supervised]]:
    started = []
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup themselves

    def start(*before: str, **processes: str) -> Supervised:
        started.append(Supervised(tmp_path, *before, **processes))
        return started[-1]

    yield start
    signal.signal(signal.SIGHUP, before)
    for supervisor in started:
        supervisor.process.kill()
        supervisor.process.wait()
    end(marked(str(tmp_path)), 0)


def lives(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


# --- decisions -------------------------------------------------------------------------------------------------


def test_the_procfile_names_what_the_design_names():
    assert list(commands(ROOT / "Procfile")) == [
        "web",
        "worker",
        "runner",
        "notifier",
        "poller",
        "legacy",
        "beat",
        "flower",
    ]


def test_each_line_of_the_procfile_gives_its_place_to_the_program_itself():
    # a signal would stop at the shell otherwise
    assert all(re.search(r"(^|&& )exec ", line) for line in commands(ROOT / "Procfile").values())


def test_flower_refuses_to_start_without_a_password():
    line = commands(ROOT / "Procfile")["flower"]
    environ = {"PATH": os.environ["PATH"]}
    done = subprocess.run(["sh", "-c", line], env=environ, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "FLOWER_BASIC_AUTH: Flower needs a password" in done.stderr


def test_a_process_that_dies_again_and_again_waits_longer_each_time_up_to_half_a_minute():
    assert [restart_delay(deaths) for deaths in range(1, 9)] == [1, 2, 4, 8, 16, 30, 30, 30]


def test_an_end_is_told_in_words():
    assert parting(3) == "ended with status 3"
    assert parting(-9) == "was killed by SIGKILL"


def test_a_closed_terminal_is_remembered_and_harms_nobody():
    class ClosedTerminal(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(errno.EIO, "Input/output error")

    console = Console(ClosedTerminal(), ["web"])
    console.say("web", "a line")
    assert console.closed


# --- real processes --------------------------------------------------------------------------------------------


def test_lines_stand_behind_the_name_of_who_said_them_and_a_last_half_one_is_not_lost(supervised):
    supervisor = supervised(talker="echo one; printf two; exec sleep 1000", other="printf half; exit 0")
    supervisor.waits_for_words(r"talker +\| one\n")
    supervisor.waits_for_words(r"other +\| half\n")
    assert "two" not in supervisor.said()
    supervisor.ends(signal.SIGTERM)
    assert re.search(r"talker +\| two\n", supervisor.said())


@pytest.mark.slow
def test_a_killed_process_starts_again_and_the_others_never_notice(supervised):
    supervisor = supervised(one="echo $$ > one; exec sleep 1000", two="echo $$ > two; exec sleep 1000")
    one, two = supervisor.pid("one"), supervisor.pid("two")
    os.kill(one, signal.SIGKILL)
    assert lives(supervisor.pid("one", but=one))
    assert lives(two)
    assert "one was killed by SIGKILL; it starts again in 1 s." in supervisor.said()


@pytest.mark.slow
def test_what_a_killed_process_leaves_in_its_group_is_killed_before_it_starts_again(supervised):
    supervisor = supervised(parent="sleep 1000 & echo $! > child; echo $$ > parent; wait")
    parent, child = supervisor.pid("parent"), supervisor.pid("child")
    os.kill(parent, signal.SIGKILL)
    supervisor.pid("parent", but=parent)
    assert not lives(child)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_all_of_it_and_the_exit_status_is_0(supervised, number):
    supervisor = supervised(
        gentle="trap 'echo tidied up; exit 0' TERM; echo $$ > gentle; while :; do sleep 0.05; done",
        plain="echo $$ > plain; exec sleep 1000",
    )
    pids = [supervisor.pid("gentle"), supervisor.pid("plain")]
    assert supervisor.ends(number) == 0
    assert not any(map(lives, pids))
    assert "tidied up" in supervisor.said()


def test_what_others_lean_on_is_asked_to_stop_when_they_have_ended(supervised):
    loop = "while :; do sleep 0.05; done"
    supervisor = supervised(
        leant=f"trap 'echo stops now; exit 0' TERM; echo $$ > leant; {loop}",
        other=f"trap 'sleep 0.5; echo has ended; exit 0' TERM; echo $$ > other; {loop}",
    )
    assert supervisor.pid("leant") != supervisor.pid("other")
    supervisor.ends(signal.SIGTERM)
    assert re.search(r"has ended.*stops now", supervisor.said(), re.DOTALL)


def test_it_stops_when_nobody_reads_its_lines_any_more(supervised):
    one_line = ("sh", "-c", 'exec "$@" | head -n 1', "sh")
    supervisor = supervised(*one_line, one="echo $$ > one; while :; do echo hi; sleep 0.05; done")
    one = supervisor.pid("one")
    supervisor.waits_for(lambda: not lives(one))


def test_nohup_keeps_it_running_when_the_terminal_is_closed(supervised):
    supervisor = supervised("nohup", one="echo $$ > one; exec sleep 1000")
    one = supervisor.pid("one")
    supervisor.process.send_signal(signal.SIGHUP)
    os.kill(one, signal.SIGKILL)
    supervisor.pid("one", but=one)  # it still supervises


def test_a_second_signal_kills_what_does_not_want_to_stop(supervised):
    supervisor = supervised(stubborn="trap '' TERM; echo $$ > stubborn; while :; do sleep 0.05; done")
    stubborn = supervisor.pid("stubborn")
    supervisor.process.send_signal(signal.SIGINT)
    supervisor.waits_for_words("Stopping")
    assert supervisor.ends(signal.SIGINT) == 0
    assert not lives(stubborn)
    assert "stubborn was killed by SIGKILL" in supervisor.said()


@pytest.mark.slow
def test_what_does_not_want_to_stop_is_killed_after_the_time_that_a_runner_has(supervised):
    supervisor = supervised(stubborn="trap '' TERM; echo $$ > stubborn; while :; do sleep 0.05; done")
    stubborn = supervisor.pid("stubborn")
    assert supervisor.ends(signal.SIGINT) == 0
    assert not lives(stubborn)


def test_what_has_a_session_of_its_own_is_found_by_its_mark(supervised):
    supervisor = supervised(parent="setsid sh -c 'echo $$ > child; exec sleep 1000' & exec sleep 1000")
    child = supervisor.pid("child")
    assert child in [process.pid for process in marked(str(supervisor.folder))]
    supervisor.ends(signal.SIGTERM)
    end(marked(str(supervisor.folder)), 0)
    assert not lives(child)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent has died")
def test_nothing_outlives_a_supervisor_that_is_killed_itself(supervised):
    supervisor = supervised(one="echo $$ > one; exec sleep 1000")
    one = supervisor.pid("one")
    supervisor.process.kill()
    supervisor.waits_for(lambda: not lives(one))


def test_a_process_that_says_very_much_without_a_line_end_is_passed_on_in_pieces(supervised, tmp_path):
    all_is_said = tmp_path / "all is said"
    supervisor = supervised(flood=f"head -c 300000 /dev/zero | tr '\\0' x; touch '{all_is_said}'; exec sleep 1000")
    supervisor.waits_for(lambda: all_is_said.exists() and supervisor.said().count("x") >= 65536)
    supervisor.ends(signal.SIGTERM)
    assert supervisor.said().count("x") == 300000
