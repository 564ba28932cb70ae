"""An alert knows with which severity it was told, and its facts.

Upgrade: alerts that were told before are written once. Downgrade: both columns are lost.
"""

from django.db import migrations, models


# What was told before was told with the severity that it has.
FILL = "UPDATE alerts_alert SET told_severity = severity WHERE told_at IS NOT NULL"


class Migration(migrations.Migration):

    dependencies = [
        ('alerts', '0003_channel_choices_are_lists'),
    ]

    operations = [
        migrations.AddField(
            model_name='alert',
            name='facts',
            field=models.JSONField(blank=True, default=list, verbose_name='facts'),
        ),
        migrations.AddField(
            model_name='alert',
            name='told_severity',
            field=models.CharField(blank=True, choices=[('info', 'info'), ('warning', 'warning'), ('critical', 'critical')], editable=False, max_length=10),
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.AddConstraint(
            model_name='alert',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('told_at__isnull', True), ('told_severity', '')), models.Q(('told_at__isnull', False), ('told_severity__in', ['info', 'warning', 'critical'])), _connector='OR'), name='alert_told_says_how_severe'),
        ),
    ]
