"""A shell command as the job sees it: what it says, how it ended, and its end on demand."""

import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from scheduler.jobs import command_guard

GUARD = Path(command_guard.__file__)
CHUNK_BYTES = 64 * 1024
# What a pipe can hold at the most. More than that was said after the command's end, by what it left behind.
PIPE_BYTES = 1024 * 1024
# How long the guard may take to kill everything.
KILL_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class End:
    """How a command ended.

    Attributes:
        status: its exit status, or the number of the signal that ended it, negative.
        left_behind: how many processes it left in the background.
    """

    status: int
    left_behind: int = 0


class NotStarted(OSError):
    """The command could not be started; `step` is what failed: `guard`, `account`, `folder` or `program`."""

    def __init__(self, step: str, number: int) -> None:
        super().__init__(number, os.strerror(number))
        self.step = step


class GuardedCommand:
    """A command and all that it starts, in a session of its own. Nothing of it outlives this block or this process,
    except what it leaves in the background when it ends by itself.

    Args:
        argv: the program, by its path, and its arguments.
        account: the user to become, as command_guard.py reads it; empty for the present one.

    Raises:
        NotStarted: here or by `read`.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        folder: str,
        environment: Mapping[str, str],
        stdin: int | IO[bytes] = subprocess.DEVNULL,
        account: str = "",
    ) -> None:
        self.ended: End | None = None
        self._pid = 0
        self._heard = b""
        self._control, control = socket.socketpair()
        self._output, output = os.pipe()
        try:
            self._guard = subprocess.Popen(
                [sys.executable, "-I", "-S", str(GUARD), str(control.fileno()), folder, account, *argv],
                stdin=stdin,
                stdout=output,
                stderr=output,
                env=dict(environment),
                pass_fds=[control.fileno()],
                start_new_session=True,  # what kills this process's group must not kill the guard
            )
        except OSError as error:
            self._close()
            raise NotStarted("guard", error.errno or 0) from error
        finally:
            control.close()
            os.close(output)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.kill()

    def read(self, seconds: float) -> bytes:
        """Return what it says next: nothing after so many seconds of silence. Sees whether it has `ended`.

        Raises:
            NotStarted: it could not be started.
        """
        control = self._control.fileno()
        ready, _, _ = select.select([control, self._output], [], [], seconds)
        if control in ready:
            self._hear()
        if self.ended is not None:
            return self._last_words()
        return os.read(self._output, CHUNK_BYTES) if self._output in ready else b""

    def end(self, grace_seconds: float, say: Callable[[bytes], None]) -> None:
        """Ask every process of it to end, pass on what it says meanwhile, and kill what is left after the grace."""
        with suppress(OSError):
            self._control.send(command_guard.TERMINATE)
        deadline = time.monotonic() + grace_seconds
        while self.ended is None and time.monotonic() < deadline:
            say(self.read(max(0.0, deadline - time.monotonic())))
        self.kill()

    def kill(self) -> None:
        """Kill every process of it at once, unless it has ended by itself."""
        self._close()
        with suppress(subprocess.TimeoutExpired):  # a process that cannot be killed keeps its guard, not us
            self._guard.wait(KILL_SECONDS)

    def _hear(self) -> None:
        said = self._receive()
        self._heard += said
        *lines, self._heard = self._heard.split(b"\n")
        for line in lines:
            self._take_in(line.decode().split())
        if not said and self.ended is None:
            self._outlive_guard()

    def _receive(self) -> bytes:
        try:
            return self._control.recv(CHUNK_BYTES)
        except ConnectionResetError:
            return b""

    def _take_in(self, message: list[str]) -> None:
        match message:
            case ["started", pid]:
                self._pid = int(pid)
            case ["refused", step, number]:
                raise NotStarted(step, int(number))
            case ["ended", status, left_behind]:
                self.ended = End(int(status), int(left_behind))

    def _outlive_guard(self) -> None:
        """Somebody killed the guard: the kernel has killed the command with it, and its group is ours to kill."""
        if self._pid:
            with suppress(ProcessLookupError):
                os.killpg(self._pid, signal.SIGKILL)
        self.ended = End(-signal.SIGKILL)

    def _last_words(self) -> bytes:
        os.set_blocking(self._output, False)
        words = b""
        with suppress(BlockingIOError):
            while len(words) < PIPE_BYTES and (chunk := os.read(self._output, CHUNK_BYTES)):
                words += chunk
        return words

    def _close(self) -> None:
        self._control.close()
        if self._output >= 0:
            os.close(self._output)
            self._output = -1
