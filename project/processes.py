"""Runs the processes of the Procfile under one roof: starts each, passes its lines on with its name before
them, starts again what dies, and stops all of it. The Procfile and the look of the lines are honcho's;
honcho itself stops everything when one process ends, and here a killed runner must not take the rest along.
"""

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import IO, Protocol

import psutil
from honcho.colour import get_colours
from honcho.environ import parse_procfile
from honcho.printer import Message, Printer

from project.services.lifeline import bound_to_us

GRACE_SECONDS = 10.5  # a runner takes up to 10 s to hand its run back
LONGEST_DELAY = 30.0
SERVER_DELAY = 5.0
SETTLED_SECONDS = 60.0  # a process that ran so long starts again as if it had never died
MARK = "TIDELINE_UP"  # in the environment of all that a start starts, with the state folder as its value
TICK_SECONDS = 0.2
LONGEST_LINE = 65536


def commands(procfile: Path) -> dict[str, str]:
    """Return the Procfile's commands by the names of their processes."""
    return dict(parse_procfile(procfile.read_text()).processes)


def restart_delay(deaths: int) -> float:
    """Return after how many seconds a process starts again that has died so many times in a row."""
    return min(2.0 ** (deaths - 1), LONGEST_DELAY)


def parting(status: int) -> str:
    """Return in words how a process ended, from its exit status (negative: the signal that killed it)."""
    if status >= 0:
        return f"ended with status {status}"
    return f"was killed by {signal.Signals(-status).name}"


class Console:
    """The terminal: one line at a time, each behind the name of who said it."""

    def __init__(self, output: IO[str], names: list[str]) -> None:
        self._printer = Printer(output, width=max(map(len, ["tideline", *names])))
        self._colours = dict(zip(names, get_colours(), strict=False))
        self.closed = False

    def say(self, name: str, line: str) -> None:
        """Print a line; a terminal that was closed is remembered in `closed`."""
        # the clock of the terminal's reader, not of the domain
        message = Message("line", line, datetime.now(), name, self._colours.get(name))  # noqa: DTZ005, TID251
        try:
            self._printer.write(message)
        except OSError:
            self.closed = True


class Process:
    """One line of the Procfile, running in a session of its own.

    Args:
        is_leant_on: whether it is asked to stop only when those that are not have ended.
    """

    def __init__(
        self, name: str, command: str, environ: Mapping[str, str], folder: Path, *, is_leant_on: bool = False
    ) -> None:
        self.name = name
        self.command = command
        self.is_leant_on = is_leant_on
        self.voice: IO[bytes] | None = None  # open as long as somebody may say something
        self.due = 0.0  # when to start (again), on the monotonic clock
        self._environ = environ
        self._folder = folder
        self._running: subprocess.Popen[bytes] | None = None
        self._started = 0.0
        self._deaths = 0
        self._unfinished = b""

    @property
    def runs(self) -> bool:
        """Whether it was started and its end has not been taken up."""
        return self._running is not None

    def start(self, now: float) -> None:
        """Start the process; it gets SIGTERM when we are killed."""
        self._started = now
        self._running = subprocess.Popen(
            [*bound_to_us(signal.SIGTERM), "sh", "-c", self.command],
            cwd=self._folder,
            env=self._environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            start_new_session=True,  # Ctrl-C is for us alone, and its group can be killed as a whole
        )
        self.voice = self._running.stdout
        if self.voice is not None:
            os.set_blocking(self.voice.fileno(), False)

    def lines(self) -> list[str]:
        """Return the lines that it has said since, a last half one only when it will say no more."""
        if self.voice is None:
            return []
        said = self.voice.read(LONGEST_LINE)
        if said == b"":
            self.voice.close()
            self.voice = None
        lines = (self._unfinished + (said or b"")).split(b"\n")
        half = lines[-1]
        self._unfinished = b"" if said == b"" or len(half) >= LONGEST_LINE else lines.pop()
        return [line.decode(errors="replace") for line in lines if line]

    def take_up_end(self, now: float) -> int | None:
        """Return the exit status if it has ended; kill what it left in its group, and set when it is due again."""
        status = self._running.poll() if self._running else None
        if status is None:
            return None
        self.kill()
        self._running = None
        self._deaths = 1 if now - self._started >= SETTLED_SECONDS else self._deaths + 1
        self.due = now + restart_delay(self._deaths)
        return status

    def terminate(self) -> None:
        """Ask the process to stop; its children are its own business."""
        if self._running is not None:
            self._running.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the process and all that is left of its group."""
        if self._running is None:
            return
        with suppress(ProcessLookupError):  # nothing is left
            os.killpg(self._running.pid, signal.SIGKILL)
        self._running.wait()


class Servers(Protocol):
    """What the processes lean on; `project.services.Services` is one."""

    def revive(self) -> list[str]:
        """Start again what has died, and return its names."""


class Supervisor:
    """Keeps processes running until a signal asks to stop."""

    def __init__(self, processes: list[Process], servers: Servers, console: Console) -> None:
        self.processes = processes
        self.servers = servers
        self.console = console
        self._asked = 0  # how often a signal has asked to stop
        self._servers_due = 0.0  # when to look after the servers again, on the monotonic clock

    def run(self, every_tick: Callable[[], None]) -> None:
        """Keep all processes running until SIGINT, SIGTERM, SIGHUP or the end of the terminal, then stop
        them: with SIGTERM, and with SIGKILL after 10.5 s or at the second signal.
        """
        with self._listening_to_signals():
            try:
                while not self._asked and not self.console.closed:
                    self._start_due()
                    self._pass_lines_on()
                    self._take_up_ends()
                    self._revive_servers()
                    every_tick()
            finally:
                self._stop()

    @contextmanager
    def _listening_to_signals(self) -> Iterator[None]:
        def ask(number: int, frame: FrameType | None) -> None:
            self._asked += 1

        before = {number: signal.signal(number, ask) for number in stop_signals()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _start_due(self) -> None:
        now = time.monotonic()
        for process in self.processes:
            if not process.runs and process.due <= now:
                process.start(now)

    def _pass_lines_on(self) -> None:
        talking = {process.voice: process for process in self.processes if process.voice}
        for voice in select.select(list(talking), [], [], TICK_SECONDS)[0]:
            self._pass_on(talking[voice])

    def _pass_on(self, process: Process) -> None:
        for line in process.lines():
            self.console.say(process.name, line)

    def _take_up_ends(self, *, again: bool = True) -> None:
        now = time.monotonic()
        for process in self.processes:
            if (status := process.take_up_end(now)) is None:
                continue
            self._pass_on(process)  # what it said at last
            delay = f"; it starts again in {process.due - now:.0f} s" if again else ""
            self.console.say("tideline", f"{process.name} {parting(status)}{delay}.")

    def _revive_servers(self) -> None:
        if self._servers_due > time.monotonic():
            return
        for name in self.servers.revive():
            self.console.say("tideline", f"{name} had died and is started again; its log is in the state folder.")
            self._servers_due = time.monotonic() + SERVER_DELAY

    def _stop(self) -> None:
        self.console.say("tideline", "Stopping. A runner takes up to 10 s to hand its run back.")
        deadline = time.monotonic() + GRACE_SECONDS
        for is_leant_on in (False, True):
            self._end([process for process in self.processes if process.is_leant_on is is_leant_on], deadline)

    def _end(self, processes: list[Process], deadline: float) -> None:
        for process in processes:
            process.terminate()
        while any(process.runs for process in processes):
            if self._asked > 1 or time.monotonic() > deadline:
                self._kill_all()
            self._pass_lines_on()
            self._take_up_ends(again=False)

    def _kill_all(self) -> None:
        for process in self.processes:
            process.kill()


def stop_signals() -> list[signal.Signals]:
    """Return the signals that ask to stop; the closing of the terminal does not when `nohup` said so."""
    asking = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        asking.append(signal.SIGHUP)
    return asking


def marked(mark: str) -> list[psutil.Process]:
    """Return the processes, but for our own, that carry this mark in their environment, however they were born."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):  # ended meanwhile, or somebody else's
            if process.pid != os.getpid() and process.environ().get(MARK) == mark:
                found.append(process)
    return found


def end(processes: list[psutil.Process], seconds: float) -> None:
    """Ask processes to stop, and kill those that are still there after this time."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    _, left = psutil.wait_procs(processes, seconds)
    for process in left:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(left, 1)
