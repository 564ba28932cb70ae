"""Who works here, and what a worker tells its children."""

import multiprocessing
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from scheduler import identity
from scheduler.identity import SharedSignals, is_gone, worker_name
from scheduler.transitions import Worker

FORK = multiprocessing.get_context("fork")


@pytest.fixture
def child() -> Iterator["subprocess.Popen[bytes]"]:
    """A process of this machine that waits."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def name_of(pid: int, *, started: str | None = None, host: str | None = None, boot: str | None = None) -> str:
    """Return the name of a worker process, or of one that differs in a part of it."""
    own_boot = worker_name().rsplit(":", 1)[1]
    start = started if started is not None else Path(f"/proc/{pid}/stat").read_text().split()[21]
    return f"{host or socket.gethostname()}:{pid}:{start}:{boot or own_boot}"


# --- names --------------------------------------------------------------------------------------------------------


def test_a_name_is_host_process_start_and_boot() -> None:
    host, pid, started, boot = worker_name().rsplit(":", 3)
    assert (host, int(pid)) == (socket.gethostname(), os.getpid())
    assert started.isdecimal()
    assert len(boot) == 8


def test_a_process_keeps_its_name() -> None:
    assert worker_name() == worker_name()


def test_a_living_worker_is_not_gone() -> None:
    assert not is_gone(worker_name())


def test_a_worker_whose_process_has_ended_is_gone(child: "subprocess.Popen[bytes]") -> None:
    name = name_of(child.pid)
    assert not is_gone(name)
    child.kill()
    child.wait()
    assert is_gone(name)


def test_a_worker_that_is_dead_and_not_yet_buried_is_gone(child: "subprocess.Popen[bytes]") -> None:
    name = name_of(child.pid)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it stays a zombie
    assert is_gone(name)


def test_another_process_under_the_same_number_is_somebody_else(child: "subprocess.Popen[bytes]") -> None:
    """B29, B40: a restart under the same host name and process number does not hide that the old one is dead."""
    assert is_gone(name_of(child.pid, started="12345"))


@pytest.mark.parametrize("elsewhere", [{"host": "another"}, {"boot": "00000000"}])
def test_a_worker_of_another_machine_or_boot_is_never_known_to_be_gone(elsewhere: dict[str, str]) -> None:
    assert not is_gone(name_of(2**22 + 1, started="1", **elsewhere))


@pytest.mark.parametrize("name", ["", "somebody", "host:1:1", "host:not a number:1:b00b", f"{socket.gethostname()}:x"])
def test_a_name_that_is_none_of_ours_is_never_known_to_be_gone(name: str) -> None:
    assert not is_gone(name)


def test_an_unreadable_process_number_under_our_own_boot_is_never_known_to_be_gone() -> None:
    own_boot = worker_name().rsplit(":", 1)[1]
    assert not is_gone(f"{socket.gethostname()}:x:1:{own_boot}")


def test_a_step_of_the_wall_clock_makes_no_living_worker_somebody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel's boot time, counted from the epoch, moves with the wall clock."""
    name, booted_at = worker_name(), psutil.boot_time()
    monkeypatch.setattr("psutil._pslinux.boot_time", lambda: booted_at + 3600)
    assert not is_gone(name)
    assert worker_name() == name


def test_a_host_name_with_colons_is_read_from_its_end() -> None:
    assert not is_gone(f"fe80::1:{worker_name()}")


def test_a_process_is_one_worker_however_often_it_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "_this_worker", None)
    first = identity.this_worker()
    assert identity.this_worker() is first
    assert first.as_worker() == Worker(worker_name(), os.getpid())


# --- signals ------------------------------------------------------------------------------------------------------


def test_at_first_nothing_stops() -> None:
    signals = SharedSignals()
    assert not signals.stopping
    assert signals.leases_hold


def test_a_stop_is_told() -> None:
    signals = SharedSignals()
    signals.stop()
    assert signals.stopping
    assert signals.leases_hold


@pytest.mark.parametrize(("ahead", "holds"), [(60.0, True), (0.0, False), (-60.0, False)])
def test_leases_hold_until_the_moment_that_was_said(ahead: float, holds: bool) -> None:
    signals = SharedSignals()
    signals.leases_hold_until(time.monotonic() + ahead)
    assert signals.leases_hold == holds
    assert not signals.stopping


def test_a_stop_and_the_extension_of_the_leases_do_not_undo_each_other() -> None:
    signals = SharedSignals()
    signals.leases_hold_until(time.monotonic() - 1)
    signals.stop()
    assert not signals.leases_hold
    signals.leases_hold_until(time.monotonic() + 60)
    assert signals.stopping


def test_a_child_that_is_told_to_stop_alone_does_not_stop_its_siblings() -> None:
    signals = SharedSignals()
    _in_a_fork(signals.stop_here)
    assert not signals.stopping
    signals.stop_here()
    assert signals.stopping


def test_a_child_hears_what_the_worker_says_after_the_fork() -> None:
    signals, told, heard = SharedSignals(), FORK.Event(), FORK.Event()

    def wait_for_the_stop() -> None:
        told.wait(20)
        if signals.stopping and not signals.leases_hold:
            heard.set()

    process = FORK.Process(target=wait_for_the_stop)
    process.start()
    signals.stop()
    signals.leases_hold_until(time.monotonic() - 1)
    told.set()
    process.join(20)
    assert heard.is_set()


def _in_a_fork(function: Callable[[], None]) -> None:
    process = FORK.Process(target=function)
    process.start()
    process.join(20)
    assert process.exitcode == 0
