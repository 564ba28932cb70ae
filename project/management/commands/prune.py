"""`manage.py prune`: deletes the history that is older than it is kept."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from project import pruning
from project.kit import commands
from project.kit.bars import Tell, bars
from project.kit.commands import Told
from project.kit.pruning import Kind, count, prune


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
        with bars(wanted=not dry_run) as bar_of:
            rows = {kind.name: _prune(kind, now, bar_of(kind.name), dry_run=dry_run) for kind in kinds}
        sentences = [_in_words(kind, rows[kind.name], dry_run=dry_run) for kind in kinds]
        return Told(sentences, {"dry_run": dry_run, "rows": rows})


def _prune(kind: Kind, now: datetime, tell: Tell, *, dry_run: bool) -> int | None:
    """Return how many rows went, or would go; None: the kind is kept for ever."""
    before = pruning.kept_since(kind, now)
    if before is None:
        return None
    found = count(kind, before=before)
    if dry_run:
        return found
    total = 0
    for deleted in prune(kind, before=before):
        total += deleted
        tell(total, found)
    return total


def _in_words(kind: Kind, rows: int | None, *, dry_run: bool) -> str:
    if rows is None:
        return f"{kind.name}: kept for ever."
    done = "would be deleted" if dry_run else "deleted"
    return f"{kind.name}: {rows:,} rows {done}; days kept: {pruning.kept_days(kind):,}."
