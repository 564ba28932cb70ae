"""Schedules, their runs, and what these wait for."""

from datetime import datetime

from tests.benchmarks.panel.history.size import UNFINISHED, Size, spread
from tests.benchmarks.panel.inserting import insert, one_of


def lay_down_schedules(size: Size, now: datetime) -> None:
    """Insert schedules, their calendars and backfills."""
    from scheduler.models import Backfill, Calendar, CalendarDay, Schedule

    calendars = max(size.schedules // 500, 1)
    insert(Calendar, calendars, now=now, name="'calendar ' || n")
    insert(
        CalendarDay,
        calendars * 100,
        now=now,
        calendar_id=f"1 + mod(n, {calendars})",
        date="now::date + n::int",
        title="'a day off'",
    )
    insert(
        Schedule,
        size.schedules,
        now=now,
        name="'schedule ' || n",
        job=one_of("command", "http", "management"),
        params="jsonb_build_object('url', 'https://example.com/' || n)",
        enabled="mod(n, 50) <> 0",
        pause_reason="CASE WHEN mod(n, 50) = 0 THEN 'The source is down.' ELSE '' END",
        trigger="'cron'",
        cron="mod(n, 60) || ' * * * *'",
        calendar_id=f"CASE WHEN mod(n, 10) = 0 THEN 1 + mod(n / 10, {calendars}) END",
        quota_id=f"CASE WHEN mod(n, 7) = 0 THEN 1 + mod(n / 7, {size.quotas}) END",
        overlap="'skip'",
        next_run_at="CASE WHEN mod(n, 200) <> 1 THEN now + interval '1 second' * mod(n * 7919, 3600) END",
        broken_reason="CASE WHEN mod(n, 200) = 1 THEN 'No such zone.' ELSE '' END",
        created_at="now",
        updated_at="now",
    )
    insert(
        Backfill,
        max(size.runs // 1000, 1),
        now=now,
        schedule_id=f"1 + mod(n, {size.schedules})",
        first_day="now::date - 9",
        last_day="now::date",
        created_at="now",
        created_by="'ann'",
    )


def lay_down_runs(size: Size, now: datetime) -> None:
    """Insert fires and runs, with their attempts, events and questions."""
    from scheduler.models import Approval, Attempt, Fire, RunEvent, TaskRun

    when = spread(size.runs)
    insert(Fire, size.runs, now=now, **_fire(size))
    insert(TaskRun, size.runs, now=now, **_run(size))
    insert(
        Attempt,
        size.runs,
        now=now,
        run_id="n",
        number="1",
        token="1",
        worker="'runner@host ' || mod(n, 8)",
        pid="mod(n, 30000)",
        due_at=when,
        started_at=f"{when} + interval '1 second'",
        finished_at=f"CASE WHEN n <= {size.runs - size.unfinished} THEN {when} + interval '9 seconds' END",
        outcome=f"CASE WHEN n > {size.runs - size.unfinished} THEN ''"
        " WHEN mod(n, 25) = 0 THEN 'failed' ELSE 'done' END",
        error="CASE WHEN mod(n, 25) = 0 THEN 'The other side said no.' ELSE '' END",
        output="repeat('It went on. ', 10)",
    )
    insert(
        RunEvent,
        size.runs * 3,
        now=now,
        run_id="(n + 2) / 3",
        at=spread(size.runs * 3),
        from_state=one_of("running", "", "pending"),
        to_state=one_of("done", "pending", "running"),
        trigger=one_of("worker", "schedule", "worker"),
    )
    insert(
        Approval,
        size.runs // 100,
        now=now,
        run_id="n * 100",
        segment="1",
        question="'Is the figure of ' || n || ' right?'",
        asked_at=spread(size.runs // 100),
        answer=f"CASE WHEN n <= {size.runs // 100 - 5} THEN 'approved' ELSE '' END",
        answered_at=f"CASE WHEN n <= {size.runs // 100 - 5} THEN now END",
        answered_by=f"CASE WHEN n <= {size.runs // 100 - 5} THEN 'ann' ELSE '' END",
    )


def _schedule_of_run(size: Size) -> str:
    return f"1 + CASE WHEN mod(n, 2) = 0 THEN mod(n / 2, {size.busy}) ELSE mod(n / 2, {size.schedules}) END"


def _fire(size: Size) -> dict[str, str]:
    return {
        "schedule_id": _schedule_of_run(size),
        "fire_at": spread(size.runs),
        "kind": one_of(*["scheduled"] * 18, "misfire", "manual"),
        "outcome": "CASE WHEN mod(n, 20) = 3 THEN 'skipped_overlap' ELSE 'started' END",
        "reason": "CASE WHEN mod(n, 20) = 3 THEN 'The one before was still running.' ELSE '' END",
        "recorded_at": spread(size.runs),
    }


def _run(size: Size) -> dict[str, str]:
    """Return the columns of the runs: ended ones, and the latest in all states that a run may be in before."""
    ended, when, state = f"n <= {size.runs - size.unfinished}", spread(size.runs), one_of(*UNFINISHED)
    waits = f"NOT ({ended}) AND {state} IN ('pending', 'resuming', 'deferred', 'failed')"
    runs = f"NOT ({ended}) AND {state} = 'running'"
    return {
        "schedule_id": _schedule_of_run(size),
        "fire_id": "CASE WHEN mod(n, 20) <> 3 THEN n END",
        "backfill_id": f"CASE WHEN mod(n, 100) = 3 THEN 1 + mod(n / 100, {max(size.runs // 1000, 1)}) END",
        "name": f"'schedule ' || {_schedule_of_run(size)}",
        "job": one_of("command", "http", "management"),
        "params": "jsonb_build_object('url', 'https://example.com/' || n)",
        "stat_date": f"({when})::date",
        "planned_at": when,
        "state": f"CASE WHEN NOT ({ended}) THEN {state}"
        " WHEN mod(n, 25) = 0 THEN 'failed' WHEN mod(n, 99) = 0 THEN 'cancelled' ELSE 'done' END",
        "reason": "CASE WHEN mod(n, 25) = 0 THEN 'The other side said no.' ELSE '' END",
        "due_at": f"CASE WHEN {waits} THEN now + interval '1 second' * mod(n, 99) END",
        "lease_owner": f"CASE WHEN {runs} THEN 'runner@host' ELSE '' END",
        "lease_expires_at": f"CASE WHEN {runs} THEN now + interval '1 minute' END",
        "attempt_count": "1",
        "created_at": when,
        "started_at": f"{when} + interval '1 second'",
        "finished_at": f"CASE WHEN {ended} THEN {when} + interval '1 second' * (2 + mod(n, 60)) END",
        "seal": f"CASE WHEN {ended} THEN md5(n::text) || md5(n::text) ELSE '' END",
    }


def lay_down_waits(size: Size, now: datetime) -> None:
    """Let the paused runs wait for quotas."""
    from scheduler.models import Pause, QuotaWait

    kinds, count = len(UNFINISHED), size.unfinished // len(UNFINISHED)
    unfinished = range(size.runs - size.unfinished + 1, size.runs + 1)
    first = next(number for number in unfinished if UNFINISHED[number % kinds] == "paused")
    paused = f"{first} + {kinds} * (n - 1)"
    insert(Pause, count, now=now, run_id=paused, since="now - interval '1 hour'")
    insert(
        QuotaWait,
        count,
        now=now,
        run_id=paused,
        quota_id=f"1 + mod(n * 20 - 1, {size.quotas})",
        amount="1",
        why="'own_budget'",
        since="now - interval '1 hour'",
        expected_at="now + interval '1 hour'",
    )
