"""A run that has ended is sealed: the hash of its manifest stands on its row, and anybody can compute it again."""

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any

from django.db import connection

from scheduler.models import Attempt, RunEvent, TaskRun

BATCH = 500

RUN_FIELDS = ("id", "name", "job", "params", "stat_date", "planned_at", "state", "progress", "result")
RUN_TIMES = ("created_at", "started_at", "finished_at")
ATTEMPT_FIELDS = ("number", "token", "worker", "started_at", "finished_at", "outcome", "error", "output")
EVENT_FIELDS = ("at", "from_state", "to_state", "trigger", "actor", "reason", "attempt")


def seal_ended() -> int:
    """Seal the runs that have ended and are not sealed yet; return how many that were."""
    total = 0
    while True:
        runs = list(_with_history().filter(finished_at__isnull=False, seal="").order_by("id")[:BATCH])
        _write({run.pk: seal_of(run) for run in runs})
        total += len(runs)
        if len(runs) < BATCH:
            return total


def verify(run_id: int) -> bool:
    """Tell whether the sealed run is as it was when it was sealed.

    Raises:
        TaskRun.DoesNotExist: there is no such run, or it is not sealed yet.
    """
    run = _with_history().exclude(seal="").get(pk=run_id)
    return bool(seal_of(run) == run.seal)


def seal_of(run: TaskRun) -> str:
    """Return the SHA-256 of the run's manifest in canonical JSON: sorted keys, no spaces, UTF-8."""
    text = json.dumps(manifest(run), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def manifest(run: TaskRun) -> dict[str, Any]:
    """Return what is sealed of a run: what it was to do, what it did, and each step on the way."""
    return {
        **_values(run, RUN_FIELDS + RUN_TIMES),
        "attempts": [_values(attempt, ATTEMPT_FIELDS) for attempt in sorted(run.attempts.all(), key=_by_id)],
        "events": [_values(event, EVENT_FIELDS) for event in sorted(run.events.all(), key=_by_id)],
    }


def _with_history() -> Any:
    return TaskRun.objects.prefetch_related("attempts", "events")


def _by_id(row: Attempt | RunEvent) -> int:
    return int(row.pk)


def _values(row: Any, fields: Sequence[str]) -> dict[str, Any]:
    return {name: _canonical(getattr(row, name)) for name in fields}


def _canonical(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()  # whatever zone it was read in
    if isinstance(value, date):
        return value.isoformat()
    return value


def _write(seals: dict[int, str]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE scheduler_taskrun AS run SET seal = sealed.seal"
            " FROM unnest(%s::bigint[], %s::text[]) AS sealed (id, seal)"
            " WHERE run.id = sealed.id AND run.seal = '' AND run.finished_at IS NOT NULL",
            [list(seals), list(seals.values())],
        )
