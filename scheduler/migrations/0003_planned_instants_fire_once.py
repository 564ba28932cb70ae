"""A planned instant that fired on time does not fire again as a made-up one, nor the other way round.

Downgrade: reversing this migration drops the constraint only. Upgrade: if an instant stands twice already, the
migration stops and names it; nothing of it is deleted by itself.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("scheduler", "0002_history_is_kept")]

    operations = [
        migrations.AddConstraint(
            model_name="fire",
            constraint=models.UniqueConstraint(
                condition=models.Q(("kind__in", ["scheduled", "misfire"])),
                fields=("schedule", "fire_at"),
                name="fire_planned_once",
            ),
        ),
    ]
