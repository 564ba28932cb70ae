"""The outcome of a refused delivery is called what it is.

Upgrade and downgrade: only the names of choices change; no row does.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("alerts", "0006_channel_repeats_in_bounds"),
    ]

    operations = [
        migrations.AlterField(
            model_name="delivery",
            name="outcome",
            field=models.CharField(
                blank=True,
                choices=[
                    ("sent", "sent"),
                    ("permanent", "failed for good"),
                    ("retry", "not taken"),
                    ("ambiguous", "unknown"),
                ],
                max_length=10,
                verbose_name="outcome",
            ),
        ),
        migrations.AlterField(
            model_name="deliverytry",
            name="outcome",
            field=models.CharField(
                blank=True,
                choices=[
                    ("sent", "sent"),
                    ("permanent", "failed for good"),
                    ("retry", "not taken"),
                    ("ambiguous", "unknown"),
                ],
                max_length=10,
                verbose_name="outcome",
            ),
        ),
    ]
