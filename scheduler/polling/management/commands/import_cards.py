"""`manage.py import_cards`: cards from a CSV file, with a report on every line that cannot be taken."""

from argparse import ArgumentParser
from datetime import datetime
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.db import IntegrityError

from project.kit import commands
from project.kit.commands import Status, Told
from scheduler.polling.fleet.importing import COLUMNS, Fate, Plan, UnusableFile, carry_out, plan


class Command(commands.Verb):
    """Look at every line, and write all of them or none."""

    help = (
        f"Import cards from a CSV file in UTF-8, separated by commas or semicolons. Its first line names the columns:"
        f" {', '.join(COLUMNS)}. Nothing is written if a line is bad, unless --skip-bad is said."
    )
    refusals = (UnusableFile,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what can be said."""
        super().add_arguments(parser)
        parser.add_argument("file", metavar="FILE.csv", type=Path)
        parser.add_argument("--dry-run", action="store_true", help="only tell what becomes of each line")
        parser.add_argument("--update", action="store_true", help="change cards that are there already")
        parser.add_argument("--skip-bad", action="store_true", help="leave bad lines out, and write the others")

    def act(self, options: dict[str, Any], now: datetime) -> Told:
        """Look, and write if all is well."""
        planned = plan(_content(options["file"]), update=options["update"])
        bad = planned.counts[Fate.BAD]
        written = not options["dry_run"] and (not bad or options["skip_bad"])
        if written:
            _write(planned, now)
        sentences = [*_bad_lines(planned), _summary(planned, written, options["dry_run"])]
        return Told(sentences, planned.as_json(written=written), Status.NOT_WELL if bad else Status.DONE)


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}.") from error


def _write(planned: Plan, now: datetime) -> None:
    try:
        carry_out(planned, now=now)
    except IntegrityError as error:
        raise CommandError("Somebody else wrote one of the cards meanwhile. Nothing was written: try again.") from error


def _bad_lines(planned: Plan) -> list[str]:
    return [f"Line {line.number}: {' '.join(line.faults)}" for line in planned.of(Fate.BAD)]


def _summary(planned: Plan, written: bool, dry_run: bool) -> str:
    counted = ", ".join(f"{count:,} {fate}" for fate in Fate if (count := planned.counts[fate])) or "No cards"
    if written:
        return f"{counted}. {'The bad lines were left out.' if planned.counts[Fate.BAD] else 'All is written.'}"
    if dry_run:
        return f"{counted}. This was a dry run: nothing is written."
    return f"{counted}. Nothing is written: mend the bad lines, or leave them out with --skip-bad."
