"""`manage.py prune`: deletes the history that is older than it is kept."""

import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from project import pruning
from project.kit import commands
from project.kit.commands import Told
from project.kit.pruning import Kind, count, prune

Advance = Callable[[int], None]


class Command(commands.Verb):
    """Delete the history that is older than it is kept, by the settings TIDELINE_KEEP_..."""

    help = "Delete the history that is older than it is kept, by the settings TIDELINE_KEEP_..."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare which kinds, and whether anything is deleted."""
        super().add_arguments(parser)
        names = [kind.name for kind in pruning.KINDS]
        parser.add_argument(
            "--kind",
            action="append",
            choices=names,
            metavar="KIND",
            help=f"only this one; again for more: {', '.join(names)}",
        )
        parser.add_argument("--dry-run", action="store_true", help="count what would go, and delete nothing")

    def act(self, options: dict[str, Any], now: datetime) -> Told:
        """Prune kind by kind, and tell how many rows of each went."""
        kinds = [kind for kind in pruning.KINDS if not options["kind"] or kind.name in options["kind"]]
        dry_run = options["dry_run"]
        with _bars(shown=sys.stderr.isatty() and not dry_run) as bar_of:
            rows = {kind.name: _prune(kind, now, bar_of, dry_run=dry_run) for kind in kinds}
        sentences = [_in_words(kind, rows[kind.name], dry_run=dry_run) for kind in kinds]
        return Told(sentences, {"dry_run": dry_run, "rows": rows})


def _prune(kind: Kind, now: datetime, bar_of: Callable[[str, int], Advance], *, dry_run: bool) -> int | None:
    """Return how many rows went, or would go; None: the kind is kept for ever."""
    before = pruning.kept_since(kind, now)
    if before is None:
        return None
    found = count(kind, before=before)
    if dry_run:
        return found
    advance, total = bar_of(kind.name, found), 0
    for deleted in prune(kind, before=before):
        advance(deleted)
        total += deleted
    return total


@contextmanager
def _bars(*, shown: bool) -> Iterator[Callable[[str, int], Advance]]:
    """Yield what makes a bar for a kind; where nobody sees it, none is drawn."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not shown) as progress:

        def bar_of(name: str, total: int) -> Advance:
            task = progress.add_task(name, total=total)
            return lambda deleted: progress.advance(task, deleted)

        yield bar_of


def _in_words(kind: Kind, rows: int | None, *, dry_run: bool) -> str:
    if rows is None:
        return f"{kind.name}: kept for ever."
    done = "would be deleted" if dry_run else "deleted"
    return f"{kind.name}: {rows:,} rows {done}; days kept: {pruning.kept_days(kind):,}."
