"""Alerts, their events, channels, deliveries and silences.

Downgrade: reversing this migration drops the tables with all that is in them, the channels' secrets too.
"""

import django.db.models.deletion
import project.kit.secrets
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Alert',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=50, verbose_name='kind')),
                ('severity', models.CharField(choices=[('info', 'info'), ('warning', 'warning'), ('critical', 'critical')], max_length=10, verbose_name='severity')),
                ('fingerprint', models.CharField(max_length=250, verbose_name='fingerprint')),
                ('subject', models.CharField(blank=True, max_length=200, verbose_name='subject')),
                ('title', models.CharField(max_length=300, verbose_name='title')),
                ('sentence', models.TextField(blank=True, verbose_name='what happened')),
                ('labels', models.JSONField(blank=True, default=dict, verbose_name='labels')),
                ('url', models.CharField(blank=True, max_length=500, verbose_name='where to look')),
                ('state', models.CharField(choices=[('open', 'open'), ('acknowledged', 'acknowledged'), ('resolved', 'resolved')], default='open', max_length=12, verbose_name='state')),
                ('first_at', models.DateTimeField(verbose_name='first')),
                ('last_at', models.DateTimeField(verbose_name='last')),
                ('count', models.PositiveIntegerField(default=1, verbose_name='occurrences')),
                ('well_count', models.PositiveIntegerField(default=0)),
                ('told_at', models.DateTimeField(blank=True, null=True, verbose_name='last told')),
                ('untold', models.CharField(blank=True, max_length=300, verbose_name='not told')),
                ('handler', models.CharField(blank=True, max_length=200, verbose_name='handled by')),
                ('note', models.TextField(blank=True, verbose_name='note')),
                ('resolved_at', models.DateTimeField(blank=True, null=True, verbose_name='resolved')),
                ('resolved_by', models.CharField(blank=True, max_length=200, verbose_name='resolved by')),
                ('parent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='children', to='alerts.alert', verbose_name='part of')),
            ],
            options={
                'verbose_name': 'alert',
                'verbose_name_plural': 'alerts',
                'ordering': ('-last_at',),
                'permissions': (('handle_alert', 'Can acknowledge and resolve alerts'),),
            },
        ),
        migrations.CreateModel(
            name='Channel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200, unique=True, verbose_name='name')),
                ('enabled', models.BooleanField(default=True, verbose_name='enabled')),
                ('format', models.CharField(blank=True, help_text='empty: by the address', max_length=20, verbose_name='format')),
                ('address', project.kit.secrets.SecretField(help_text='it often holds a token, so it is kept like a secret', verbose_name='address')),
                ('address_shown', models.CharField(blank=True, editable=False, max_length=300, verbose_name='goes to')),
                ('secrets', project.kit.secrets.SecretField(blank=True, default='', help_text='one a line, the present one first', verbose_name='signing secrets')),
                ('keyword', models.CharField(blank=True, help_text="what the group's filter wants in each message", max_length=100, verbose_name='keyword')),
                ('kinds', models.JSONField(blank=True, default=list, verbose_name='kinds')),
                ('least_severity', models.CharField(choices=[('info', 'info'), ('warning', 'warning'), ('critical', 'critical')], default='warning', max_length=10, verbose_name='from this severity')),
                ('labels', models.JSONField(blank=True, default=dict, verbose_name='labels')),
                ('repeat_hours', models.PositiveIntegerField(blank=True, help_text='while an alert is open; empty: never', null=True, verbose_name='repeat after hours')),
                ('quiet_from', models.TimeField(blank=True, null=True, verbose_name='quiet from')),
                ('quiet_until', models.TimeField(blank=True, null=True, verbose_name='quiet until')),
                ('timezone', models.CharField(default='UTC', max_length=64, verbose_name='time zone')),
                ('retry_ambiguous', models.BooleanField(default=False, help_text='when nobody can know whether a message arrived; it may then arrive twice', verbose_name='try again when unknown')),
                ('sender_token', models.PositiveBigIntegerField(default=0, editable=False)),
                ('sending_until', models.DateTimeField(editable=False, null=True)),
                ('not_before', models.DateTimeField(editable=False, null=True, verbose_name='waits until')),
                ('failures', models.PositiveIntegerField(default=0, editable=False, verbose_name='failures in a row')),
                ('last_sent_at', models.DateTimeField(editable=False, null=True, verbose_name='last sent')),
                ('last_error', models.TextField(blank=True, editable=False, verbose_name='last error')),
                ('version', models.PositiveIntegerField(default=1, editable=False)),
                ('created_at', models.DateTimeField(editable=False, verbose_name='created')),
                ('updated_at', models.DateTimeField(editable=False, verbose_name='changed')),
            ],
            options={
                'verbose_name': 'channel',
                'verbose_name_plural': 'channels',
                'ordering': ('name',),
                'permissions': (('test_channel', 'Can send a test message'),),
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('quiet_from__isnull', True), ('quiet_until__isnull', True)), models.Q(('quiet_from__isnull', False), ('quiet_until__isnull', False), models.Q(('quiet_from', models.F('quiet_until')), _negated=True)), _connector='OR'), name='channel_quiet_has_two_ends')],
            },
        ),
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('waiting', 'waiting'), ('sending', 'being sent'), ('sent', 'sent'), ('failed', 'failed for good'), ('unknown', 'unknown whether it arrived'), ('dropped', 'not told')], default='waiting', max_length=10, verbose_name='state')),
                ('due_at', models.DateTimeField(verbose_name='due at')),
                ('tries', models.PositiveIntegerField(default=0, verbose_name='tries')),
                ('token', models.PositiveBigIntegerField(blank=True, null=True)),
                ('outcome', models.CharField(blank=True, choices=[('sent', 'sent'), ('permanent', 'failed for good'), ('retry', 'to be tried again'), ('ambiguous', 'unknown')], max_length=10, verbose_name='outcome')),
                ('code', models.CharField(blank=True, max_length=50, verbose_name='code')),
                ('meaning', models.TextField(blank=True, verbose_name='meaning')),
                ('ended_at', models.DateTimeField(blank=True, null=True, verbose_name='ended')),
                ('after', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='followers', to='alerts.delivery', verbose_name='after')),
                ('channel', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='alerts.channel', verbose_name='channel')),
                ('told_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='told', to='alerts.delivery', verbose_name='told in the digest of')),
            ],
            options={
                'verbose_name': 'delivery',
                'verbose_name_plural': 'deliveries',
                'ordering': ('-id',),
            },
        ),
        migrations.CreateModel(
            name='DeliveryTry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(verbose_name='at')),
                ('outcome', models.CharField(blank=True, choices=[('sent', 'sent'), ('permanent', 'failed for good'), ('retry', 'to be tried again'), ('ambiguous', 'unknown')], max_length=10, verbose_name='outcome')),
                ('status', models.PositiveSmallIntegerField(blank=True, null=True, verbose_name='status')),
                ('code', models.CharField(blank=True, max_length=50, verbose_name='code')),
                ('meaning', models.TextField(blank=True, verbose_name='meaning')),
                ('milliseconds', models.PositiveIntegerField(blank=True, null=True, verbose_name='milliseconds')),
                ('channel', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='alerts.channel', verbose_name='channel')),
                ('delivery', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='attempts', to='alerts.delivery', verbose_name='delivery')),
            ],
            options={
                'verbose_name': 'try',
                'verbose_name_plural': 'tries',
                'ordering': ('-id',),
            },
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('telling', models.CharField(choices=[('opened', 'opened'), ('repeated', 'still open'), ('recovered', 'recovered'), ('flapping', 'flapping'), ('notice', 'notice'), ('digest', 'digest'), ('test', 'test')], max_length=10, verbose_name='tells')),
                ('kind', models.CharField(max_length=50, verbose_name='kind')),
                ('severity', models.CharField(choices=[('info', 'info'), ('warning', 'warning'), ('critical', 'critical')], max_length=10, verbose_name='severity')),
                ('title', models.CharField(max_length=300, verbose_name='title')),
                ('text', models.TextField(blank=True, verbose_name='text')),
                ('facts', models.JSONField(blank=True, default=list, verbose_name='facts')),
                ('url', models.CharField(blank=True, max_length=500, verbose_name='where to look')),
                ('labels', models.JSONField(blank=True, default=dict, verbose_name='labels')),
                ('at', models.DateTimeField(verbose_name='at')),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('alert', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='events', to='alerts.alert', verbose_name='alert')),
            ],
            options={
                'verbose_name': 'event',
                'verbose_name_plural': 'events',
                'ordering': ('-at',),
            },
        ),
        migrations.AddField(
            model_name='delivery',
            name='event',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='alerts.event', verbose_name='event'),
        ),
        migrations.CreateModel(
            name='Silence',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(blank=True, help_text='empty: every kind', max_length=50, verbose_name='kind')),
                ('labels', models.JSONField(blank=True, default=dict, help_text='an alert has to have all of them; empty: any', verbose_name='labels')),
                ('starts_at', models.DateTimeField(verbose_name='from')),
                ('ends_at', models.DateTimeField(verbose_name='until')),
                ('reason', models.CharField(max_length=300, verbose_name='reason')),
                ('created_by', models.CharField(blank=True, editable=False, max_length=200, verbose_name='by')),
            ],
            options={
                'verbose_name': 'silence',
                'verbose_name_plural': 'silences',
                'ordering': ('-ends_at',),
                'indexes': [models.Index(fields=['ends_at'], name='silence_in_force')],
                'constraints': [models.CheckConstraint(condition=models.Q(('ends_at__gt', models.F('starts_at'))), name='silence_ends'), models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='silence_says_why')],
            },
        ),
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(models.F('fingerprint'), models.OrderBy(models.F('first_at'), descending=True), name='alert_opened_lately'),
        ),
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(condition=models.Q(('state', 'open')), fields=['told_at'], name='alert_is_open'),
        ),
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(models.OrderBy(models.F('last_at'), descending=True), name='alert_latest'),
        ),
        migrations.AddConstraint(
            model_name='alert',
            constraint=models.UniqueConstraint(condition=models.Q(('resolved_at__isnull', True)), fields=('fingerprint',), name='alert_open_once'),
        ),
        migrations.AddConstraint(
            model_name='alert',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('resolved_at__isnull', False), ('state', 'resolved')), models.Q(models.Q(('state', 'resolved'), _negated=True), ('resolved_at__isnull', True)), _connector='OR'), name='alert_resolved_says_when'),
        ),
        migrations.AddConstraint(
            model_name='alert',
            constraint=models.CheckConstraint(condition=models.Q(('severity__in', ['info', 'warning', 'critical'])), name='alert_severity_is_known'),
        ),
        migrations.AddIndex(
            model_name='deliverytry',
            index=models.Index(models.F('channel'), models.OrderBy(models.F('at'), descending=True), name='try_latest_of_channel'),
        ),
        migrations.AddIndex(
            model_name='event',
            index=models.Index(condition=models.Q(('ended_at__isnull', True), ('telling', 'flapping')), fields=['at'], name='event_is_flapping'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('state__in', ['waiting', 'sending'])), fields=['channel', 'due_at', 'id'], name='delivery_awaits_its_channel'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(models.F('channel'), models.OrderBy(models.F('id'), descending=True), name='delivery_latest_of_channel'),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.UniqueConstraint(fields=('event', 'channel'), name='delivery_once'),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['waiting', 'sending', 'sent', 'failed', 'unknown', 'dropped'])), name='delivery_state_is_known'),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('ended_at__isnull', True), ('state__in', ['waiting', 'sending'])), models.Q(models.Q(('state__in', ['waiting', 'sending']), _negated=True), ('ended_at__isnull', False)), _connector='OR'), name='delivery_ended_says_when'),
        ),
    ]
