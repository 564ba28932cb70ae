"""Bars that show on the standard error how far long work is; where nobody sees them, none is drawn."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Tell = Callable[[int, int | None], None]
"""Tells how much is done, and of how much in all, where that is known."""


@contextmanager
def bars(*, wanted: bool = True) -> Iterator[Callable[[str], Tell]]:
    """Yield what makes a bar with a name.

    Args:
        wanted: whether anything is shown at all; on what is no terminal, nothing is.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    shown = wanted and sys.stderr.isatty()
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not shown) as progress:

        def bar_of(name: str) -> Tell:
            task = progress.add_task(name, total=None)
            return lambda done, total: progress.update(task, completed=done, total=total)

        yield bar_of
