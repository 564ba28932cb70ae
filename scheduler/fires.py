"""Fires are written once: the unique constraints decide, whoever comes twice."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from scheduler import cron, wording
from scheduler.cron import Missed
from scheduler.models import Fire, Schedule
from scheduler.states import FireKind, FireOutcome


@dataclass(slots=True)
class NewFire:
    """What a fire is inserted with. A scan makes one for each due schedule: a model would cost it ten times as much.

    Attributes:
        missed: of a skip, the due instants that it stands for; its first one is `fire_at`.
        id: once it is inserted.
    """

    schedule: Schedule
    fire_at: datetime
    kind: FireKind
    outcome: FireOutcome
    recorded_at: datetime
    reason: str = ""
    actor: str = ""
    missed: Missed | None = None
    id: int | None = None


def insert_fires(fires: Sequence[NewFire]) -> list[NewFire]:
    """Insert the fires, give each its id, and return those that were not there yet.

    An instant that is recorded already (`next_run_at` was set back by hand, or the clock) is left as it is: the unique
    constraints are the second guard behind the compare-and-swap. A skip that begins with such an instant is recorded
    from the next one on.
    """
    recorded = _insert(fires)
    shortened = [skip for fire in fires if fire.id is None for skip in _without_what_is_recorded(fire)]
    return recorded + _insert(shortened) if shortened else recorded


def _insert(fires: Sequence[NewFire]) -> list[NewFire]:
    with connection.cursor() as cursor:
        cursor.execute(
            "WITH asked AS (SELECT * FROM ROWS FROM (json_to_recordset(%s) AS (schedule_id bigint,"
            "  fire_at timestamptz, kind text, outcome text, reason text, missed_from timestamptz,"
            "  missed_until timestamptz, missed_count int, actor text, recorded_at timestamptz)) WITH ORDINALITY),"
            " recorded AS (INSERT INTO scheduler_fire (schedule_id, fire_at, kind, outcome, reason, missed_from,"
            "  missed_until, missed_count, actor, recorded_at)"
            "  SELECT schedule_id, fire_at, kind, outcome, reason, missed_from, missed_until, missed_count, actor,"
            "  recorded_at FROM asked ON CONFLICT DO NOTHING RETURNING id, schedule_id, fire_at, kind)"
            " SELECT asked.ordinality, recorded.id FROM recorded JOIN asked USING (schedule_id, fire_at, kind)"
            " ORDER BY asked.ordinality",
            [json.dumps([_row(fire) for fire in fires], default=datetime.isoformat)],
        )
        recorded = []
        for position, fire_id in cursor.fetchall():
            fire = fires[position - 1]
            fire.id = fire_id
            recorded.append(fire)
    return recorded


def _row(fire: NewFire) -> dict[str, Any]:
    row: dict[str, Any] = {
        "schedule_id": fire.schedule.pk,
        "fire_at": fire.fire_at,
        "kind": fire.kind,
        "outcome": fire.outcome,
        "reason": fire.reason,
        "actor": fire.actor,
        "recorded_at": fire.recorded_at,
    }
    if missed := fire.missed:
        row |= {"missed_from": missed.first, "missed_until": missed.last, "missed_count": missed.count}
    return row


def _without_what_is_recorded(skip: NewFire) -> Iterator[NewFire]:
    """Yield the skip from its first instant that is not recorded yet, if there is one."""
    if skip.missed is None or skip.missed.first == skip.missed.last:
        return
    first, last = skip.missed.first, skip.missed.last
    planned = Fire.objects.filter(schedule=skip.schedule, kind__in=[FireKind.SCHEDULED, FireKind.MISFIRE])
    recorded = set(planned.filter(fire_at__range=(first, last)).values_list("fire_at", flat=True))
    trigger, end = skip.schedule.as_trigger(), last + timedelta.resolution
    left = next((instant for instant in trigger.instants(first, end) if instant not in recorded), end)
    if span := cron.missed(trigger, left, end):
        reason = f"{skip.reason} {wording.RECORDED_BEFORE}"
        yield replace(skip, fire_at=span.first, missed=replace(span, last=last), reason=reason)
