"""A channel repeats within a year: a longer time fits no instant.

Upgrade: what is beyond them is set to the longest. Downgrade: reversing this migration drops the constraint only.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("alerts", "0005_delivery_urgency"),
    ]

    operations = [
        migrations.RunSQL(
            "UPDATE alerts_channel SET repeat_hours = NULLIF(LEAST(repeat_hours, 8760), 0)"
            " WHERE repeat_hours NOT BETWEEN 1 AND 8760",
            migrations.RunSQL.noop,
        ),
        migrations.AddConstraint(
            model_name="channel",
            constraint=models.CheckConstraint(
                condition=models.Q(("repeat_hours__range", (1, 8760))), name="channel_repeats_in_bounds"
            ),
        ),
    ]
