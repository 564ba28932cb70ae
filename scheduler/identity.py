"""Who works here: the name under which this worker process holds leases, and what it tells its children.

A name is host, process, start and boot, so that a restarted process under the same host name, or a recycled process
number, is somebody else.
"""

import hashlib
import mmap
import os
import re
import socket
import struct
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from scheduler.transitions import Worker

_NAME = re.compile(r"(?P<host>.+):(?P<pid>\d+):(?P<started>\d+):(?P<boot>[0-9a-f]+)")


class SharedSignals:
    """What the worker process tells the children that it forked, through shared memory and without a round trip:
    that it is stopping, and until when (CLOCK_MONOTONIC, seconds) its leases are sure to hold.
    """

    # Each has a place of its own, so that the threads of the main process which write them never undo each other.
    _STOPPING = 0
    _BEGUN = 1
    _HOLD_UNTIL = slice(8, 16)
    _NUMBER = struct.Struct("=d")

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 16)
        self.stopping_here = False  # not shared: only the calling process was asked to stop
        self.leases_hold_until(float("inf"))

    @property
    def stopping(self) -> bool:
        """Whether the worker was asked to stop, or the calling process of it alone."""
        return self.stopping_here or bool(self._memory[self._STOPPING])

    @property
    def leases_hold(self) -> bool:
        """Whether the worker could extend its leases lately enough for them still to hold."""
        (until,) = self._NUMBER.unpack(self._memory[self._HOLD_UNTIL])
        return time.monotonic() < float(until)

    def stop(self) -> None:
        """Tell the jobs that the worker is stopping."""
        self._memory[self._STOPPING] = 1

    def stop_here(self) -> None:
        """Tell the job of the calling process that this process is stopping; its siblings go on."""
        self.stopping_here = True

    @property
    def begun(self) -> bool:
        """Whether a child may have begun a run since `forget_begun`."""
        return bool(self._memory[self._BEGUN])

    def note_begun(self) -> None:
        """Tell the main process that a child is about to begin a run, of which no row tells it yet."""
        self._memory[self._BEGUN] = 1

    def forget_begun(self) -> None:
        """Wait for the next; called before the rows are read that tell of those before."""
        self._memory[self._BEGUN] = 0

    def leases_hold_until(self, monotonic: float) -> None:
        """Say until when the leases hold, as CLOCK_MONOTONIC shows it."""
        self._memory[self._HOLD_UNTIL] = self._NUMBER.pack(monotonic)


@dataclass(frozen=True, slots=True)
class ThisWorker:
    """The worker process and its shared signals; children inherit it by fork."""

    name: str
    signals: SharedSignals

    def as_worker(self) -> Worker:
        """Return who holds a lease that is taken in the calling process."""
        return Worker(self.name, os.getpid())


_this_worker: ThisWorker | None = None


def become_worker() -> ThisWorker:
    """Give the calling process its name; call it before the children are forked."""
    global _this_worker  # noqa: PLW0603 - one identity a process, inherited by fork
    _this_worker = ThisWorker(worker_name(), SharedSignals())
    return _this_worker


def this_worker() -> ThisWorker:
    """Return the identity of the worker process to which the caller belongs."""
    return _this_worker or become_worker()


def worker_name() -> str:
    """Return the calling process's name: host:pid:start:boot."""
    return f"{socket.gethostname()}:{os.getpid()}:{_started(os.getpid())}:{_boot()}"


def is_gone(name: str) -> bool:
    """Whether the named worker is known to be dead: it lived on this machine, under this boot, and is no more.

    A worker of another machine is never known to be dead, nor is what bears no name of ours; the lease decides.
    """
    named = _NAME.fullmatch(name)
    if named is None or (named["host"], named["boot"]) != (socket.gethostname(), _boot()):
        return False
    try:
        return _started(int(named["pid"])) != named["started"]
    except psutil.NoSuchProcess:
        return True


def _started(pid: int) -> str:
    """Return when the process started, counted from the boot: psutil counts from the epoch, and so a step of the wall
    clock would make every living worker somebody else.

    Raises:
        psutil.NoSuchProcess: there is none, or only a dead one that nobody has buried.
    """
    if not sys.platform.startswith("linux"):
        return str(round(psutil.Process(pid).create_time() * 100))
    try:
        # The program's name, in parentheses, may hold anything; the fields after it begin with proc(5)'s third.
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        raise psutil.NoSuchProcess(pid) from None
    if fields[0] in "ZX":
        raise psutil.NoSuchProcess(pid)
    return fields[22 - 3]


def _boot() -> str:
    """Return what tells this boot, and this container's view of the processes, from others."""
    marks = []
    for mark in ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid"):
        path = Path(mark)
        marks.append(os.readlink(path) if path.is_symlink() else path.read_text() if path.exists() else "")
    return hashlib.sha256("".join(marks).encode()).hexdigest()[:8]
