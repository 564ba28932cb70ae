"""A run that has ended is sealed: the hash of its manifest stands on its row, and anybody can compute it again."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from django.db import connection
from django.db.models import QuerySet

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
        ended = TaskRun.objects.filter(finished_at__isnull=False, seal="").order_by("id")[:BATCH]
        seals = {written["id"]: _hash(written) for written in _manifests(ended)}
        _write(seals)
        total += len(seals)
        if len(seals) < BATCH:
            return total


def verify(run_id: int) -> bool:
    """Tell whether the sealed run is as it was when it was sealed.

    Raises:
        TaskRun.DoesNotExist: there is no such run, or it is not sealed yet.
    """
    run = TaskRun.objects.exclude(seal="").get(pk=run_id)
    return seal_of(run) == run.seal


def seal_of(run: TaskRun) -> str:
    """Return the SHA-256 of the run's manifest in canonical JSON: sorted keys, no spaces, UTF-8."""
    return _hash(manifest(run))


def manifest(run: TaskRun) -> dict[str, Any]:
    """Return what is sealed of a run, as its rows have it: what it was to do, what it did, and each step on the way."""
    (written,) = _manifests(TaskRun.objects.filter(pk=run.pk))
    return written


def _manifests(runs: QuerySet[TaskRun]) -> Iterator[dict[str, Any]]:
    """Yield the runs' manifests. Of a row only what is sealed is read: the seals of busy times are many."""
    rows = list(runs.values_list(*RUN_FIELDS, *RUN_TIMES, named=True))
    run_ids = [row.id for row in rows]
    attempts = _of_runs(Attempt.objects.filter(run__in=run_ids), ATTEMPT_FIELDS)
    events = _of_runs(RunEvent.objects.filter(run__in=run_ids), EVENT_FIELDS)
    for row in rows:
        yield {
            **_values(row, RUN_FIELDS + RUN_TIMES),
            "attempts": [_values(attempt, ATTEMPT_FIELDS) for attempt in attempts[row.id]],
            "events": [_values(event, EVENT_FIELDS) for event in events[row.id]],
        }


def _of_runs(rows: QuerySet[Any], fields: Sequence[str]) -> Mapping[int, list[Any]]:
    """Return the rows by their run, in the order in which they were written."""
    by_run = defaultdict(list)
    for row in rows.order_by("id").values_list("run_id", *fields, named=True):
        by_run[row.run_id].append(row)
    return by_run


def _hash(written: dict[str, Any]) -> str:
    text = json.dumps(written, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


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
