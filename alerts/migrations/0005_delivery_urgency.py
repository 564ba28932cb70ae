"""Deliveries wait in the order of their severity.

Upgrade: what waits is written once. Downgrade: what waits goes by its age again.
"""

from django.db import migrations, models

# What waits already goes by its severity too.
FILL = """
UPDATE alerts_delivery AS delivery SET urgency = array_position(ARRAY['info', 'warning', 'critical'], event.severity) - 1
FROM alerts_event AS event WHERE event.id = delivery.event_id AND delivery.state = 'waiting'
"""


class Migration(migrations.Migration):

    dependencies = [
        ('alerts', '0004_alert_told_severity_and_facts'),
    ]

    operations = [
        migrations.AddField(
            model_name='delivery',
            name='urgency',
            field=models.PositiveSmallIntegerField(default=0, editable=False),
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(
                models.F('channel'),
                models.OrderBy(models.F('urgency'), descending=True),
                models.F('id'),
                condition=models.Q(('state', 'waiting')),
                name='delivery_most_urgent_first',
            ),
        ),
    ]
