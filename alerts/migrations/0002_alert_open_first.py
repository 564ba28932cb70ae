"""The open alerts are found first by an index.

Downgrade: it is dropped.
"""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('alerts', '0001_initial'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(models.OrderBy(models.F('resolved_at'), descending=True, nulls_first=True), models.OrderBy(models.F('last_at'), descending=True), name='alert_open_first'),
        ),
    ]
