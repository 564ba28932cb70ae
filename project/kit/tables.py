"""Tables for people who read a command's answer."""

import shutil
import sys
from collections.abc import Collection, Iterable, Sequence
from io import StringIO

# What is not read by a person at a terminal is not cut to a terminal's width.
FILE_WIDTH = 240


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], figures: Collection[str] = ()) -> list[str]:
    """Return the lines of a table, as wide as the terminal.

    Args:
        figures: the headings of columns with numbers, which end at the same place.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False, header_style="")
    for heading in headings:
        drawn.add_column(heading, justify="right" if heading in figures else "left")
    for row in rows:
        drawn.add_row(*map(Text, row))
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else FILE_WIDTH
    text = StringIO()
    Console(file=text, width=width).print(drawn)
    return [line.rstrip() for line in text.getvalue().splitlines()]
