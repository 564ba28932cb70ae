"""Waits for what was started and shows how far it is: as a bar on a terminal, as a line a change elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO

from project.kit.outages import outlast

LOOK_EVERY_SECONDS = 0.5
# A database that is restarted is waited for.
OUTAGE_SECONDS = 60
pause = time.sleep


@dataclass(frozen=True, slots=True)
class Glance:
    """How far it is at the moment: in words, and as a number of a total where that is known."""

    says: str
    done: int | None = None
    total: int | None = None
    ended: bool = False


def follow(look: Callable[[], Glance], stream: TextIO | None = None) -> None:
    """Look until it has ended, and show what was seen.

    Args:
        stream: where to; by default the standard error, so that the standard output is the answer alone.
    """
    with shown_on(stream or sys.stderr) as show:
        while True:
            glance = outlast(look, seconds=OUTAGE_SECONDS)
            show(glance)
            if glance.ended:
                return
            pause(LOOK_EVERY_SECONDS)


@contextmanager
def shown_on(stream: TextIO) -> Iterator[Callable[[Glance], None]]:
    """Yield what shows a glance: in a bar that is redrawn, or in a line of its own if it says something new."""
    if not stream.isatty():
        yield _Lines(stream)
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(file=stream), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda glance: bar.update(
            task, description=escape(glance.says), completed=glance.done or 0, total=glance.total
        )


class _Lines:
    """Writes a glance as a line, unless it says what the line before said; of the numbers, whole tenths."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._last = stream, ("", 0)

    def __call__(self, glance: Glance) -> None:
        tenths = 10 * (glance.done or 0) // glance.total if glance.total else 0
        if (glance.says, tenths) == self._last:
            return
        self._last = (glance.says, tenths)
        far = f" {glance.done or 0:,} of {glance.total:,}" if glance.total else ""
        self._stream.write(f"{glance.says}{far}\n")
        self._stream.flush()
