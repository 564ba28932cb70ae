"""A fire and a backfill keep the reason that a person gave.

Upgrade: the new columns are empty. Downgrade: the reasons are lost; those in the audit log stay.
"""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('scheduler', '0008_runs_wait_for_quotas'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='taskrun',
            options={'ordering': ('-id',), 'permissions': (('cancel_taskrun', 'Can cancel a run'), ('retry_taskrun', 'Can retry a run or run it again'), ('resume_taskrun', 'Can let a suspended or paused run go on, or give it up'), ('answer_approval', 'Can answer the question of a run')), 'verbose_name': 'run', 'verbose_name_plural': 'runs'},
        ),
        migrations.AddField(
            model_name='schedule',
            name='paused_by',
            field=models.CharField(blank=True, editable=False, max_length=200, verbose_name='paused by'),
        ),
        migrations.AddField(
            model_name='taskrun',
            name='cancel_reason',
            field=models.TextField(blank=True),
        ),
    ]
