"""The figures of a campaign, as people and as programs read them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Figure:
    """One promise, and whether the books keep it.

    Attributes:
        of: what was looked at, so many.
        fault: the first thing that is wrong; empty: nothing.
    """

    promise: str
    of: str
    number: int
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What a campaign came to.

    Attributes:
        harm: how often each kind was done.
        work: what was done and lost meanwhile.
    """

    seed: int
    seconds: float
    harm: Mapping[str, int]
    work: Mapping[str, int]
    figures: list[Figure]

    @property
    def faults(self) -> list[str]:
        """What is wrong."""
        return [f"{figure.promise}: {figure.fault}" for figure in self.figures if figure.fault]

    def as_text(self) -> str:
        """Return it for people."""
        lines = [f"seed {self.seed}, {self.seconds / 60:.1f} minutes of harm, {sum(self.harm.values())} blows", ""]
        lines += [f"{count:6}  {name.replace('_', ' ')}" for name, count in sorted(self.harm.items())]
        lines += ["", *(f"{count:6}  {name}" for name, count in self.work.items()), ""]
        lines += [f"{figure.number:6}  {figure.of}: {figure.promise}: {_said(figure)}" for figure in self.figures]
        return "\n".join(lines)

    def save(self, file: Path) -> None:
        """Write it for programs."""
        document: dict[str, Any] = asdict(self) | {"met": not self.faults}
        file.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def judged(promise: str, of: str, audit: Callable[[], int]) -> Figure:
    """Return what an audit finds.

    Args:
        audit: returns how many it has looked at; asserts that they are right.
    """
    try:
        return Figure(promise, of, audit())
    except AssertionError as error:
        return Figure(promise, of, 0, str(error) or "An assertion without a word.")


def _said(figure: Figure) -> str:
    return f"WRONG: {figure.fault}" if figure.fault else "kept"
