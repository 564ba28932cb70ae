"""Fires are written once: the unique constraints decide, whoever comes twice."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from scheduler import cron, wording
from scheduler.models import Fire
from scheduler.states import FireKind


def insert_fires(fires: Sequence[Fire]) -> list[Fire]:
    """Insert the fires, give each its id, and return those that were not there yet.

    An instant that is recorded already (`next_run_at` was set back by hand, or the clock) is left as it is: the unique
    constraints are the second guard behind the compare-and-swap. A skip that begins with such an instant is recorded
    from the next one on.
    """
    recorded = _insert(fires)
    shortened = [skip for fire in fires if fire.pk is None for skip in _without_what_is_recorded(fire)]
    return recorded + _insert(shortened) if shortened else recorded


def _insert(fires: Sequence[Fire]) -> list[Fire]:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO scheduler_fire (schedule_id, fire_at, kind, outcome, reason, missed_from, missed_until,"
            " missed_count, actor, recorded_at)"
            " SELECT * FROM json_to_recordset(%s) AS fire (schedule_id bigint, fire_at timestamptz, kind text,"
            " outcome text, reason text, missed_from timestamptz, missed_until timestamptz, missed_count int,"
            " actor text, recorded_at timestamptz)"
            " ON CONFLICT DO NOTHING RETURNING id, schedule_id, fire_at, kind",
            [json.dumps([_row(fire) for fire in fires], default=datetime.isoformat)],
        )
        ids = {(schedule_id, fire_at, kind): pk for pk, schedule_id, fire_at, kind in cursor.fetchall()}
    recorded = []
    for fire in fires:
        fire.pk = ids.get((fire.schedule_id, fire.fire_at, fire.kind))
        if fire.pk is not None:
            recorded.append(fire)
    return recorded


def _row(fire: Fire) -> dict[str, Any]:
    return {
        "schedule_id": fire.schedule_id,
        "fire_at": fire.fire_at,
        "kind": fire.kind,
        "outcome": fire.outcome,
        "reason": fire.reason,
        "missed_from": fire.missed_from,
        "missed_until": fire.missed_until,
        "missed_count": fire.missed_count,
        "actor": fire.actor,
        "recorded_at": fire.recorded_at,
    }


def _without_what_is_recorded(skip: Fire) -> Iterator[Fire]:
    """Yield the skip from its first instant that is not recorded yet, if there is one."""
    first, last = skip.missed_from, skip.missed_until
    if first is None or last is None or first == last:
        return
    planned = Fire.objects.filter(schedule=skip.schedule, kind__in=[FireKind.SCHEDULED, FireKind.MISFIRE])
    recorded = set(planned.filter(fire_at__range=(first, last)).values_list("fire_at", flat=True))
    trigger, end = skip.schedule.as_trigger(), last + timedelta.resolution
    left = next((instant for instant in trigger.instants(first, end) if instant not in recorded), end)
    if span := cron.missed(trigger, left, end):
        skip.fire_at = skip.missed_from = span.first
        skip.missed_count, skip.reason = span.count, f"{skip.reason} {wording.RECORDED_BEFORE}"
        yield skip
