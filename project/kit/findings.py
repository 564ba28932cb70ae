"""What looking whether all is well finds."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Level(StrEnum):
    """How bad it is."""

    WELL = "well"
    WARNING = "warning"
    TROUBLE = "trouble"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        part: what was looked at, in a word or two.
        says: how it is, as a sentence.
        remedy: what to do about it; empty where nothing has to be done.
    """

    part: str
    level: Level
    says: str
    remedy: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return it for programs."""
        return asdict(self)


def well(part: str, says: str) -> Finding:
    """Return that a part is well."""
    return Finding(part, Level.WELL, says)


def warning(part: str, says: str, remedy: str) -> Finding:
    """Return that a part works, and what should be done about it."""
    return Finding(part, Level.WARNING, says, remedy)


def trouble(part: str, says: str, remedy: str) -> Finding:
    """Return that a part does not work, and what has to be done about it."""
    return Finding(part, Level.TROUBLE, says, remedy)


def or_well(findings: Iterable[Finding], part: str, says: str) -> Iterator[Finding]:
    """Yield what was found wrong with a part, or that it is well."""
    wrong = list(findings)
    yield from wrong or [well(part, says)]
