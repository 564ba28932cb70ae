"""Events of a rare state or trigger are found by an index: the list read all of history for them.

Upgrade: the indexes are built beside the work, without a lock; each of them holds only what is rare. Should one of them
be interrupted, drop the invalid index that it leaves and migrate again. Downgrade: they are dropped.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

RARE_STATES = ["awaiting_approval", "cancelled", "deferred", "failed", "paused", "resuming", "suspended"]
RARE_TRIGGERS = [
    "api",
    "approval",
    "backfill",
    "fallback_poll",
    "job",
    "manual",
    "quota",
    "quota_edge",
    "rescue",
    "retry",
    "stop",
    "timeout",
]


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("scheduler", "0009_reasons_are_kept")]

    operations = [
        AddIndexConcurrently(
            model_name="runevent",
            index=models.Index(
                "to_state",
                models.F("id").desc(),
                name="event_to_rare_state",
                condition=models.Q(to_state__in=RARE_STATES),
            ),
        ),
        AddIndexConcurrently(
            model_name="runevent",
            index=models.Index(
                "trigger",
                models.F("id").desc(),
                name="event_of_rare_trigger",
                condition=models.Q(trigger__in=RARE_TRIGGERS),
            ),
        ),
    ]
