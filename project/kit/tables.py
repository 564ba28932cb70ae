"""Tables for people who read a command's answer."""

import shutil
import sys
from collections.abc import Collection, Iterable, Sequence
from io import StringIO

# What is not read by a person at a terminal is not cut to a terminal's width.
FILE_WIDTH = 240
GAP = 2  # between two columns
FOLDED = 24  # what a folded column has at least


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], figures: Collection[str] = ()) -> list[str]:
    """Return the lines of a table, as wide as the terminal.

    Its widest column is folded if need be. Where that is not enough, it goes on below, with the first column again.

    Args:
        figures: the headings of columns with numbers, which end at the same place.
    """
    columns = list(zip(headings, *rows, strict=True))
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else FILE_WIDTH
    lines: list[str] = []
    for part in _parts(columns, width):
        lines += [""] * bool(lines) + _drawn([columns[number] for number in part], figures, width)
    return lines


def _parts(columns: Sequence[Sequence[str]], width: int) -> list[list[int]]:
    """Return which columns stand side by side: all, if folding the widest makes them fit; or else as many as fit."""
    numbers = list(range(len(columns)))
    whole = [max(map(_wide, column)) for column in columns]
    if sum(whole) - max(whole) + min(max(whole), FOLDED) + GAP * len(numbers[1:]) <= width:
        return [numbers]
    parts = [[0]]
    for number in numbers[1:]:
        beside = sum(whole[each] + GAP for each in parts[-1])
        if len(parts[-1]) > 1 and beside + whole[number] > width:
            parts.append([0])
        parts[-1].append(number)
    return parts


def _wide(text: str) -> int:
    """Return how many places of a terminal the text takes; a Chinese character takes two."""
    from rich.cells import cell_len

    return cell_len(text)


def _drawn(columns: Sequence[Sequence[str]], figures: Collection[str], width: int) -> list[str]:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False, header_style="")
    widest = max(columns, key=lambda column: max(map(_wide, column)))
    for column in columns:
        heading = column[0]
        drawn.add_column(heading, justify="right" if heading in figures else "left", no_wrap=column is not widest)
    for row in zip(*(cells for _, *cells in columns), strict=True):
        drawn.add_row(*map(Text, row))
    text = StringIO()
    Console(file=text, width=width).print(drawn)
    return [line.rstrip() for line in text.getvalue().splitlines()]
