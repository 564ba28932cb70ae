"""`manage.py doctor`: is all well, and what is to be done if not."""

import json
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand

from project import doctor
from project.kit.commands import Status
from project.kit.findings import Finding, Level
from project.kit.sentences import counted

MARKS = {Level.WELL: "ok", Level.WARNING: "warning", Level.TROUBLE: "TROUBLE"}


class Command(BaseCommand):
    """Tell what is found. It also answers where the database is away, which no other verb does."""

    help = "Look whether all is well, and say what to do where it is not. Status 3: something is not well."
    requires_system_checks = ()  # what they say is told, and stops nothing

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what can be said."""
        parser.add_argument("--json", action="store_true", help="tell programs, as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Look, tell it, and end with a status for scripts."""
        found = list(doctor.examine())
        counts = Counter(finding.level for finding in found)
        if options["json"]:
            findings = [finding.as_json() for finding in found]
            said = {"well": not counts[Level.TROUBLE], "findings": findings}
            self.stdout.write(json.dumps(said, indent=1, ensure_ascii=False))
        else:
            self.stdout.write("\n".join([*_lines(found), "", _summary(counts)]))
        if counts[Level.TROUBLE]:
            sys.exit(Status.NOT_WELL)


def _lines(found: Sequence[Finding]) -> list[str]:
    width = max(len(finding.part) for finding in found)
    lines = []
    for finding in found:
        lines.append(f"{MARKS[finding.level]:<7}  {finding.part:<{width}}  {finding.says}")
        if finding.remedy:
            lines.append(f"{'':<7}  {'':<{width}}  → {finding.remedy}")
    return lines


def _summary(counts: Counter[Level]) -> str:
    if not counts[Level.TROUBLE] and not counts[Level.WARNING]:
        return "All is well."
    numbers = _number(counts[Level.TROUBLE], "trouble"), _number(counts[Level.WARNING], "warning")
    return f"{' and '.join(filter(None, numbers))}."


def _number(count: int, word: str) -> str:
    return counted(count, word) if count else ""
