"""Guards one command: starts it in a session of its own and ends it, with all that it started, when told so or when
whoever asked for it is gone. A program of its own, since the asker may be killed with -9 and can do nothing then.

    python -I -S command_guard.py CONTROL FOLDER ACCOUNT PROGRAM [ARGUMENT ...]

CONTROL is the number of a socket. The guard says there, each on a line:
    started PID             the command runs; its process, session and group have this number
    refused STEP ERRNO      it could not be started; STEP is `account`, `folder` or `program`
    ended STATUS LEFT       it ended (negative: by this signal) and left so many processes in the background
It hears TERMINATE, which asks the command and all its processes to end; the end of the socket kills them.

ACCOUNT is empty or `UID:GID:GROUP,GROUP`. Standard input, output and error are the command's.
"""

import ctypes
import os
import select
import signal
import sys
from contextlib import suppress

TERMINATE = b"T"
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
# Elsewhere than on Linux the command's process group has to do.
PROCESSES_ARE_SHOWN = sys.platform == "linux"
# While the command is ending, its last processes may be nobody's children that would wake us.
LOOK_SECONDS = 0.05
# A process of another user cannot be killed, and one that waits for a dead disk does not die.
KILL_ATTEMPTS = 100


def main(control: int, folder: str, account: str, argv: list[str]) -> None:
    """Start the command and stay until it has ended, or until nothing is left of it."""
    for parting in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(parting, signal.SIG_IGN)
    process_control(PR_SET_CHILD_SUBREAPER, 1)  # what leaves the session is still found: it becomes our child
    deaths = wake_at_deaths()
    pid, refused = start(folder, account, argv)
    if refused:
        say(control, f"refused {refused}")
        return
    say(control, f"started {pid}")
    watch(Command(pid), control, deaths)


def watch(command: "Command", control: int, deaths: int) -> None:
    """Wait for the command's end, or for the word to end it."""
    ending = False
    while True:
        ready, _, _ = select.select([control, deaths], [], [], LOOK_SECONDS if ending else None)
        if deaths in ready:
            os.read(deaths, 512)
        if control in ready:
            if hear(control) != TERMINATE:
                command.kill()
                return
            ending = True
            command.send(signal.SIGTERM)
        more = command.reap()
        if command.status is not None and not (ending and more):
            if ending and not PROCESSES_ARE_SHOWN:
                command.send(signal.SIGKILL)
            say(control, f"ended {command.status} {len(command.processes()) if more else 0}")
            return


class Command:
    """The command and all that it started."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.status: int | None = None

    def reap(self) -> bool:
        """Take note of the dead, the command or orphans that became our children; return whether more are living."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return True
                if pid == self.pid:
                    self.status = os.waitstatus_to_exitcode(status)
        except ChildProcessError:
            return False

    def send(self, number: signal.Signals) -> None:
        """Send the signal to each process once."""
        # Until we take note of its death the number is the command's; then the group's may be a stranger's.
        alone = self.processes()
        if self.status is None or not PROCESSES_ARE_SHOWN:
            alone = [pid for pid in alone if group_of(pid) != self.pid]
            with suppress(OSError):
                os.killpg(self.pid, number)
        for pid in alone:
            with suppress(OSError):
                os.kill(pid, number)

    def kill(self) -> None:
        """Kill every process, and those that they start meanwhile, until none is left."""
        for _ in range(KILL_ATTEMPTS):
            self.send(signal.SIGKILL)
            if not self.reap():
                return
            select.select([], [], [], LOOK_SECONDS)

    def processes(self) -> list[int]:
        """Return all living descendants of this guard; none where there is no /proc."""
        parents = parents_by_process() if PROCESSES_ARE_SHOWN else {}
        family = {os.getpid()}
        while more := {pid for pid, parent in parents.items() if parent in family} - family:
            family |= more
        return sorted(family - {os.getpid()})


def parents_by_process() -> dict[int, int]:
    """Return the parent of each living process."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
            state, parent = file.read().rpartition(b")")[2].split()[:2]
            if state != b"Z":
                parents[int(name)] = int(parent)
    return parents


def group_of(pid: int) -> int | None:
    """Return the number of a process's group; None if it is gone."""
    try:
        return os.getpgid(pid)
    except OSError:
        return None


# --- its start -------------------------------------------------------------------------------------------------


def start(folder: str, account: str, argv: list[str]) -> tuple[int, str]:
    """Start the command and return its process number, and what went wrong where."""
    heard, told = os.pipe()  # neither is inherited: the command's start closes its end
    pid = os.fork()
    if pid == 0:
        become(folder, account, argv, told)
    os.close(told)
    with os.fdopen(heard) as failure:
        return pid, failure.read()


def become(folder: str, account: str, argv: list[str], told: int) -> None:
    """Turn this child into the command, or tell what prevents it."""
    step = "account"
    try:
        os.setsid()
        forget_signals()
        if account:
            take(account)
        step = "folder"
        os.chdir(folder)
        step = "program"
        process_control(PR_SET_PDEATHSIG, signal.SIGKILL)
        os.execv(argv[0], argv)  # noqa: S606 - the shell, by its path
    except OSError as error:
        os.write(told, f"{step} {error.errno}".encode())
    finally:
        os._exit(127)


def forget_signals() -> None:
    """Undo what this process and its ancestors ignore or block: a command starts with the usual signals."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def take(account: str) -> None:
    """Become the user; first the groups, which only root may set."""
    user, group, groups = account.split(":")
    os.setgroups([int(number) for number in groups.split(",")])
    os.setgid(int(group))
    os.setuid(int(user))


# --- the kernel, and the other end -----------------------------------------------------------------------------


def process_control(option: int, value: int) -> None:
    """Call prctl, where there is one."""
    if PROCESSES_ARE_SHOWN:
        ctypes.CDLL(None).prctl(option, value)


def wake_at_deaths() -> int:
    """Return a descriptor that can be read when a child has died."""
    woken, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    return woken


def say(control: int, line: str) -> None:
    """Tell the other end, if it is there."""
    with suppress(OSError):
        os.write(control, f"{line}\n".encode())


def hear(control: int) -> bytes:
    """Return what the other end said; nothing if it is gone."""
    try:
        return os.read(control, 1)
    except OSError:
        return b""


if __name__ == "__main__":
    os.set_inheritable(int(sys.argv[1]), False)
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:])
    os._exit(0)  # nothing is left to tidy up, and somebody waits
