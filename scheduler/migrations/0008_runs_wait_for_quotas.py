"""Runs name what they need of quotas, and wait in line for it.

Upgrade: the new columns are empty or have a constant default, so no row is written anew. Downgrade: what runs need of
quotas, and their pauses, are lost; let paused runs end or cancel them first, for nothing of the older version resumes them.
"""

import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('quotas', '0002_ledger_is_kept'),
        ('scheduler', '0007_answers_and_backfills_are_permitted'),
    ]

    operations = [
        migrations.CreateModel(
            name='Pause',
            fields=[
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='pause', serialize=False, to='scheduler.taskrun', verbose_name='run')),
                ('since', models.DateTimeField(verbose_name='paused since')),
                ('resume_count', models.PositiveIntegerField(default=0, verbose_name='resumed')),
                ('last_resumed_at', models.DateTimeField(blank=True, null=True, verbose_name='last resumed')),
                ('last_trigger', models.CharField(blank=True, choices=[('schedule', 'schedule'), ('manual', 'by hand'), ('backfill', 'backfill'), ('worker', 'worker'), ('job', 'job'), ('retry', 'retry'), ('rescue', 'rescue'), ('stop', 'worker stopping'), ('timeout', 'timeout'), ('quota', 'quota used up'), ('quota_edge', 'quota edge'), ('fallback_poll', 'fallback poll'), ('approval', 'approval'), ('api', 'API')], max_length=20, verbose_name='last resumed by')),
                ('setbacks', models.PositiveIntegerField(default=0, verbose_name='setbacks in a row')),
                ('not_before', models.DateTimeField(blank=True, null=True, verbose_name='not resumed before')),
                ('held', models.CharField(blank=True, choices=[('agreement', 'a person has to agree each time'), ('limit', 'it was resumed as often as it may be'), ('setbacks', 'it paused again each time without getting anywhere')], max_length=10, verbose_name='held')),
            ],
            options={
                'verbose_name': 'pause',
                'verbose_name_plural': 'pauses',
            },
        ),
        migrations.CreateModel(
            name='QuotaWait',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('amount', models.BigIntegerField(verbose_name='amount')),
                ('why', models.CharField(choices=[('own_budget', 'our own budget is used up'), ('provider_window', 'the provider refuses until its window resets'), ('rate', 'the rate allows no more just now'), ('unknown_reset', 'the provider refuses and does not say until when')], max_length=20, verbose_name='why')),
                ('since', models.DateTimeField(verbose_name='since')),
                ('expected_at', models.DateTimeField(blank=True, null=True, verbose_name='expected back at')),
            ],
            options={
                'verbose_name': 'wait',
                'verbose_name_plural': 'waits',
            },
        ),
        migrations.AddField(
            model_name='schedule',
            name='quota',
            field=models.ForeignKey(blank=True, help_text='its runs wait, without being launched, while this quota is used up', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='quotas.quota', verbose_name='quota'),
        ),
        migrations.AddField(
            model_name='schedule',
            name='quota_need',
            field=models.PositiveBigIntegerField(blank=True, help_text="what a run needs at least; empty: the quota's usual need", null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='needs of it'),
        ),
        migrations.AddField(
            model_name='schedule',
            name='resume_by_hand',
            field=models.BooleanField(default=False, help_text='a paused run goes on only after a person agreed', verbose_name='resumed by hand only'),
        ),
        migrations.AddField(
            model_name='schedule',
            name='resume_limit',
            field=models.PositiveIntegerField(blank=True, help_text='so often a paused run goes on by itself; empty: as often as its quotas allow', null=True, verbose_name='resumed at most'),
        ),
        migrations.AddField(
            model_name='taskrun',
            name='pause_count',
            field=models.PositiveIntegerField(default=0, verbose_name='pauses'),
        ),
        migrations.AddField(
            model_name='taskrun',
            name='quota',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='quotas.quota', verbose_name='quota'),
        ),
        migrations.AddField(
            model_name='taskrun',
            name='quota_need',
            field=models.PositiveBigIntegerField(blank=True, null=True, verbose_name='needs of it'),
        ),
        migrations.AddField(
            model_name='taskrun',
            name='resume_by_hand',
            field=models.BooleanField(default=False, verbose_name='resumed by hand only'),
        ),
        migrations.AddField(
            model_name='taskrun',
            name='resume_limit',
            field=models.PositiveIntegerField(blank=True, null=True, verbose_name='resumed at most'),
        ),
        migrations.AlterField(
            model_name='runevent',
            name='trigger',
            field=models.CharField(choices=[('schedule', 'schedule'), ('manual', 'by hand'), ('backfill', 'backfill'), ('worker', 'worker'), ('job', 'job'), ('retry', 'retry'), ('rescue', 'rescue'), ('stop', 'worker stopping'), ('timeout', 'timeout'), ('quota', 'quota used up'), ('quota_edge', 'quota edge'), ('fallback_poll', 'fallback poll'), ('approval', 'approval'), ('api', 'API')], max_length=20, verbose_name='trigger'),
        ),
        migrations.AddIndex(
            model_name='taskrun',
            index=models.Index(condition=models.Q(('quota__isnull', False), ('state__in', ['awaiting_approval', 'deferred', 'failed', 'paused', 'pending', 'resuming', 'running', 'suspended'])), fields=['quota', 'id'], name='run_needs_quota'),
        ),
        migrations.AddIndex(
            model_name='pause',
            index=models.Index(condition=models.Q(('held', ''), ('not_before__isnull', False)), fields=['not_before'], name='pause_delay_ends'),
        ),
        migrations.AddField(
            model_name='quotawait',
            name='quota',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='quotas.quota', verbose_name='quota'),
        ),
        migrations.AddField(
            model_name='quotawait',
            name='run',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='waits', to='scheduler.taskrun', verbose_name='run'),
        ),
        migrations.AddConstraint(
            model_name='quotawait',
            constraint=models.UniqueConstraint(fields=('run', 'quota'), name='wait_once'),
        ),
        migrations.AddConstraint(
            model_name='quotawait',
            constraint=models.CheckConstraint(condition=models.Q(('amount__gt', 0)), name='wait_is_for_something'),
        ),
    ]
