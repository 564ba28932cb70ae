"""The outcome as a table for people and as JSON for programs."""

import json
from collections.abc import Sequence

from tests.benchmarks.measuring import Measurement

HEADINGS = ("work", "Tideline", "beside", "to reach", "met")


def as_json(measurements: Sequence[Measurement]) -> str:
    """Return a list of objects."""
    return json.dumps([measurement.as_json() for measurement in measurements], indent=2)


def as_table(measurements: Sequence[Measurement]) -> str:
    """Return a table in Markdown, as docs/benchmarks.md has it."""
    rows = [HEADINGS, *map(_row, measurements)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    lines.insert(1, " | ".join("-" * width for width in widths))
    return "\n".join(f"| {line} |" for line in lines)


def _row(measurement: Measurement) -> tuple[str, ...]:
    beside = "; ".join(
        f"{peer} {_number(figure)}: {measurement.ratio[peer]:.2f}x" for peer, figure in measurement.peers.items()
    )
    target = "–" if measurement.target is None else f"{_number(measurement.target)} {measurement.unit}"
    met = {None: "–", True: "yes", False: "NO"}[measurement.met]
    return measurement.name, f"{_number(measurement.value)} {measurement.unit}", beside or "–", target, met


def _number(figure: float) -> str:
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}"
