"""The two tables of the page, from what the engines answered."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from tests.comparison.cases import CASES, Case, Instants, instants
from tests.comparison.faults import RIGHT

Answers = Mapping[str, Mapping[str, Any]]  # by the case's name


def cron_table(engines: Mapping[str, Answers]) -> list[str]:
    """Return the lines of the table of expressions: a column an engine, and a last row that counts."""
    rows = [[*given(case), *(cell(case, answers[case.name]) for answers in engines.values())] for case in CASES]
    scores = [_score(case_cells) for case_cells in zip(*(row[3:] for row in rows), strict=True)]
    return table(["expression", "zone", "right by our rule", *engines], [*rows, ["**in all**", "", "", *scores]])


def fault_table(engines: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return the lines of the table of faults."""
    rows = [
        [name, right.words, *(right.verdict(seen[name]) if name in seen else "not asked" for seen in engines.values())]
        for name, right in RIGHT.items()
    ]
    return table(["what is done", "right", *engines], rows)


def given(case: Case) -> list[str]:
    """Return a case's first three cells: the input and what is right."""
    right = "a refusal" if case.right is None else _shown(case.right, case)
    return [f"`{case.cron}`", case.zone, right]


def cell(case: Case, answer: Mapping[str, Any]) -> str:
    """Return an engine's answer to a case, with the verdict before it."""
    if "left_out" in answer:
        return "wrong: accepted when saved, then left out without a word"
    if "refused" in answer:
        return f"{'right' if case.right is None else 'policy'}: refused ({answer['refused']})"
    named = instants(*answer["instants"])
    if case.right is None:
        return "wrong: accepted, and never due"
    if named == case.right:
        return "right"
    policy = next((why for why, defensible in case.policies.items() if named == defensible), None)
    difference = _difference(named, case.right, case)
    return f"policy: {difference} ({policy})" if policy else f"wrong: {difference}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


def _difference(named: Instants, right: Instants, case: Case) -> str:
    missing = tuple(instant for instant in right if instant not in named)
    added = tuple(instant for instant in named if instant not in right)
    parts = [f"{words} {_shown(which, case)}" for words, which in (("leaves out", missing), ("adds", added)) if which]
    return "; ".join(parts) or "names them in another order, or twice"


def _shown(which: Instants, case: Case) -> str:
    return ", ".join(_local(instant, case) for instant in which)


def _local(instant: datetime, case: Case) -> str:
    shown = instant.astimezone(ZoneInfo(case.zone))
    year = f" {shown.year}" if case.until - case.after > timedelta(days=400) else ""
    return f"{shown.day} {shown:%b}{year} {shown.isoformat(timespec='minutes')[11:]}"


def _score(cells: Sequence[str]) -> str:
    counts = {verdict: sum(cell.startswith(verdict) for cell in cells) for verdict in ("right", "policy", "wrong")}
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
