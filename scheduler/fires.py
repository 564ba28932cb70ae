"""Fires are written once: the unique constraints decide, whoever comes twice."""

from collections.abc import Sequence

from django.db import connection

from scheduler.models import Fire


def insert_fires(fires: Sequence[Fire]) -> list[Fire]:
    """Insert the fires, give each its id, and return those that were not there yet.

    An instant that is recorded already (`next_run_at` was set back by hand) is left as it is: the unique
    constraints are the second guard behind the compare-and-swap.
    """
    columns = ("fire_at", "kind", "outcome", "reason", "missed_from", "missed_until", "missed_count", "actor")
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO scheduler_fire (schedule_id, fire_at, kind, outcome, reason, missed_from, missed_until,"
            " missed_count, actor, recorded_at)"
            " SELECT * FROM unnest(%s::bigint[], %s::timestamptz[], %s::text[], %s::text[], %s::text[],"
            " %s::timestamptz[], %s::timestamptz[], %s::int[], %s::text[], %s::timestamptz[])"
            " ON CONFLICT DO NOTHING RETURNING id, schedule_id, fire_at, kind",
            [
                [fire.schedule_id for fire in fires],
                *([getattr(fire, name) for fire in fires] for name in columns),
                [fire.recorded_at for fire in fires],
            ],
        )
        ids = {(schedule_id, fire_at, kind): pk for pk, schedule_id, fire_at, kind in cursor.fetchall()}
    recorded = []
    for fire in fires:
        fire.pk = ids.get((fire.schedule_id, fire.fire_at, fire.kind))
        if fire.pk is not None:
            recorded.append(fire)
    return recorded
