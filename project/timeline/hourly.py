"""What is too much to be drawn one by one, hour by hour: busy lanes, the lane of all others, and what waits."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from project.timeline import wording
from project.timeline.rows import Ended, Fired, Waited
from project.timeline.shapes import Bar
from project.timeline.window import HOUR, PAST_HOURS, Window, percent
from scheduler.states import COLOURS, FireKind, FireOutcome, RunState

# From the bottom of a cell up.
BEST_FIRST = ("green", "grey", "violet", "amber", "red")
PLANNED = "planned"
GAP = 0.08
NARROWEST_WITH_TEXT = 1.5
# A cell is so high, and a part of it at least so high.
HIGHEST, LOWEST = 18, 3


def cells(ended: Iterable[Ended], fired: Iterable[Fired], window: Window, url: str) -> list[Bar]:
    """Return a cell for each hour in which runs ended or due times were missed: how many, and of which colours."""
    runs: dict[int, Counter[str]] = defaultdict(Counter)
    for run in ended:
        runs[run.hour][run.state] += run.count
    fires: dict[int, list[Fired]] = defaultdict(list)
    for fire in filter(is_remarkable, fired):
        fires[fire.hour].append(fire)
    hours = sorted(runs.keys() | fires.keys())
    return [part for hour in hours for part in _cell(hour, runs[hour], fires[hour], window, url)]


def is_remarkable(fire: Fired) -> bool:
    """Tell whether the due times were made up, or no run came of them."""
    return fire.kind == FireKind.MISFIRE or fire.outcome != FireOutcome.STARTED


def _cell(hour: int, runs: Counter[str], fires: list[Fired], window: Window, url: str) -> Iterator[Bar]:
    """Yield the parts of a cell from the bottom up; the last holds the number."""
    count = runs.total() or sum(fire.times for fire in fires)
    title = f"{wording.hours(window, hour)}\n{', '.join([*wording.states(runs), *map(wording.fires, fires)])}"
    heights = _heights(_colours(runs, fires))
    bottom = HIGHEST
    for colour, height in heights.items():
        bottom -= height
        part = _bar(hour, window, colour, title, _brief(count) if bottom == 0 else "", url=url, height=height)
        yield replace(part, y=bottom)


def _colours(runs: Counter[str], fires: Iterable[Fired]) -> Counter[str]:
    colours: Counter[str] = Counter()
    for state, count in runs.items():
        colours[COLOURS[RunState(state)]] += count
    for fire in fires:
        if fire.outcome != FireOutcome.STARTED:  # a run that was made up is among the runs
            colours["red" if fire.outcome == FireOutcome.FAILED_TO_START else "amber"] += fire.times
    return colours or Counter(violet=1)


def _heights(colours: Counter[str]) -> dict[str, int]:
    """Share the height of a cell among its colours; the smallest part can be seen."""
    shown = [colour for colour in BEST_FIRST if colours[colour]]
    most = max(shown, key=lambda colour: colours[colour])
    heights = {colour: max(HIGHEST * colours[colour] // colours.total(), LOWEST) for colour in shown}
    heights[most] += HIGHEST - sum(heights.values())
    return heights


def planned(by_hour: Mapping[int, int], window: Window) -> list[Bar]:
    """Return a hollow cell for each hour in which schedules without a lane come due."""
    return [
        _bar(hour, window, PLANNED, f"{wording.hours(window, hour)}\n{wording.planned_elsewhere(count)}", _brief(count))
        for hour, count in sorted(by_hour.items())
    ]


def waiting(waited: Iterable[Waited], window: Window) -> list[Bar]:
    """Return how many runs had been opened and not begun at the end of each hour, as columns."""
    left = waiting_at_the_end(waited)
    most = max(left.values(), default=0)
    return [_waiting(hour, count, most, window) for hour, count in left.items()]


def waiting_at_the_end(waited: Iterable[Waited]) -> dict[int, int]:
    """Return for each past hour, unless it is none, how many runs had been opened and not begun when it ended."""
    change: Counter[int] = Counter()
    for each in waited:
        change[each.opened] += each.count
        if each.left is not None:
            change[each.left] -= each.count
    left, result = 0, {}
    for hour in range(PAST_HOURS):
        left += change[hour]
        if left > 0:
            result[hour] = left
    return result


def _waiting(hour: int, count: int, most: int, window: Window) -> Bar:
    height = max(LOWEST, HIGHEST * count // most)
    ends = min(window.hour(hour) + HOUR, window.now)
    return _bar(hour, window, "amber", wording.waiting(count, ends), _brief(count), height=height)


def _bar(hour: int, window: Window, look: str, title: str, text: str, *, url: str = "", height: int = HIGHEST) -> Bar:
    """Return the cell of an hour; in the present hour it ends, or what is planned begins, now."""
    start, end, now = window.place(window.hour(hour)), window.place(window.hour(hour + 1)), window.place(window.now)
    if start < now < end:
        start, end = (now, end) if look == PLANNED else (start, now)
    width = end - start - 2 * GAP
    return Bar(
        x=percent(start + GAP),
        width=percent(max(width, GAP)),
        middle=percent((start + end) / 2),
        look=look,
        title=title,
        url=url,
        text=text if width > NARROWEST_WITH_TEXT else "",
        y=HIGHEST - height,
        height=height,
    )


def _brief(count: int) -> str:
    """Return a number as short as a cell is narrow: 1k for 1,234."""
    return str(count) if count < 1000 else f"{count // 1000}k"
