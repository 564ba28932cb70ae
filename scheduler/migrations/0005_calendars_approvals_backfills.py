"""Calendars, approvals and backfills, and what schedules and runs know of them.

Upgrade: the new columns are empty or have a constant default, so no row is written anew. Downgrade: calendars, backfills
and the questions of runs are lost; runs that await an answer have to be answered or cancelled first.
"""

import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('scheduler', '0004_fewer_indexes'),
    ]

    operations = [
        migrations.CreateModel(
            name='Calendar',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200, unique=True, verbose_name='name')),
                ('description', models.TextField(blank=True, verbose_name='description')),
            ],
            options={
                'verbose_name': 'calendar',
                'verbose_name_plural': 'calendars',
                'ordering': ('name',),
            },
        ),
        migrations.CreateModel(
            name='CalendarDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('date', models.DateField(verbose_name='date')),
                ('title', models.CharField(blank=True, max_length=200, verbose_name='title')),
            ],
            options={
                'verbose_name': 'excluded date',
                'verbose_name_plural': 'excluded dates',
                'ordering': ('date',),
            },
        ),
        migrations.AddField(
            model_name='schedule',
            name='ends_at',
            field=models.DateTimeField(blank=True, help_text='fires until this instant; empty: for ever', null=True, verbose_name='ends'),
        ),
        migrations.AddField(
            model_name='schedule',
            name='jitter_seconds',
            field=models.PositiveIntegerField(default=0, help_text='a run starts up to this much later; always the same for the same fire', verbose_name='jitter in seconds'),
        ),
        migrations.AddField(
            model_name='schedule',
            name='on_excluded',
            field=models.CharField(choices=[('skip', 'skip the fire'), ('move', 'move to the next allowed day')], default='skip', max_length=10, verbose_name='on an excluded date'),
        ),
        migrations.AddField(
            model_name='schedule',
            name='quiet_from',
            field=models.TimeField(blank=True, help_text='nothing is launched in this local window', null=True, verbose_name='quiet from'),
        ),
        migrations.AddField(
            model_name='schedule',
            name='quiet_until',
            field=models.TimeField(blank=True, null=True, verbose_name='quiet until'),
        ),
        migrations.AddField(
            model_name='schedule',
            name='starts_at',
            field=models.DateTimeField(blank=True, help_text='fires from this instant on; empty: at once', null=True, verbose_name='starts'),
        ),
        migrations.AddField(
            model_name='taskrun',
            name='seal',
            field=models.CharField(blank=True, max_length=64, verbose_name='seal'),
        ),
        migrations.AlterField(
            model_name='fire',
            name='outcome',
            field=models.CharField(choices=[('started', 'started a run'), ('skipped_overlap', 'skipped: overlap'), ('skipped_misfire', 'skipped: missed'), ('skipped_paused', 'skipped: paused'), ('skipped_excluded', 'skipped: excluded date'), ('already_done', 'already done'), ('failed_to_start', 'could not start')], max_length=20, verbose_name='outcome'),
        ),
        migrations.CreateModel(
            name='Approval',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('segment', models.PositiveIntegerField(verbose_name='segment')),
                ('question', models.TextField(verbose_name='question')),
                ('asked_at', models.DateTimeField(verbose_name='asked')),
                ('answer', models.CharField(blank=True, choices=[('approved', 'approved'), ('rejected', 'rejected')], max_length=10, verbose_name='answer')),
                ('answered_at', models.DateTimeField(blank=True, null=True, verbose_name='answered')),
                ('answered_by', models.CharField(blank=True, max_length=200, verbose_name='by')),
                ('why', models.TextField(blank=True, verbose_name='why')),
                ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='approvals', to='scheduler.taskrun', verbose_name='run')),
            ],
            options={
                'verbose_name': 'approval',
                'verbose_name_plural': 'approvals',
                'ordering': ('-id',),
            },
        ),
        migrations.CreateModel(
            name='Backfill',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('first_day', models.DateField(verbose_name='first data day')),
                ('last_day', models.DateField(verbose_name='last data day')),
                ('parallel', models.PositiveIntegerField(default=1, validators=[django.core.validators.MinValueValidator(1)], verbose_name='at once')),
                ('reason', models.TextField(blank=True, verbose_name='reason')),
                ('created_at', models.DateTimeField(verbose_name='asked')),
                ('created_by', models.CharField(max_length=200, verbose_name='by')),
                ('cancelled_at', models.DateTimeField(blank=True, null=True, verbose_name='cancelled')),
                ('cancelled_by', models.CharField(blank=True, max_length=200, verbose_name='cancelled by')),
                ('schedule', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='backfills', to='scheduler.schedule', verbose_name='schedule')),
            ],
            options={
                'verbose_name': 'backfill',
                'verbose_name_plural': 'backfills',
                'ordering': ('-id',),
            },
        ),
        migrations.AddField(
            model_name='taskrun',
            name='backfill',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='scheduler.backfill', verbose_name='backfill'),
        ),
        migrations.AddIndex(
            model_name='taskrun',
            index=models.Index(condition=models.Q(('backfill__isnull', False)), fields=['backfill', 'id'], name='run_of_backfill'),
        ),
        migrations.AddIndex(
            model_name='taskrun',
            index=models.Index(condition=models.Q(('finished_at__isnull', False), ('seal', '')), fields=['id'], name='run_awaits_its_seal'),
        ),
        migrations.AddField(
            model_name='schedule',
            name='calendar',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='schedules', to='scheduler.calendar', verbose_name='calendar of excluded dates'),
        ),
        migrations.AddIndex(
            model_name='schedule',
            index=models.Index(condition=models.Q(('quiet_from__isnull', False)), fields=['id'], name='schedule_has_quiet_hours'),
        ),
        migrations.AddConstraint(
            model_name='schedule',
            constraint=models.CheckConstraint(condition=models.Q(('starts_at__isnull', True), ('ends_at__isnull', True), ('starts_at__lte', models.F('ends_at')), _connector='OR'), name='schedule_ends_after_its_start'),
        ),
        migrations.AddConstraint(
            model_name='schedule',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('quiet_from__isnull', True), ('quiet_until__isnull', True)), models.Q(('quiet_from__isnull', False), ('quiet_until__isnull', False), models.Q(('quiet_from', models.F('quiet_until')), _negated=True)), _connector='OR'), name='schedule_quiet_has_two_ends'),
        ),
        migrations.AddField(
            model_name='calendarday',
            name='calendar',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='days', to='scheduler.calendar', verbose_name='calendar'),
        ),
        migrations.AddConstraint(
            model_name='approval',
            constraint=models.UniqueConstraint(fields=('run', 'segment'), name='approval_once_a_segment'),
        ),
        migrations.AddConstraint(
            model_name='approval',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('answer', ''), ('answered_at__isnull', True)), models.Q(models.Q(('answer', ''), _negated=True), ('answered_at__isnull', False), models.Q(('answered_by', ''), _negated=True)), _connector='OR'), name='approval_answered_says_by_whom'),
        ),
        migrations.AddConstraint(
            model_name='backfill',
            constraint=models.CheckConstraint(condition=models.Q(('first_day__lte', models.F('last_day'))), name='backfill_goes_forward'),
        ),
        migrations.AddConstraint(
            model_name='backfill',
            constraint=models.CheckConstraint(condition=models.Q(('parallel__gte', 1)), name='backfill_is_bounded'),
        ),
        migrations.AddConstraint(
            model_name='calendarday',
            constraint=models.UniqueConstraint(fields=('calendar', 'date'), name='calendar_day_once'),
        ),
    ]
