"""Rows become the charts of the last day: runs by how they ended, and how late executions began. Asks nothing."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from math import log

from django.utils import timezone

from project.kit.admin import DASH
from project.timeline import wording
from project.timeline.hourly import waiting_at_the_end
from project.timeline.rows import Ended, Late, Rows
from project.timeline.shapes import Bar, Chart, Charts, Column, Level, Tick
from project.timeline.window import PAST_HOURS, Window, percent
from scheduler.states import COLOURS, RunState

# How runs end, as they are stacked from the bottom up.
STACKED = (RunState.DONE, RunState.CANCELLED, RunState.FAILED)
# The columns stand to the right of the scale, from top to bottom in so many pixels.
SCALE_WIDTH, GAP = 11.0, 0.5
TOP, BOTTOM = 14, 134
HEIGHT = BOTTOM + 18
HOURS_BETWEEN_TICKS = 6
THINNEST = 3

_SECOND, _MINUTE, _HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
# Lateness goes from moments to hours, so its scale is logarithmic.
LEAST = _SECOND / 10
LATENESS_LEVELS = (LEAST, _SECOND, 10 * _SECOND, _MINUTE, 10 * _MINUTE, _HOUR, 10 * _HOUR)


def charts_of(rows: Rows, window: Window) -> Charts:
    """Return both charts, and their numbers hour by hour."""
    runs = _by_hour(rows.ended)
    late = {each.hour: each for each in rows.late if 0 <= each.hour < PAST_HOURS}
    waiting = waiting_at_the_end(rows.waited)
    ticks = list(_ticks(window))
    return Charts(
        runs=_runs(runs, ticks, window),
        lateness=_lateness(late, ticks, window),
        columns=[
            _column(hour, runs[hour], waiting.get(hour, 0), late.get(hour), window)
            for hour in sorted(runs.keys() | late.keys() | waiting.keys())
        ],
    )


def _by_hour(ended: Iterable[Ended]) -> dict[int, Counter[str]]:
    runs: dict[int, Counter[str]] = defaultdict(Counter)
    for each in ended:
        runs[each.hour][each.state] += each.count
    return runs


def _ticks(window: Window) -> Iterator[Tick]:
    for number in range(PAST_HOURS):
        instant = window.hour(number)
        if timezone.localtime(instant).hour % HOURS_BETWEEN_TICKS == 0:
            yield Tick(percent(_left(number)), wording.clock(instant))


def _left(hour: int) -> float:
    return SCALE_WIDTH + (100 - SCALE_WIDTH) * hour / PAST_HOURS


def _bar(hour: int, look: str, title: str, y: int, height: int) -> Bar:
    width = _left(hour + 1) - _left(hour) - 2 * GAP
    return Bar(percent(_left(hour) + GAP), percent(width), look, title, y=y, height=height)


def _column(hour: int, states: Counter[str], waiting: int, late: Late | None, window: Window) -> Column:
    return Column(
        hour=wording.hours(window, hour),
        done=states[RunState.DONE],
        failed=states[RunState.FAILED],
        cancelled=states[RunState.CANCELLED],
        waiting=waiting,
        p50=wording.length(late.p50) if late else DASH,
        p95=wording.length(late.p95) if late else DASH,
    )


# --- runs ----------------------------------------------------------------------------------------------------------


def _runs(runs: Mapping[int, Counter[str]], ticks: list[Tick], window: Window) -> Chart:
    highest = _round_above(max((states.total() for states in runs.values()), default=0))
    return Chart(
        bars=[bar for hour, states in sorted(runs.items()) for bar in _stack(hour, states, highest, window)],
        levels=[Level(_y(count, highest), f"{count:,}") for count in (0, highest // 2, highest)],
        ticks=ticks,
        height=HEIGHT,
    )


def _stack(hour: int, states: Counter[str], highest: int, window: Window) -> Iterator[Bar]:
    title = f"{wording.hours(window, hour)}\n{', '.join(wording.states(states))}"
    below = 0
    for state in STACKED:
        if states[state]:
            bottom, below = _y(below, highest), below + states[state]
            top = min(_y(below, highest), bottom - 1)
            yield _bar(hour, COLOURS[state], title, top, bottom - top)


def _round_above(count: int) -> int:
    """Return the least of 2, 4, 10, 20, 40, 100 and so on that is no less: half of it is a whole number, too."""
    highest = 1
    while True:
        for factor in (2, 4, 10):
            if highest * factor >= count:
                return highest * factor
        highest *= 10


def _y(count: int, highest: int) -> int:
    return BOTTOM - (BOTTOM - TOP) * count // highest


# --- lateness ------------------------------------------------------------------------------------------------------


def _lateness(late: Mapping[int, Late], ticks: list[Tick], window: Window) -> Chart:
    levels = _levels(max((each.p95 for each in late.values()), default=LEAST))
    return Chart(
        bars=[bar for hour, each in sorted(late.items()) for bar in _percentiles(hour, each, levels[-1], window)],
        levels=[Level(_height_of(level, levels[-1]), wording.length(level)) for level in levels],
        ticks=ticks,
        height=HEIGHT,
    )


def _levels(latest: timedelta) -> list[timedelta]:
    """Return the scale from the least to the first level that holds the latest; no fewer than three."""
    below = sum(level < latest for level in LATENESS_LEVELS)
    return list(LATENESS_LEVELS[: max(below + 1, 3)])


def _percentiles(hour: int, late: Late, highest: timedelta, window: Window) -> Iterator[Bar]:
    """Yield the span from p50 to p95 as a column, and p50 as its foot."""
    title = f"{wording.hours(window, hour)}\n{wording.late(late)}"
    top, foot = _height_of(late.p95, highest), _height_of(late.p50, highest)
    yield _bar(hour, "p95", title, top, max(foot - top, THINNEST))
    yield _bar(hour, "p50", title, foot - THINNEST // 2, THINNEST)


def _height_of(length: timedelta, highest: timedelta) -> int:
    length = min(max(length, LEAST), highest)
    return BOTTOM - round((BOTTOM - TOP) * log(length / LEAST) / log(highest / LEAST))
