"""What the pictures are made of, read with a fixed number of queries, each bounded and answered from an index."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from datetime import datetime
from heapq import nlargest
from itertools import chain, islice
from typing import Any

from django.db import connection
from django.db.models import Q, QuerySet

from project.timeline.rows import (
    MOST_ONE_BY_ONE,
    MOST_ROWS,
    Ended,
    Fired,
    FireRow,
    Late,
    Plan,
    Reset,
    Rows,
    RunRow,
    Shown,
    Waited,
)
from project.timeline.window import Window
from quotas.models import Quota
from quotas.periods import RuleError, period_at
from quotas.states import Kind
from scheduler.admin import triggers
from scheduler.admin.questions import WITHOUT_DUE_TIME
from scheduler.calendars import ExcludedDays, read_excluded_days
from scheduler.cron import TriggerError
from scheduler.models import Fire, Schedule, TaskRun
from scheduler.states import FireKind, FireOutcome, RunState

# So many schedules have a lane of their own, and of so many quotas the resets are shown.
LANES = 12
QUOTAS = 24
# So many of the latest runs and fires of a lane are read: more than are drawn one by one, for those that go on yet.
PER_LANE = MOST_ONE_BY_ONE + 28
# So many times that are planned, or at which a quota resets, are shown one by one.
MOST_PLANNED = 50

_ENDED = """
    SELECT schedule_id, floor(extract(epoch FROM finished_at - %(start)s) / 3600)::int, state, count(*)
    FROM (SELECT schedule_id, finished_at, state FROM scheduler_taskrun
          WHERE finished_at >= %(start)s ORDER BY finished_at DESC LIMIT %(most)s) AS latest
    GROUP BY 1, 2, 3"""
_FIRED = """
    SELECT schedule_id, floor(extract(epoch FROM fire_at - %(start)s) / 3600)::int, kind, outcome,
           count(*), sum(coalesce(missed_count, 1))
    FROM (SELECT schedule_id, fire_at, kind, outcome, missed_count FROM scheduler_fire
          WHERE fire_at >= %(start)s AND fire_at <= %(now)s ORDER BY fire_at DESC, id DESC LIMIT %(most)s) AS latest
    GROUP BY 1, 2, 3, 4"""
# Those that have ended, and those that have not.
_WAITED = """
    SELECT date_bin('1 hour', greatest(created_at, %(start)s), %(start)s),
           CASE WHEN begun_at IS NOT NULL THEN date_bin('1 hour', greatest(begun_at, %(start)s), %(start)s) END,
           count(*)
    FROM ((SELECT created_at, coalesce(started_at, finished_at) AS begun_at FROM scheduler_taskrun
           WHERE finished_at >= %(start)s ORDER BY finished_at DESC LIMIT %(most)s)
          UNION ALL
          (SELECT created_at, started_at FROM scheduler_taskrun
           WHERE due_at IS NOT NULL OR state = ANY(%(without_due_time)s) LIMIT %(most)s)) AS opened
    GROUP BY 1, 2"""
_LATE = """
    SELECT date_bin('1 hour', started_at, %(start)s), count(*),
           percentile_cont(0.5) WITHIN GROUP (ORDER BY started_at - due_at),
           percentile_cont(0.95) WITHIN GROUP (ORDER BY started_at - due_at)
    FROM (SELECT started_at, due_at FROM scheduler_attempt ORDER BY id DESC LIMIT %(most)s) AS latest
    WHERE started_at >= %(start)s GROUP BY 1 ORDER BY 1"""
_PLANNED_ELSEWHERE = """
    SELECT date_bin('1 hour', next_run_at, %(start)s), count(*) FROM scheduler_schedule
    WHERE enabled AND next_run_at >= %(now)s AND next_run_at < %(end)s AND id != ALL(%(shown)s) GROUP BY 1"""


def read(window: Window, *, with_quotas: bool) -> Rows:
    """Return the rows of the window: the counts of all, and what the lanes of the busiest schedules show one by one."""
    ended, fired, late = _ended(window), _fired(window), _late(window)
    schedules = _busiest(ended, fired, window)
    keys = [schedule.pk for schedule in schedules]
    return Rows(
        shown=_shown(schedules, window),
        runs=_runs(keys, window),
        fires=_fires(keys, window),
        ended=ended,
        fired=fired,
        waited=_waited(window),
        late=late,
        resets=_resets(window) if with_quotas else [],
        planned_elsewhere=_planned_elsewhere(keys, window),
        cut=any(sum(each.count for each in counted) == MOST_ROWS for counted in (ended, fired, late)),
    )


# --- counts by the hour --------------------------------------------------------------------------------------------


def _ended(window: Window) -> list[Ended]:
    rows = _rows(_ENDED, window)
    return [Ended(*row) for row in rows]


def _fired(window: Window) -> list[Fired]:
    rows = _rows(_FIRED, window)
    return [Fired(*row) for row in rows]


def _waited(window: Window) -> list[Waited]:
    rows = _rows(_WAITED, window, without_due_time=list(WITHOUT_DUE_TIME))
    return [
        Waited(window.hour_of(opened), None if left is None else window.hour_of(left), count)
        for opened, left, count in rows
    ]


def _late(window: Window) -> list[Late]:
    return [Late(window.hour_of(at), *facts) for at, *facts in _rows(_LATE, window)]


def _planned_elsewhere(shown: Sequence[int], window: Window) -> dict[int, int]:
    rows = _rows(_PLANNED_ELSEWHERE, window, end=window.end, shown=list(shown))
    return {window.hour_of(at): count for at, count in rows}


def _rows(sql: str, window: Window, **named: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, {"start": window.start, "now": window.now, "most": MOST_ROWS, **named})
        return list(cursor.fetchall())


# --- the lanes -----------------------------------------------------------------------------------------------------


def _busiest(ended: Iterable[Ended], fired: Iterable[Fired], window: Window) -> list[Schedule]:
    """Return the schedules with most trouble, then the busiest, then those that are due next; all sorted by name."""
    troubled: Counter[int] = Counter()
    busy: Counter[int] = Counter()
    for run in ended:
        if run.schedule_id is not None:
            busy[run.schedule_id] += run.count
            troubled[run.schedule_id] += run.count if run.state == RunState.FAILED else 0
    for fire in fired:
        busy[fire.schedule_id] += fire.count
        troubled[fire.schedule_id] += fire.times if fire.outcome == FireOutcome.FAILED_TO_START else 0
    busiest = nlargest(LANES, busy, key=lambda key: (troubled[key], busy[key]))
    schedules = Schedule.objects.select_related("calendar").defer("params", "description")
    found = list(schedules.filter(pk__in=busiest))
    due = schedules.filter(enabled=True, next_run_at__lt=window.end).order_by("next_run_at")
    known = {schedule.pk for schedule in found}
    found += [schedule for schedule in due[:LANES] if schedule.pk not in known][: LANES - len(found)]
    return sorted(found, key=lambda schedule: schedule.name)


def _shown(schedules: Sequence[Schedule], window: Window) -> list[Shown]:
    excluded = read_excluded_days(schedules, window.now.date())
    return [
        Shown(schedule.pk, schedule.name, triggers.in_words(schedule), _plan(schedule, excluded, window))
        for schedule in schedules
    ]


def _plan(schedule: Schedule, excluded: ExcludedDays, window: Window) -> Plan:
    if not schedule.enabled or schedule.broken_reason:
        return Plan()
    try:
        due = list(islice(schedule.as_trigger().instants(window.now, window.end), MOST_PLANNED + 1))
    except TriggerError:  # edited in the database, and not scanned since
        return Plan()
    instants = due[:MOST_PLANNED]
    reasons = {instant: excluded.reason(schedule, instant) for instant in instants}
    return Plan(instants, len(due) > MOST_PLANNED, {instant: reason for instant, reason in reasons.items() if reason})


def _runs(schedules: Sequence[int], window: Window) -> list[RunRow]:
    columns = ("id", "schedule_id", "state", "due_at", "created_at", "started_at", "finished_at", "fire__kind")
    # a range of one, so that only the index by schedule has the order: see scheduler.admin.schedule_page
    each = [
        TaskRun.objects.filter(schedule_id__gte=key, schedule_id__lte=key).order_by("schedule_id", "-id")
        for key in schedules
    ]
    rows = (RunRow(*row) for row in _of_each(each, columns))
    return [row for row in rows if row.finished_at is None or row.finished_at >= window.start]


def _fires(schedules: Sequence[int], window: Window) -> list[FireRow]:
    """Return the fires that say more than the bars of their runs do."""
    columns = [column.name for column in fields(FireRow)]
    is_remarkable = Q(kind=FireKind.MISFIRE) | ~Q(outcome=FireOutcome.STARTED)
    lately = Q(fire_at__gte=window.start, fire_at__lte=window.now) & is_remarkable
    each = [Fire.objects.filter(lately, schedule_id=key).order_by("-fire_at") for key in schedules]
    return [FireRow(*row) for row in _of_each(each, columns)]


def _of_each(each: Sequence[QuerySet[Any]], columns: Sequence[str]) -> Iterable[tuple[Any, ...]]:
    """Return the columns of the first rows of each of these, asked in one query."""
    if not each:
        return []
    first, *others = (rows.values_list(*columns)[:PER_LANE] for rows in each)
    rows: Iterable[tuple[Any, ...]] = first.union(*others, all=True) if others else first
    return rows


# --- quotas --------------------------------------------------------------------------------------------------------


def _resets(window: Window) -> list[Reset]:
    """Return the resets of the quotas that reset next, in order."""
    periodic = Quota.objects.filter(kind=Kind.PERIODIC, period_end__isnull=False).order_by("period_end", "pk")
    resets = chain.from_iterable(_resets_of(quota, window) for quota in periodic[:QUOTAS])
    return sorted(resets, key=lambda reset: reset.at)


def _resets_of(quota: Quota, window: Window) -> list[Reset]:
    """Return the resets in the window; the next one alone of a quota that resets too often to tell them apart."""
    try:
        resets = list(islice(_resets_from(quota, window.start, window.end), MOST_PLANNED + 1))
        if len(resets) > MOST_PLANNED:
            resets = list(islice(_resets_from(quota, window.now, window.end), 1))
    except RuleError:  # edited in the database
        return []
    return resets


def _resets_from(quota: Quota, start: datetime, end: datetime) -> Iterator[Reset]:
    reset = period_at(quota.reset_rule(), start).end
    while reset < end:
        yield Reset(quota.pk, str(quota), reset)
        reset = period_at(quota.reset_rule(), reset).end
