"""The shapes that the templates draw. Places and widths are percents of the width; heights are pixels."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tick:
    """A line across the picture, with what stands beside it."""

    x: str
    text: str
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """Something that lasted, or a part of a column; `look` names its classes, `text` stands within it."""

    x: str
    width: str
    look: str
    title: str
    url: str = ""
    text: str = ""
    middle: str = ""
    y: int = 0
    height: int = 0


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened at an instant; `form` names a symbol of the picture, `look` its class."""

    x: str
    form: str
    look: str
    title: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class Sums:
    """What a lane shows, as numbers: for its line in the table behind the picture."""

    done: int = 0
    failed: int = 0
    cancelled: int = 0
    made_up: int = 0
    missed: int = 0
    planned: str = ""


@dataclass(frozen=True, slots=True)
class Lane:
    """A line of the timeline: its name, what stands in it, and where."""

    name: str
    y: int = 0
    url: str = ""
    hint: str = ""
    bars: Sequence[Bar] = ()
    marks: Sequence[Mark] = ()
    sums: Sums | None = None


@dataclass(frozen=True, slots=True)
class Timeline:
    """The picture of the last and the next day."""

    lanes: Sequence[Lane]
    ticks: Sequence[Tick]
    now: str
    coming: str  # the width of what comes
    height: int
    is_empty: bool
    note: str


@dataclass(frozen=True, slots=True)
class Level:
    """A line of a chart's scale."""

    y: int
    text: str


@dataclass(frozen=True, slots=True)
class Column:
    """An hour of the charts as a line of the table behind them."""

    hour: str
    done: int
    failed: int
    cancelled: int
    waiting: int
    p50: str
    p95: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Columns over the hours of the last day, on a scale."""

    bars: Sequence[Bar]
    levels: Sequence[Level]
    ticks: Sequence[Tick]
    height: int


@dataclass(frozen=True, slots=True)
class Charts:
    """The charts of the last day, and their numbers."""

    runs: Chart
    lateness: Chart
    columns: Sequence[Column]
