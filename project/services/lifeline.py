"""Becomes a command that is bound to its starter: when that one is killed, the command gets a signal.

    python lifeline.py SIGNAL PARENT COMMAND [ARGUMENT ...]

A program of its own and not a `preexec_fn`, because Python must not run between fork and exec when there
are threads. Linux only: elsewhere the next start ends what was left.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def bound_to_us(parting: signal.Signals) -> list[str]:
    """Return what stands before a command that is to get this signal when our process is killed."""
    if sys.platform != "linux":
        return []
    return [sys.executable, "-I", "-S", __file__, str(int(parting)), str(os.getpid())]


def main(parting: int, parent: int, command: list[str]) -> None:
    """Bind this process to its parent and become the command."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, parting)
    if os.getppid() == parent:  # else it was killed before we could bind ourselves to it
        os.execvp(command[0], command)  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
