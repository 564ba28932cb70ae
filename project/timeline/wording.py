"""What the shapes say when one points at them."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from project.kit.admin import absolute, span
from project.timeline.rows import Fired, FireRow, Late, RunRow
from project.timeline.window import HOUR, Window
from scheduler.states import FireKind, FireOutcome, RunState


def clock(instant: datetime) -> str:
    """Return the hour and minute that the viewer's clocks show."""
    return f"{timezone.localtime(instant):%H:%M}"


def day(instant: datetime) -> str:
    """Return the viewer's date, short."""
    return f"{timezone.localtime(instant):%m-%d}"


def hours(window: Window, number: int) -> str:
    """Return from when to when an hour of the window goes."""
    start = window.hour(number)
    return f"{day(start)} {clock(start)}–{clock(start + HOUR)}"


def run(row: RunRow, now: datetime) -> str:
    """Return which run it is, how it stands, when it began, how long it waited and how long it took."""
    facts = [f"#{row.id} · {RunState(row.state).label}"]
    if row.kind and row.kind != FireKind.SCHEDULED:
        facts.append(str(FireKind(row.kind).label))
    if row.started_at is None:
        facts.append(_("opened %(instant)s, not begun") % {"instant": absolute(row.created_at)})
        return " · ".join(facts)
    facts.append(absolute(row.started_at))
    took = span((row.finished_at or now) - row.started_at)
    facts.append(took if row.finished_at else _("%(span)s so far") % {"span": took})
    return " · ".join(facts)


def fire(row: FireRow) -> str:
    """Return what became of a due time, and why."""
    facts = [absolute(row.fire_at), str(FireKind(row.kind).label), str(FireOutcome(row.outcome).label)]
    if row.missed_count and row.missed_count > 1:
        facts.append(due_times(row.missed_count))
    return " · ".join(facts) + (f"\n{row.reason}" if row.reason else "")


def due_times(count: int) -> str:
    """Return how many due times a skip stands for."""
    return ngettext("%(count)s due time", "%(count)s due times", count) % {"count": f"{count:,}"}


def planned(instant: datetime, remark: str) -> str:
    """Return when a fire is planned, and why no run will come of it."""
    text = _("planned %(instant)s") % {"instant": absolute(instant)}
    return f"{text}\n{remark}" if remark else text


def planned_on(words: str) -> str:
    """Return that so many fires are planned that they are not told apart."""
    return _("planned: %(words)s") % {"words": words}


def planned_elsewhere(count: int) -> str:
    """Return how many schedules without a lane come due."""
    text = ngettext("%(count)s other schedule comes due", "%(count)s other schedules come due", count)
    return text % {"count": f"{count:,}"}


def states(counts: Mapping[str, int]) -> list[str]:
    """Return how many runs ended in which state."""
    return [f"{counts[state]:,} {state.label}" for state in RunState if counts.get(state)]


def fires(each: Fired) -> str:
    """Return how many due times had one outcome, or were made up."""
    label = FireKind(each.kind).label if each.outcome == FireOutcome.STARTED else FireOutcome(each.outcome).label
    return f"{each.times:,} {label}"


def waiting(count: int, instant: datetime) -> str:
    """Return how many runs had been opened and not begun."""
    text = ngettext("%(count)s run waited to begin at %(time)s", "%(count)s runs waited to begin at %(time)s", count)
    return text % {"count": f"{count:,}", "time": clock(instant)}


def late(each: Late) -> str:
    """Return how late half of an hour's executions began at most, and how late 95 of 100."""
    text = ngettext(
        "%(count)s execution began: p50 %(p50)s, p95 %(p95)s late",
        "%(count)s executions began: p50 %(p50)s, p95 %(p95)s late",
        each.count,
    )
    return text % {"count": f"{each.count:,}", "p50": length(each.p50), "p95": length(each.p95)}


def length(late: timedelta) -> str:
    """Return a lateness as people read it: milliseconds below a second."""
    if late < timedelta(seconds=1):
        return _("%(count)s ms") % {"count": late // timedelta(milliseconds=1)}
    return span(late)
