"""A simulated carrier in a process of its own, for what must not share the processor's time with it."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
PATIENCE_SECONDS = 60


@contextmanager
def carrier_process(*arguments: str) -> Iterator[str]:
    """Run `simulate_carrier` with these arguments at a port of its own until the end of the block; yields where it is.

    It ends by itself when it is interrupted, as by Ctrl-C, or this fails.
    """
    command = [sys.executable, "manage.py", "simulate_carrier", "--port", "0", *arguments]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=_heed_interrupts,  # noqa: PLW1509 - it calls nothing that could wait
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[2].rstrip(".")
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_SECONDS) == 0
        finally:
            process.kill()


def _heed_interrupts() -> None:
    """What a shell starts in the background ignores Ctrl-C, and so would its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
