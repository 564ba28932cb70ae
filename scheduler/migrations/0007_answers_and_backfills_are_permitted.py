"""Answering a run's question, backfilling and cancelling a backfill are permissions of their own.

Quiet hours are looked at when a run is launched, so that no index of the schedules that have some is needed.

Downgrade: reversing this migration makes the index again; permissions that were given stay, and nothing asks for them.
"""

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('scheduler', '0006_ended_runs_are_sealed'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='backfill',
            options={'ordering': ('-id',), 'permissions': (('cancel_backfill', 'Can cancel what is left of a backfill'),), 'verbose_name': 'backfill', 'verbose_name_plural': 'backfills'},
        ),
        migrations.AlterModelOptions(
            name='schedule',
            options={'ordering': ('name',), 'permissions': (('run_schedule', 'Can run a schedule now'), ('pause_schedule', 'Can pause and enable a schedule'), ('backfill_schedule', 'Can have a schedule run for a range of data days'), ('use_command_job', 'Can edit schedules that run shell commands')), 'verbose_name': 'schedule', 'verbose_name_plural': 'schedules'},
        ),
        migrations.AlterModelOptions(
            name='taskrun',
            options={'ordering': ('-id',), 'permissions': (('cancel_taskrun', 'Can cancel a run'), ('retry_taskrun', 'Can retry a run or run it again'), ('resume_taskrun', 'Can let a suspended run go on or give it up'), ('answer_approval', 'Can answer the question of a run')), 'verbose_name': 'run', 'verbose_name_plural': 'runs'},
        ),
        migrations.RemoveIndex(
            model_name='schedule',
            name='schedule_has_quiet_hours',
        ),
    ]
