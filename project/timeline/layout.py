"""Rows become the lanes of the timeline. Nothing here asks anything."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from project.kit.admin import absolute
from project.timeline import hourly, wording
from project.timeline.rows import MOST_ONE_BY_ONE, MOST_ROWS, Ended, Fired, FireRow, Plan, Reset, Rows, RunRow, Shown
from project.timeline.shapes import Bar, Lane, Mark, Sums, Tick, Timeline
from project.timeline.window import HOURS, Window, percent
from scheduler.admin.cells import FIRE_COLOURS
from scheduler.admin.questions import PATIENCE
from scheduler.states import COLOURS, FireOutcome, RunState

Row = TypeVar("Row", RunRow, FireRow, Ended, Fired)

LANE_HEIGHT, AXIS_HEIGHT = 28, 24
# What is shorter than this is still drawn so wide.
NARROWEST = 0.3
HOURS_BETWEEN_TICKS = 3


def timeline_of(rows: Rows, window: Window) -> Timeline:
    """Return the picture: what waited, a lane each for the busiest schedules, one for all others, quotas' resets."""
    lanes = [
        *_if_any(Lane(_("Waiting to begin"), bars=hourly.waiting(rows.waited, window))),
        *_lanes(rows, window),
        *_if_any(_rest(rows, window)),
        *_if_any(Lane(_("Quota resets"), marks=_resets(rows.resets, window))),
    ]
    now = window.place(window.now)
    return Timeline(
        lanes=[replace(lane, y=AXIS_HEIGHT + number * LANE_HEIGHT) for number, lane in enumerate(lanes)],
        ticks=list(_ticks(window)),
        now=percent(now),
        coming=percent(100 - now),
        height=AXIS_HEIGHT + len(lanes) * LANE_HEIGHT,
        is_empty=not lanes,
        note=_cut() if rows.cut else "",
    )


def _cut() -> str:
    text = _("So much happened that only the latest %(count)s are counted: the first hours lack some, or all.")
    return text % {"count": f"{MOST_ROWS:,}"}


def _if_any(lane: Lane) -> list[Lane]:
    return [lane] if lane.bars or lane.marks else []


def _ticks(window: Window) -> Iterator[Tick]:
    """Yield a line every three hours of the viewer's clocks; at midnight with the date."""
    for number in range(HOURS):
        instant = window.hour(number)
        shown = timezone.localtime(instant)
        if shown.hour % HOURS_BETWEEN_TICKS == 0:
            midnight = shown.hour == 0
            text = wording.day(instant) if midnight else wording.clock(instant)
            yield Tick(percent(window.place(instant)), text, strong=midnight)


# --- a schedule's lane ---------------------------------------------------------------------------------------------


def _lanes(rows: Rows, window: Window) -> Iterator[Lane]:
    runs, fires = _by_schedule(rows.runs), _by_schedule(rows.fires)
    ended, fired = _by_schedule(rows.ended), _by_schedule(rows.fired)
    for shown in rows.shown:
        counted = ended[shown.id], fired[shown.id]
        past = _past(shown, runs[shown.id], fires[shown.id], *counted, window)
        yield replace(
            past,
            bars=[*past.bars, *_goes_on(shown, window)],
            marks=[*past.marks, *_planned(shown.plan, window)],
            sums=_sums(*counted, planned=_count(shown.plan)),
        )


def _by_schedule(rows: Iterable[Row]) -> dict[int | None, list[Row]]:
    by_schedule: dict[int | None, list[Row]] = defaultdict(list)
    for row in rows:
        by_schedule[row.schedule_id].append(row)
    return by_schedule


def _past(
    shown: Shown,
    runs: Sequence[RunRow],
    fires: Sequence[FireRow],
    ended: Sequence[Ended],
    fired: Sequence[Fired],
    window: Window,
) -> Lane:
    """Return the lane of what was: run by run, or by the hour where that would be too much to tell apart."""
    lane = Lane(shown.name, url=reverse("admin:scheduler_schedule_change", args=[shown.id]), hint=shown.words)
    if max(sum(each.count for each in ended), sum(each.count for each in fired)) > MOST_ONE_BY_ONE:
        runs_of_it = f"{reverse('admin:scheduler_taskrun_changelist')}?schedule={shown.id}"
        return replace(lane, bars=hourly.cells(ended, fired, window, runs_of_it))
    return replace(
        lane,
        bars=[bar for run in sorted(runs, key=_began) for bar in _bars(run, window)],
        marks=[_mark(fire, window) for fire in fires],
    )


def _began(run: RunRow) -> datetime:
    return run.started_at or run.created_at


def _bars(run: RunRow, window: Window) -> Iterator[Bar]:
    """Yield how long the run waited to begin, as a thin line, and how long it took, as a bar."""
    title, url = wording.run(run, window.now), reverse("admin:scheduler_taskrun_change", args=[run.id])
    began = run.started_at or run.finished_at or window.now
    if began - run.created_at > PATIENCE:
        yield _between(run.created_at, began, "waiting", title, url, window)
    if run.started_at is not None:
        yield _between(run.started_at, run.finished_at or window.now, _look(run), title, url, window)


def _between(start: datetime, end: datetime, look: str, title: str, url: str, window: Window) -> Bar:
    x = window.place(start)
    return Bar(percent(x), percent(max(window.place(end) - x, NARROWEST)), look, title, url)


def _look(run: RunRow) -> str:
    """Return the colour of the run; what has begun and waits lies low, so that it hides nothing that came after it."""
    state = RunState(run.state)
    colour = "amber" if state == RunState.FAILED and run.due_at is not None else COLOURS[state]
    return colour if run.finished_at is not None or state == RunState.RUNNING else f"{colour} held"


def _mark(fire: FireRow, window: Window) -> Mark:
    return Mark(
        x=percent(window.place(fire.missed_until or fire.fire_at)),
        form=_form(fire),
        look="violet" if _started(fire) else FIRE_COLOURS[FireOutcome(fire.outcome)],
        title=wording.fire(fire),
        url=reverse("admin:scheduler_fire_change", args=[fire.id]),
    )


def _form(fire: FireRow) -> str:
    return "made-up" if _started(fire) else "missed"


def _started(fire: FireRow) -> bool:
    return fire.outcome == FireOutcome.STARTED


# --- what comes ----------------------------------------------------------------------------------------------------


def _planned(plan: Plan, window: Window) -> Iterator[Mark]:
    """Yield the planned times; where there are too many, the first: a band stands for the others."""
    for instant in plan.instants[:1] if plan.goes_on else plan.instants:
        remark = plan.remarks.get(instant, "")
        form = "left-out" if remark else "planned"
        yield Mark(percent(window.place(instant)), form, "grey", wording.planned(instant, remark))


def _goes_on(shown: Shown, window: Window) -> list[Bar]:
    if not shown.plan.goes_on:
        return []
    return [_between(shown.plan.instants[0], window.end, "goes-on", wording.planned_on(shown.words), "", window)]


def _count(plan: Plan) -> str:
    return f"{len(plan.instants)}+" if plan.goes_on else str(len(plan.instants))


# --- all others ----------------------------------------------------------------------------------------------------


def _rest(rows: Rows, window: Window) -> Lane:
    """Return the lane of all that has none of its own, hour by hour."""
    known = {shown.id for shown in rows.shown}
    ended = [each for each in rows.ended if each.schedule_id not in known]
    fired = [each for each in rows.fired if each.schedule_id not in known]
    past = hourly.cells(ended, fired, window, reverse("admin:scheduler_taskrun_changelist"))
    return Lane(
        _("All others"),
        url=reverse("admin:scheduler_schedule_changelist"),
        hint=_("What has no lane of its own, hour by hour"),
        bars=[*past, *hourly.planned(rows.planned_elsewhere, window)],
        sums=_sums(ended, fired, planned=f"{sum(rows.planned_elsewhere.values()):,}"),
    )


def _sums(ended: Iterable[Ended], fired: Iterable[Fired], planned: str) -> Sums:
    runs: Counter[str] = Counter()
    for run in ended:
        runs[run.state] += run.count
    times: Counter[bool] = Counter()
    for fire in filter(hourly.is_remarkable, fired):
        times[fire.outcome == FireOutcome.STARTED] += fire.times
    return Sums(
        done=runs[RunState.DONE],
        failed=runs[RunState.FAILED],
        cancelled=runs[RunState.CANCELLED],
        made_up=times[True],
        missed=times[False],
        planned=planned,
    )


# --- quotas --------------------------------------------------------------------------------------------------------


def _resets(resets: Iterable[Reset], window: Window) -> list[Mark]:
    """Return a mark for each instant at which quotas reset; it leads to the quota, or to all of them."""
    at: dict[datetime, list[Reset]] = defaultdict(list)
    for reset in resets:
        at[reset.at].append(reset)
    return [_reset(instant, together, window) for instant, together in at.items()]


def _reset(instant: datetime, together: Sequence[Reset], window: Window) -> Mark:
    names = ", ".join(reset.quota for reset in together)
    alone = len(together) == 1
    page = ("admin:quotas_quota_change", [together[0].quota_id]) if alone else ("admin:quotas_quota_changelist", [])
    title = f"{absolute(instant)}\n{names}"
    return Mark(percent(window.place(instant)), "reset", "blue", title, reverse(page[0], args=page[1]))
