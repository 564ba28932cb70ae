"""What is too much to be drawn one by one, hour by hour: busy lanes, the lane of all others, and what waits."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from project.timeline import wording
from project.timeline.rows import Ended, Fired, Waited
from project.timeline.shapes import Bar
from project.timeline.window import HOUR, PAST_HOURS, Window, percent
from scheduler.states import COLOURS, FireKind, FireOutcome, RunState

# Which colour an hour has that holds several.
WORST_FIRST = ("red", "amber", "violet", "green", "grey")
PLANNED = "planned"
GAP = 0.08
NARROWEST_WITH_TEXT = 1.5
# What waits is drawn so high at most, and so high at least.
HIGHEST, LOWEST = 18, 3


def cells(ended: Iterable[Ended], fired: Iterable[Fired], window: Window, url: str) -> list[Bar]:
    """Return a cell for each hour in which runs ended or due times were missed: how many runs, the worst as colour."""
    counts: dict[int, Counter[str]] = defaultdict(Counter)
    for run in ended:
        counts[run.hour][run.state] += run.count
    remarkable: dict[int, list[Fired]] = defaultdict(list)
    for fire in fired:
        if is_remarkable(fire):
            remarkable[fire.hour].append(fire)
    return [_cell(hour, counts[hour], remarkable[hour], window, url) for hour in sorted(counts | remarkable)]


def is_remarkable(fire: Fired) -> bool:
    """Tell whether the due times were made up, or no run came of them."""
    return fire.kind == FireKind.MISFIRE or fire.outcome != FireOutcome.STARTED


def _cell(hour: int, states: Counter[str], fires: list[Fired], window: Window, url: str) -> Bar:
    colours = {COLOURS[RunState(state)] for state in states} | {_colour(fire) for fire in fires}
    said = [*wording.states(states), *map(wording.fires, fires)]
    return _bar(
        hour,
        window,
        colour=next(colour for colour in WORST_FIRST if colour in colours),
        title=f"{wording.hours(window, hour)}\n{', '.join(said)}",
        url=url,
        text=brief(states.total() or sum(fire.times for fire in fires)),
    )


def _colour(fire: Fired) -> str:
    if fire.outcome == FireOutcome.STARTED:
        return "violet"
    return "red" if fire.outcome == FireOutcome.FAILED_TO_START else "amber"


def planned(by_hour: Mapping[int, int], window: Window) -> list[Bar]:
    """Return a hollow cell for each hour in which schedules without a lane come due."""
    return [
        _bar(hour, window, PLANNED, f"{wording.hours(window, hour)}\n{wording.planned_elsewhere(count)}", brief(count))
        for hour, count in sorted(by_hour.items())
    ]


def waiting(waited: Iterable[Waited], window: Window) -> list[Bar]:
    """Return how many runs had been opened and not begun at the end of each hour, as columns."""
    left = _left_at_the_end(waited)
    most = max(left.values(), default=0)
    return [_waiting(hour, count, most, window) for hour, count in left.items()]


def _left_at_the_end(waited: Iterable[Waited]) -> dict[int, int]:
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
    return _bar(hour, window, "amber", wording.waiting(count, ends), brief(count), height=height)


def _bar(hour: int, window: Window, colour: str, title: str, text: str, *, url: str = "", height: int = HIGHEST) -> Bar:
    """Return the cell of an hour; in the present hour it ends, or what is planned begins, now."""
    start, end, now = window.place(window.hour(hour)), window.place(window.hour(hour + 1)), window.place(window.now)
    if start < now < end:
        start, end = (now, end) if colour == PLANNED else (start, now)
    width = end - start - 2 * GAP
    return Bar(
        x=percent(start + GAP),
        width=percent(max(width, GAP)),
        middle=percent((start + end) / 2),
        colour=colour,
        title=title,
        url=url,
        text=text if width > NARROWEST_WITH_TEXT else "",
        y=HIGHEST - height,
        height=height,
    )


def brief(count: int) -> str:
    """Return a number in no more than four characters: 1.2k for 1,234."""
    if count < 1000:
        return str(count)
    return f"{count / 1000:.1f}k" if count < 10_000 else f"{count // 1000}k"
