"""Schedules, fires, runs, their attempts and events.

Downgrade: reversing this migration drops the tables with all that is in them; export what is to be kept first.
"""

import django.contrib.postgres.fields
import django.core.serializers.json
import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Schedule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200, unique=True, verbose_name='name')),
                ('description', models.TextField(blank=True, verbose_name='description')),
                ('job', models.CharField(max_length=200, verbose_name='job')),
                ('params', models.JSONField(blank=True, default=dict, encoder=django.core.serializers.json.DjangoJSONEncoder, verbose_name='parameters')),
                ('enabled', models.BooleanField(default=True, verbose_name='enabled')),
                ('pause_reason', models.CharField(blank=True, max_length=500, verbose_name='why it is paused')),
                ('trigger', models.CharField(choices=[('cron', 'cron'), ('interval', 'interval'), ('once', 'once')], default='cron', max_length=10, verbose_name='trigger')),
                ('cron', models.CharField(blank=True, help_text='minute hour day month weekday', max_length=200, verbose_name='cron expression')),
                ('interval_seconds', models.PositiveIntegerField(blank=True, null=True, verbose_name='interval in seconds')),
                ('anchor_at', models.DateTimeField(blank=True, help_text='empty: from the moment of saving', null=True, verbose_name='interval counted from')),
                ('once_at', models.DateTimeField(blank=True, null=True, verbose_name='once at')),
                ('timezone', models.CharField(default='UTC', help_text='an IANA name', max_length=64, verbose_name='time zone')),
                ('misfire_grace_seconds', models.PositiveIntegerField(default=3600, help_text='how late a missed instant is still made up; later it is recorded as skipped', verbose_name='misfire grace in seconds')),
                ('overlap', models.CharField(blank=True, choices=[('skip', 'skip the new one'), ('queue', 'queue: the new one waits for the one before'), ('allow', 'allow both at once')], help_text='empty: queue for what fires at most once a day, skip for what fires more often', max_length=10, verbose_name='overlap')),
                ('stat_date_offset', models.SmallIntegerField(default=0, help_text="days; -1 means yesterday's figures", verbose_name='data day offset')),
                ('on_interrupt', models.CharField(choices=[('resume', 'go on where it was'), ('suspend', 'wait for a person')], default='resume', max_length=10, verbose_name='when interrupted')),
                ('retry_delays', django.contrib.postgres.fields.ArrayField(base_field=models.PositiveIntegerField(), blank=True, default=list, help_text='one number a retry, for example 60,300,3600; empty: no retry', size=None, verbose_name='retry delays in seconds')),
                ('timeout_seconds', models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='attempt timeout in seconds')),
                ('priority', models.SmallIntegerField(default=0, help_text='higher goes first', verbose_name='priority')),
                ('origin', models.CharField(blank=True, editable=False, max_length=300, null=True, unique=True, verbose_name='origin')),
                ('next_run_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='next run')),
                ('broken_reason', models.TextField(blank=True, editable=False, verbose_name='why it is unscheduled')),
                ('version', models.PositiveIntegerField(default=1, editable=False)),
                ('created_at', models.DateTimeField(editable=False, verbose_name='created')),
                ('updated_at', models.DateTimeField(editable=False, verbose_name='changed')),
            ],
            options={
                'verbose_name': 'schedule',
                'verbose_name_plural': 'schedules',
                'ordering': ('name',),
                'permissions': (('run_schedule', 'Can run a schedule now'), ('pause_schedule', 'Can pause and enable a schedule'), ('use_command_job', 'Can edit schedules that run shell commands')),
                'indexes': [models.Index(condition=models.Q(('enabled', True)), fields=['next_run_at'], name='schedule_is_due')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('trigger', 'cron'), models.Q(('cron', ''), _negated=True)), models.Q(('anchor_at__isnull', False), ('interval_seconds__gt', 0), ('trigger', 'interval')), models.Q(('once_at__isnull', False), ('trigger', 'once')), _connector='OR'), name='schedule_has_its_trigger'), models.CheckConstraint(condition=models.Q(('overlap__in', ['skip', 'queue', 'allow'])), name='schedule_overlap_is_decided'), models.CheckConstraint(condition=models.Q(('broken_reason', ''), ('next_run_at__isnull', True), _connector='OR'), name='schedule_broken_is_unscheduled')],
            },
        ),
        migrations.CreateModel(
            name='Fire',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('fire_at', models.DateTimeField(verbose_name='due at')),
                ('kind', models.CharField(choices=[('scheduled', 'scheduled'), ('misfire', 'made up'), ('manual', 'by hand'), ('backfill', 'backfill')], max_length=10, verbose_name='kind')),
                ('outcome', models.CharField(choices=[('started', 'started a run'), ('skipped_overlap', 'skipped: overlap'), ('skipped_misfire', 'skipped: missed'), ('skipped_paused', 'skipped: paused'), ('already_done', 'already done'), ('failed_to_start', 'could not start')], max_length=20, verbose_name='outcome')),
                ('reason', models.TextField(blank=True, verbose_name='reason')),
                ('missed_from', models.DateTimeField(blank=True, null=True, verbose_name='first missed')),
                ('missed_until', models.DateTimeField(blank=True, null=True, verbose_name='last missed')),
                ('missed_count', models.PositiveIntegerField(blank=True, null=True, verbose_name='missed')),
                ('actor', models.CharField(blank=True, max_length=200, verbose_name='by')),
                ('recorded_at', models.DateTimeField(verbose_name='recorded')),
                ('schedule', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='fires', to='scheduler.schedule', verbose_name='schedule')),
            ],
            options={
                'verbose_name': 'fire',
                'verbose_name_plural': 'fires',
                'ordering': ('-fire_at', '-id'),
            },
        ),
        migrations.CreateModel(
            name='TaskRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200, verbose_name='name')),
                ('job', models.CharField(max_length=200, verbose_name='job')),
                ('params', models.JSONField(blank=True, default=dict, encoder=django.core.serializers.json.DjangoJSONEncoder, verbose_name='parameters')),
                ('stat_date', models.DateField(verbose_name='data day')),
                ('planned_at', models.DateTimeField(verbose_name='planned at')),
                ('priority', models.SmallIntegerField(default=0, verbose_name='priority')),
                ('timeout_seconds', models.PositiveIntegerField(blank=True, null=True, verbose_name='attempt timeout in seconds')),
                ('retry_delays', django.contrib.postgres.fields.ArrayField(base_field=models.PositiveIntegerField(), blank=True, default=list, size=None)),
                ('on_interrupt', models.CharField(choices=[('resume', 'go on where it was'), ('suspend', 'wait for a person')], default='resume', max_length=10)),
                ('exclusive_key', models.CharField(blank=True, max_length=250, null=True)),
                ('state', models.CharField(choices=[('pending', 'pending'), ('running', 'running'), ('paused', 'paused'), ('resuming', 'resuming'), ('deferred', 'deferred'), ('failed', 'failed'), ('awaiting_approval', 'awaiting approval'), ('suspended', 'suspended'), ('done', 'done'), ('cancelled', 'cancelled')], default='pending', max_length=20, verbose_name='state')),
                ('reason', models.TextField(blank=True, verbose_name='why it is in this state')),
                ('due_at', models.DateTimeField(blank=True, null=True, verbose_name='due at')),
                ('progress', models.JSONField(blank=True, default=dict, encoder=django.core.serializers.json.DjangoJSONEncoder, verbose_name='checkpoint')),
                ('progress_done', models.PositiveBigIntegerField(blank=True, null=True, verbose_name='done')),
                ('progress_total', models.PositiveBigIntegerField(blank=True, null=True, verbose_name='of')),
                ('checkpoint_at', models.DateTimeField(blank=True, null=True, verbose_name='last checkpoint')),
                ('result', models.JSONField(blank=True, encoder=django.core.serializers.json.DjangoJSONEncoder, null=True, verbose_name='result')),
                ('lease_token', models.PositiveBigIntegerField(default=0)),
                ('lease_owner', models.CharField(blank=True, max_length=200, verbose_name='held by')),
                ('lease_pid', models.PositiveIntegerField(blank=True, null=True)),
                ('lease_expires_at', models.DateTimeField(blank=True, null=True, verbose_name='lease until')),
                ('deadline_at', models.DateTimeField(blank=True, null=True, verbose_name='times out at')),
                ('cancel_requested_at', models.DateTimeField(blank=True, null=True, verbose_name='cancel asked')),
                ('cancel_requested_by', models.CharField(blank=True, max_length=200)),
                ('attempt_count', models.PositiveIntegerField(default=0, verbose_name='attempts')),
                ('failure_count', models.PositiveIntegerField(default=0, verbose_name='failures')),
                ('interruption_count', models.PositiveIntegerField(default=0, verbose_name='interruptions in a row')),
                ('created_at', models.DateTimeField(verbose_name='opened')),
                ('started_at', models.DateTimeField(blank=True, null=True, verbose_name='started')),
                ('finished_at', models.DateTimeField(blank=True, null=True, verbose_name='ended')),
                ('fire', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='run', to='scheduler.fire', verbose_name='fire')),
                ('rerun_of', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='reruns', to='scheduler.taskrun', verbose_name='run again of')),
                ('schedule', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='scheduler.schedule', verbose_name='schedule')),
            ],
            options={
                'verbose_name': 'run',
                'verbose_name_plural': 'runs',
                'ordering': ('-id',),
                'permissions': (('cancel_taskrun', 'Can cancel a run'), ('retry_taskrun', 'Can retry a run or run it again'), ('resume_taskrun', 'Can let a suspended run go on')),
            },
        ),
        migrations.CreateModel(
            name='RunEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(verbose_name='at')),
                ('from_state', models.CharField(blank=True, choices=[('pending', 'pending'), ('running', 'running'), ('paused', 'paused'), ('resuming', 'resuming'), ('deferred', 'deferred'), ('failed', 'failed'), ('awaiting_approval', 'awaiting approval'), ('suspended', 'suspended'), ('done', 'done'), ('cancelled', 'cancelled')], max_length=20, verbose_name='from')),
                ('to_state', models.CharField(choices=[('pending', 'pending'), ('running', 'running'), ('paused', 'paused'), ('resuming', 'resuming'), ('deferred', 'deferred'), ('failed', 'failed'), ('awaiting_approval', 'awaiting approval'), ('suspended', 'suspended'), ('done', 'done'), ('cancelled', 'cancelled')], max_length=20, verbose_name='to')),
                ('trigger', models.CharField(choices=[('schedule', 'schedule'), ('manual', 'by hand'), ('backfill', 'backfill'), ('worker', 'worker'), ('job', 'job'), ('retry', 'retry'), ('rescue', 'rescue'), ('stop', 'worker stopping'), ('timeout', 'timeout'), ('quota_edge', 'quota edge'), ('fallback_poll', 'fallback poll'), ('approval', 'approval'), ('api', 'API')], max_length=20, verbose_name='trigger')),
                ('actor', models.CharField(blank=True, max_length=200, verbose_name='by')),
                ('reason', models.TextField(blank=True, verbose_name='reason')),
                ('attempt', models.PositiveIntegerField(blank=True, null=True, verbose_name='attempt')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='events', to='scheduler.taskrun', verbose_name='run')),
            ],
            options={
                'verbose_name': 'event',
                'verbose_name_plural': 'events',
                'ordering': ('-id',),
            },
        ),
        migrations.CreateModel(
            name='Attempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField(verbose_name='number')),
                ('token', models.PositiveBigIntegerField(verbose_name='token')),
                ('worker', models.CharField(max_length=200, verbose_name='worker')),
                ('pid', models.PositiveIntegerField(verbose_name='process')),
                ('due_at', models.DateTimeField(verbose_name='was due at')),
                ('started_at', models.DateTimeField(verbose_name='started')),
                ('finished_at', models.DateTimeField(blank=True, null=True, verbose_name='ended')),
                ('outcome', models.CharField(blank=True, choices=[('done', 'done'), ('failed', 'failed'), ('timed_out', 'timed out'), ('deferred', 'deferred'), ('paused', 'paused'), ('awaiting_approval', 'awaiting approval'), ('handed_back', 'handed back'), ('lost', 'lost'), ('cancelled', 'cancelled')], max_length=20, verbose_name='outcome')),
                ('error', models.TextField(blank=True, verbose_name='error')),
                ('traceback', models.TextField(blank=True, verbose_name='traceback')),
                ('output', models.TextField(blank=True, verbose_name='output')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='attempts', to='scheduler.taskrun', verbose_name='run')),
            ],
            options={
                'verbose_name': 'attempt',
                'verbose_name_plural': 'attempts',
                'ordering': ('-id',),
            },
        ),
        migrations.AddIndex(
            model_name='fire',
            index=models.Index(models.F('schedule'), models.OrderBy(models.F('fire_at'), descending=True), name='fire_latest_of_schedule'),
        ),
        migrations.AddIndex(
            model_name='fire',
            index=models.Index(models.OrderBy(models.F('fire_at'), descending=True), models.OrderBy(models.F('id'), descending=True), name='fire_latest'),
        ),
        migrations.AddConstraint(
            model_name='fire',
            constraint=models.UniqueConstraint(fields=('schedule', 'fire_at', 'kind'), name='fire_once'),
        ),
        migrations.AddConstraint(
            model_name='fire',
            constraint=models.CheckConstraint(condition=models.Q(('outcome', 'started'), models.Q(('reason', ''), _negated=True), _connector='OR'), name='fire_without_run_says_why'),
        ),
        migrations.AddIndex(
            model_name='taskrun',
            index=models.Index(models.OrderBy(models.F('priority'), descending=True), models.F('due_at'), models.F('id'), condition=models.Q(('due_at__isnull', False)), name='run_is_due'),
        ),
        migrations.AddIndex(
            model_name='taskrun',
            index=models.Index(condition=models.Q(('state', 'running')), fields=['lease_owner', 'lease_expires_at'], name='run_is_held'),
        ),
        migrations.AddIndex(
            model_name='taskrun',
            index=models.Index(condition=models.Q(('finished_at__isnull', True)), fields=['exclusive_key', 'id'], name='run_blocks_its_key'),
        ),
        migrations.AddIndex(
            model_name='taskrun',
            index=models.Index(models.F('schedule'), models.F('stat_date'), name='run_of_data_day'),
        ),
        migrations.AddIndex(
            model_name='taskrun',
            index=models.Index(models.F('schedule'), models.OrderBy(models.F('id'), descending=True), name='run_latest_of_schedule'),
        ),
        migrations.AddIndex(
            model_name='taskrun',
            index=models.Index(models.OrderBy(models.F('finished_at'), descending=True), name='run_ended_lately'),
        ),
        migrations.AddIndex(
            model_name='taskrun',
            index=models.Index(condition=models.Q(('finished_at__isnull', True)), fields=['state', 'id'], name='run_unfinished_by_state'),
        ),
        migrations.AddConstraint(
            model_name='taskrun',
            constraint=models.UniqueConstraint(condition=models.Q(('state__in', ['resuming', 'running'])), fields=('exclusive_key',), name='run_alone_on_its_key'),
        ),
        migrations.AddConstraint(
            model_name='taskrun',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['pending', 'running', 'paused', 'resuming', 'deferred', 'failed', 'awaiting_approval', 'suspended', 'done', 'cancelled'])), name='run_state_is_known'),
        ),
        migrations.AddConstraint(
            model_name='taskrun',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('finished_at__isnull', False), models.Q(('state__in', ['done', 'cancelled']), models.Q(('due_at__isnull', True), ('state', 'failed')), _connector='OR')), models.Q(('finished_at__isnull', True), models.Q(('state__in', ['done', 'cancelled']), _negated=True), models.Q(('due_at__isnull', True), ('state', 'failed'), _negated=True)), _connector='OR'), name='run_ended_says_when'),
        ),
        migrations.AddConstraint(
            model_name='taskrun',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('due_at__isnull', False), ('state__in', ['pending', 'deferred', 'resuming'])), ('state', 'failed'), models.Q(models.Q(('state__in', ['pending', 'deferred', 'resuming', 'failed']), _negated=True), ('due_at__isnull', True)), _connector='OR'), name='run_due_only_while_waiting'),
        ),
        migrations.AddConstraint(
            model_name='taskrun',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'running'), _negated=True), models.Q(('lease_expires_at__isnull', False), models.Q(('lease_owner', ''), _negated=True)), _connector='OR'), name='run_running_is_leased'),
        ),
        migrations.AddConstraint(
            model_name='taskrun',
            constraint=models.CheckConstraint(condition=models.Q(('lease_expires_at__isnull', True), ('due_at__isnull', False), ('state', 'running'), _connector='OR'), name='run_leased_only_if_due_or_running'),
        ),
        migrations.AddIndex(
            model_name='runevent',
            index=models.Index(models.F('run'), models.F('id'), name='event_of_run'),
        ),
        migrations.AddConstraint(
            model_name='attempt',
            constraint=models.UniqueConstraint(fields=('run', 'number'), name='attempt_once'),
        ),
        migrations.AddConstraint(
            model_name='attempt',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('finished_at__isnull', True), ('outcome', '')), models.Q(('finished_at__isnull', False), models.Q(('outcome', ''), _negated=True)), _connector='OR'), name='attempt_ended_says_how'),
        ),
    ]
