"""Real processes of the Procfile, started against the test database and the tests' Redis, and killed at will."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import psutil
from django.conf import settings
from django.db import connection

from project.processes import commands
from project.services.lifeline import bound_to_us


class Started:
    """One running process, in a session of its own.

    It is reaped only when its whole group is killed: until then its number is nobody else's, and so is the group's.
    """

    def __init__(self, name: str, command: str, environ: dict[str, str], log: Path) -> None:
        self.name = name
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [*bound_to_us(signal.SIGKILL), "sh", "-c", command],
                cwd=settings.BASE_DIR,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process number of the main process."""
        return self._process.pid

    @property
    def output(self) -> str:
        """What it has said so far."""
        return self.log.read_text(errors="replace")

    def children(self) -> list[int]:
        """Return the process numbers of its children."""
        return [child.pid for child in psutil.Process(self.pid).children(recursive=True)]

    def kill_main(self) -> None:
        """Kill the main process alone, as the kernel does when memory runs out."""
        self._signal(os.kill, signal.SIGKILL)
        self.wait()

    def kill9(self) -> None:
        """Kill the process and its children, as the end of the machine would, also those that outlived it."""
        self._signal(os.killpg, signal.SIGKILL)
        self._process.wait()

    def terminate(self) -> None:
        """Ask the main process to stop."""
        self._signal(os.kill, signal.SIGTERM)

    def terminate_group(self) -> None:
        """Ask the main process and all its children to stop, as systemd does."""
        self._signal(os.killpg, signal.SIGTERM)

    def freeze(self) -> None:
        """Stop the process and its children in their tracks, as a suspended machine would."""
        self._signal(os.killpg, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen process go on."""
        self._signal(os.killpg, signal.SIGCONT)

    def wait(self, seconds: float = 30) -> int:
        """Wait until it has ended and return its exit status (negative: the signal that killed it).

        Raises:
            AssertionError: it does not end in time; the text shows what it said last.
        """
        deadline = time.monotonic() + seconds
        while (status := self._status()) is None:
            if time.monotonic() > deadline:
                said = "\n".join(tail(self.output))
                raise AssertionError(f"{self.name} does not end within {seconds} s.\n{said}")
            time.sleep(0.02)
        return status

    def runs(self) -> bool:
        """Return whether the main process is there."""
        return self._status() is None

    def _status(self) -> int | None:
        """Return the exit status of what has ended, without reaping it."""
        if self._process.returncode is not None:
            return self._process.returncode
        ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None:
            return None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status

    def _signal(self, send: Callable[[int, int], None], which: signal.Signals) -> None:
        if self._process.returncode is None:
            send(self.pid, which)


class Processes:
    """The processes that a test starts; all of them are killed when it ends."""

    def __init__(self, folder: Path) -> None:
        """Keep the processes' output in the folder."""
        self.folder = folder
        self.started: list[Started] = []

    def start(self, name: str, **environ: str) -> Started:
        """Start a process of the Procfile by its name, with more environment variables; it works on the test
        database, so the test has to be one with `transaction=True`.
        """
        return self.run(name, f"{commands(settings.BASE_DIR / 'Procfile')[name]}", **environ)

    def run(self, name: str, command: str, **environ: str) -> Started:
        """Start any shell command in the same surroundings."""
        log = self.folder / f"{len(self.started)}-{name}.log"
        started = Started(name, command, surroundings() | environ, log)
        self.started.append(started)
        return started

    def wait_until(self, condition: Callable[[], object], seconds: float = 30, what: str = "") -> None:
        """Ask again and again until the condition holds.

        Raises:
            AssertionError: it does not hold in time; the text shows what the processes said last.
        """
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(f"{what or 'The condition'}: not within {seconds} s.\n{self.last_words()}")
            time.sleep(0.05)

    def last_words(self) -> str:
        """Return the last lines of each process."""
        return "\n".join(
            "\n".join([f"--- {started.name} ({'runs' if started.runs() else 'ended'})", *tail(started.output)])
            for started in self.started
        )

    def end(self) -> None:
        """Kill all that was started, and what their sessions may still be doing in the database."""
        for started in self.started:
            started.kill9()
        connection.close()  # whatever the test did to it, the next one begins with its own
        cut_sessions()


def cut_sessions() -> None:
    """End every other session of the test database, as an administrator or a failover does."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def lives(pid: int) -> bool:
    """Return whether there is such a process and it has not ended."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def tail(text: str, lines: int = 40) -> list[str]:
    """Return the last lines of a text."""
    return text.splitlines()[-lines:]


def surroundings() -> dict[str, str]:
    """Return the environment in which a process finds the test database."""
    address = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{connection.settings_dict['NAME']}")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {**os.environ, "DATABASE_URL": address.geturl(), "PATH": path, "PYTHONUNBUFFERED": "1"}
