"""One server process of ours: started, asked until it answers, watched, stopped. It ends with its starter."""

import re
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

import psutil

from project.services.lifeline import bound_to_us

START_SECONDS = 60  # a PostgreSQL that was killed replays its log first
STOP_SECONDS = 5


class ServiceError(Exception):
    """A server cannot be used; the text says why and what to do."""


class Server(ABC):
    """A server with its data in one folder, its log beside it, and one place where it can be reached."""

    name: ClassVar[str]
    variable: ClassVar[str]
    programs: ClassVar[tuple[str, ...]]
    stop_with: ClassVar[signal.Signals]

    def __init__(self, state: Path, *, durable: bool) -> None:
        self.state = state
        self.durable = durable
        self.log = state / f"{self.variable.removesuffix('_URL').lower()}.log"
        self.said_before = 0  # how long the log was when the present start began
        self.process: subprocess.Popen[bytes] | None = None

    @property
    @abstractmethod
    def url(self) -> str:
        """Where the server is, for the settings."""

    @property
    @abstractmethod
    def pid_file(self) -> Path:
        """Where the server writes its process number; it stands in the server's data folder."""

    @abstractmethod
    def prepare(self) -> None:
        """Make what the server needs before its first start."""

    @abstractmethod
    def command(self) -> list[str]:
        """Return the server's argv."""

    @abstractmethod
    def answers(self) -> bool:
        """Return whether the server answers a question."""

    def configuration(self) -> bytes:
        """Return what the server reads from its standard input."""
        return b""

    def start(self) -> None:
        """Start the server, after ending what a killed earlier start left, and return when it answers.

        Raises:
            ServiceError: it does not come up.
        """
        try:
            self.prepare()
        except OSError as error:
            raise ServiceError(f"{self.name} cannot use {error.filename}: {error.strerror}.") from error
        end_leftover(self.pid_file, self.programs, self.stop_with)
        self.launch()

    def launch(self) -> None:
        """Start the process and wait until it answers.

        Raises:
            ServiceError: it ends before, or does not answer in time.
        """
        self.spawn()
        deadline = time.monotonic() + START_SECONDS
        while not self.answers():
            if self.died():
                raise ServiceError(f"{self.name} did not start: {self.reason()} (log: {self.log})")
            if time.monotonic() > deadline:
                self.stop()
                raise ServiceError(f"{self.name} does not answer after {START_SECONDS} s; see its log: {self.log}")
            time.sleep(0.02)

    def spawn(self) -> None:
        """Start the process without waiting for it."""
        self.said_before = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*bound_to_us(self.stop_with), *self.command()],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # a Ctrl-C in the terminal is not for it
            )
        if self.process.stdin is not None:
            with suppress(BrokenPipeError), self.process.stdin as configuration:  # it may have ended already
                configuration.write(self.configuration())

    def reason(self) -> str:
        """Return why it did not start, from what it has said since the start began."""
        return reason_in(self.log.read_bytes()[self.said_before :].decode(errors="replace"))

    def died(self) -> bool:
        """Return whether the server was started and has ended by itself."""
        return self.process is not None and self.process.poll() is not None

    def stop(self) -> None:
        """Ask the server to stop, and return when it has ended; one that does not hear is killed."""
        if self.process is None:
            return
        self.process.send_signal(self.stop_with)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None


def end_leftover(pid_file: Path, programs: tuple[str, ...], parting: signal.Signals) -> None:
    """End the server that an earlier, killed start left running in this folder."""
    process = leftover(pid_file, programs)
    if process is None:
        return
    try:
        process.send_signal(parting)
        process.wait(STOP_SECONDS * 2)
    except psutil.NoSuchProcess:
        return
    except psutil.TimeoutExpired:
        process.kill()
        process.wait()


def leftover(pid_file: Path, programs: tuple[str, ...]) -> psutil.Process | None:
    """Return the running server that wrote the file.

    A number that by now belongs to another program (after a restart of the machine or the container) is none:
    the file is removed, because PostgreSQL would take the stranger for itself and refuse to start.
    """
    try:
        process = psutil.Process(int(pid_file.read_text().split()[0]))
        if process.name() in programs and Path(process.cwd()) == pid_file.parent.resolve():
            return process
    except (FileNotFoundError, IndexError, ValueError, psutil.NoSuchProcess):
        return None
    pid_file.unlink()
    return None


def reason_in(said: str) -> str:
    """Return the line that tells why a server failed; the last lines often only say that it tidied up."""
    if "No space left on device" in said or "Check free disk space" in said:
        return "the disk is full. Make room and start again"
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if re.search("FATAL|PANIC|error:|# ", line)]
    return (telling or lines or ["it said nothing"])[-1]
