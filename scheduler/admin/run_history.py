"""The latest runs of a schedule as a picture: how each ended, how long it took, and how long they usually take."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.urls import reverse
from django.utils.translation import gettext as _

from project.kit.admin import span
from scheduler.admin import cells
from scheduler.models import TaskRun
from scheduler.states import COLOURS, RunState

RUNS_SHOWN = 60
# Where there are fewer runs they stand at the right, no wider than in a picture of so many.
FEWEST_COLUMNS = 30
# In pixels from the top: the durations, and under them the strip.
TOP, BOTTOM = 4, 84
STRIP_TOP, STRIP_HEIGHT = 90, 16
HEIGHT = STRIP_TOP + STRIP_HEIGHT + 4
_LEAST = 2
# Hours beside minutes would flatten the minutes: a column ends here, as a multiple of the duration that 95 of 100 keep.
_CUT_AT = 2


@dataclass(frozen=True, slots=True)
class RunColumn:
    """One run: a column as high as it took long, and its cell in the strip under it.

    Attributes:
        x, middle, width: in percent of the picture.
        y, height: of the column in pixels; no height: it never began.
        cut: it took longer than the picture is high.
    """

    url: str
    label: str
    look: str
    x: str
    width: str
    y: int
    height: int
    cut: bool


@dataclass(frozen=True, slots=True)
class UsualLine:
    """A duration that runs usually keep, as a line across the picture."""

    name: str
    text: str
    y: int


@dataclass(frozen=True, slots=True)
class RunHistory:
    """The picture, and in words what it shows.

    Attributes:
        counts: how many runs are in which colour, as colour and sentence.
        first: the data day of the oldest of them.
    """

    columns: Sequence[RunColumn]
    lines: Sequence[UsualLine]
    counts: Sequence[tuple[str, str]]
    longest: str
    first: str
    height: int = HEIGHT
    strip_top: int = STRIP_TOP
    strip_height: int = STRIP_HEIGHT


def read_history(schedule_id: int, now: datetime) -> RunHistory | None:
    """Read the latest runs and return their picture; None: it never ran."""
    runs = TaskRun.objects.filter(schedule=schedule_id).order_by("-id").defer("params", "progress", "result")
    latest = list(runs[:RUNS_SHOWN])[::-1]
    return history_of(latest, now) if latest else None


def history_of(runs: Sequence[TaskRun], now: datetime) -> RunHistory:
    """Return the picture of the runs, which come in the order of time."""
    lengths = {run.pk: _length(run, now) for run in runs if run.started_at is not None}
    usual = sorted(lengths[run.pk] for run in runs if run.state == RunState.DONE and run.pk in lengths)
    longest = max(lengths.values(), default=timedelta())
    highest = min(longest, _CUT_AT * _rank(usual, 95)) if usual else longest
    first_column = max(0, FEWEST_COLUMNS - len(runs))
    return RunHistory(
        columns=[
            _column(run, lengths.get(run.pk), highest, first_column + number, first_column + len(runs))
            for number, run in enumerate(runs)
        ],
        lines=list(_usual_lines(usual, highest)),
        counts=_counts(runs),
        longest=span(longest) if lengths else "",
        first=runs[0].stat_date.isoformat(),
    )


def _length(run: TaskRun, now: datetime) -> timedelta:
    return (run.finished_at or now) - (run.started_at or now)


def _rank(lengths: Sequence[timedelta], percent: int) -> timedelta:
    """Return the duration that so many percent of the sorted ones keep."""
    return lengths[-(-len(lengths) * percent // 100) - 1]


def _column(run: TaskRun, length: timedelta | None, highest: timedelta, number: int, columns: int) -> RunColumn:
    height = 0 if length is None else _height(length, highest)
    return RunColumn(
        url=reverse("admin:scheduler_taskrun_change", args=[run.pk]),
        label=_label(run, length),
        look=cells.run_colour(run.state, is_due=run.due_at is not None),
        x=f"{100 * number / columns:.3f}%",
        width=f"{80 / columns:.3f}%",
        y=BOTTOM - height,
        height=height,
        cut=length is not None and length > highest,
    )


def _height(length: timedelta, highest: timedelta) -> int:
    if not highest:
        return _LEAST
    return max(_LEAST, round((BOTTOM - TOP) * (min(length, highest) / highest)))


def _label(run: TaskRun, length: timedelta | None) -> str:
    parts = [f"#{run.pk}", run.stat_date.isoformat(), str(RunState(run.state).label)]
    if length is not None:
        parts.append(span(length) if run.finished_at else _("%(span)s so far") % {"span": span(length)})
    return "\n".join(filter(None, [" · ".join(parts), run.reason]))


def _usual_lines(usual: Sequence[timedelta], highest: timedelta) -> list[UsualLine]:
    if not usual:
        return []
    named = (("median", _("half within %(span)s"), 50), ("p95", _("95 of 100 within %(span)s"), 95))
    return [
        UsualLine(name, text % {"span": span(length)}, BOTTOM - _height(length, highest))
        for name, text, percent in named
        for length in [_rank(usual, percent)]
    ]


def _counts(runs: Sequence[TaskRun]) -> list[tuple[str, str]]:
    counted = Counter(RunState(run.state) for run in runs)
    texts = ((COLOURS[state], state.label, counted[state]) for state in RunState if counted[state])
    return [(colour, _("%(count)s %(state)s") % {"count": count, "state": label}) for colour, label, count in texts]
