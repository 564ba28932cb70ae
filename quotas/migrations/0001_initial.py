"""Quotas, their ledger, reservations, verdicts and edges.

Downgrade: reversing this migration drops the tables with all that is in them, the ledger too; migrate `scheduler` back
to 0007 first, for its runs refer to quotas.
"""

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
from decimal import Decimal
from django.db import migrations, models

import project.kit.secrets


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Quota',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(help_text='by which jobs charge it', max_length=200, unique=True, verbose_name='key')),
                ('title', models.CharField(blank=True, max_length=200, verbose_name='title')),
                ('description', models.TextField(blank=True, verbose_name='description')),
                ('kind', models.CharField(choices=[('periodic', 'periodic: resets by the clock'), ('capacity', 'capacity: is topped up'), ('rate', 'rate: refills evenly')], default='periodic', max_length=10, verbose_name='kind')),
                ('limit', models.BigIntegerField(blank=True, help_text='in whole units; empty: unlimited, 0: blocks', null=True, validators=[django.core.validators.MinValueValidator(0)], verbose_name='limit')),
                ('unit', models.CharField(blank=True, help_text='for example: calls, tokens', max_length=50, verbose_name='unit')),
                ('ancestors', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, default=list, editable=False, size=None)),
                ('reset_preset', models.CharField(blank=True, choices=[('hour', 'hour'), ('day', 'day'), ('week', 'week'), ('month', 'month'), ('cron', 'cron expression')], max_length=10, verbose_name='resets each')),
                ('reset_time', models.TimeField(blank=True, help_text='wall-clock time; empty: midnight', null=True, verbose_name='at')),
                ('reset_weekday', models.PositiveSmallIntegerField(default=0, help_text='0 is Monday', validators=[django.core.validators.MaxValueValidator(6)], verbose_name='weekday')),
                ('reset_day', models.PositiveSmallIntegerField(default=1, help_text='in a shorter month its last day', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(31)], verbose_name='day of the month')),
                ('reset_cron', models.CharField(blank=True, max_length=200, verbose_name='cron expression')),
                ('timezone', models.CharField(default='UTC', help_text='an IANA name', max_length=64, verbose_name='time zone')),
                ('refill_amount', models.PositiveBigIntegerField(blank=True, help_text='so many units, up to the limit,', null=True, verbose_name='refills')),
                ('refill_seconds', models.PositiveIntegerField(blank=True, null=True, verbose_name='in seconds')),
                ('default_step', models.PositiveBigIntegerField(default=1, help_text='what a run is taken to need where nothing else is known', validators=[django.core.validators.MinValueValidator(1)], verbose_name='usual need')),
                ('resume_threshold', models.DecimalField(decimal_places=3, default=Decimal('0.1'), help_text='the part of the limit above which paused runs go on', max_digits=4, validators=[django.core.validators.MinValueValidator(Decimal('0')), django.core.validators.MaxValueValidator(Decimal('0.999'))], verbose_name='resume threshold')),
                ('stable_seconds', models.PositiveIntegerField(default=10, help_text='so long it has to stay above the threshold when it comes back bit by bit', verbose_name='stable for seconds')),
                ('stable_after_reset_seconds', models.PositiveIntegerField(default=0, help_text='the same after a reset, top-up or limit change', verbose_name='stable after a reset for seconds')),
                ('spread_seconds', models.PositiveIntegerField(default=2, help_text='so that they do not all start in one instant', verbose_name='spread resumes over seconds')),
                ('patience_seconds', models.PositiveIntegerField(default=600, help_text='after so long smaller needs no longer pass a bigger one that waits', verbose_name='patience in seconds')),
                ('shadow', models.BooleanField(default=False, help_text='count and report, never block', verbose_name='shadow mode')),
                ('probe_url', models.URLField(blank=True, max_length=500, verbose_name='usage endpoint')),
                ('probe_headers', project.kit.secrets.SecretJSONField(blank=True, default='', verbose_name='its headers')),
                ('probe_remaining', models.CharField(blank=True, help_text='JMESPath', max_length=200, verbose_name='remaining')),
                ('probe_limit', models.CharField(blank=True, help_text='JMESPath', max_length=200, verbose_name='limit')),
                ('probe_reset', models.CharField(blank=True, help_text='JMESPath', max_length=200, verbose_name='reset')),
                ('poll_floor_seconds', models.PositiveIntegerField(default=30, validators=[django.core.validators.MinValueValidator(1)], verbose_name='poll at most every seconds')),
                ('poll_ceiling_seconds', models.PositiveIntegerField(default=3600, validators=[django.core.validators.MinValueValidator(1)], verbose_name='poll at least every seconds')),
                ('used', models.BigIntegerField(default=0, editable=False, verbose_name='used')),
                ('reserved', models.BigIntegerField(default=0, editable=False, verbose_name='reserved')),
                ('spent_total', models.BigIntegerField(default=0, editable=False)),
                ('over_limit_count', models.PositiveBigIntegerField(default=0, editable=False, verbose_name='would have been refused')),
                ('period_start', models.DateTimeField(editable=False, null=True)),
                ('period_end', models.DateTimeField(editable=False, null=True, verbose_name='resets at')),
                ('refilled_at', models.DateTimeField(editable=False, null=True)),
                ('quiet_below', models.BigIntegerField(editable=False, null=True)),
                ('warned_percent', models.PositiveSmallIntegerField(default=0, editable=False)),
                ('verdict', models.CharField(choices=[('sufficient', 'sufficient'), ('insufficient', 'insufficient')], default='sufficient', editable=False, max_length=12, verbose_name='verdict')),
                ('verdict_at', models.DateTimeField(editable=False, verbose_name='since')),
                ('above_since', models.DateTimeField(editable=False, null=True)),
                ('above_cause', models.CharField(blank=True, choices=[('reset', 'reset'), ('top_up', 'top-up'), ('limit_change', 'limit change'), ('refund', 'refund'), ('reservation_freed', 'reservation freed'), ('refill', 'refill'), ('provider', "the provider's report"), ('spending', 'spending'), ('poll', 'fallback poll')], editable=False, max_length=20)),
                ('calm_until', models.DateTimeField(editable=False, null=True)),
                ('waited_for', models.BigIntegerField(editable=False, null=True)),
                ('waited_since', models.DateTimeField(editable=False, null=True)),
                ('waited_met', models.BooleanField(default=False, editable=False)),
                ('evaluate_at', models.DateTimeField(editable=False, null=True)),
                ('next_check_at', models.DateTimeField(editable=False, null=True, verbose_name='next fallback check')),
                ('provider_limit', models.BigIntegerField(editable=False, null=True, verbose_name='limit by the provider')),
                ('provider_remaining', models.BigIntegerField(editable=False, null=True, verbose_name='remaining by the provider')),
                ('provider_resets_at', models.DateTimeField(editable=False, null=True, verbose_name='resets by the provider')),
                ('provider_observed_at', models.DateTimeField(editable=False, null=True, verbose_name='observed')),
                ('provider_spent_at_observation', models.BigIntegerField(default=0, editable=False)),
                ('blocked_until', models.DateTimeField(editable=False, null=True, verbose_name='refused until')),
                ('blocked_without_reset', models.BooleanField(default=False, editable=False)),
                ('blocked_count', models.PositiveIntegerField(default=0, editable=False)),
                ('provider_unverified', models.BooleanField(default=False, editable=False, verbose_name='unverified')),
                ('trial_owner', models.CharField(blank=True, editable=False, max_length=200)),
                ('trial_until', models.DateTimeField(editable=False, null=True)),
                ('version', models.PositiveIntegerField(default=1, editable=False)),
                ('created_at', models.DateTimeField(editable=False, verbose_name='created')),
                ('updated_at', models.DateTimeField(editable=False, verbose_name='changed')),
                ('parent', models.ForeignKey(blank=True, help_text='a charge has to fit there as well, and in whatever that is part of', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='children', to='quotas.quota', verbose_name='part of')),
            ],
            options={
                'verbose_name': 'quota',
                'verbose_name_plural': 'quotas',
                'ordering': ('key',),
                'permissions': (('top_up_quota', 'Can top up a quota or change its limit'), ('refund_quota', 'Can refund a charge')),
            },
        ),
        migrations.CreateModel(
            name='ProviderReport',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(verbose_name='at')),
                ('limited', models.BooleanField(default=False, verbose_name='refused')),
                ('status', models.PositiveSmallIntegerField(blank=True, null=True, verbose_name='status')),
                ('limit', models.BigIntegerField(blank=True, null=True, verbose_name='limit')),
                ('remaining', models.BigIntegerField(blank=True, null=True, verbose_name='remaining')),
                ('resets_at', models.DateTimeField(blank=True, null=True, verbose_name='resets at')),
                ('retry_at', models.DateTimeField(blank=True, null=True, verbose_name='retry at')),
                ('doubts', models.TextField(blank=True, verbose_name='what made no sense')),
                ('quota', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='reports', to='quotas.quota', verbose_name='quota')),
            ],
            options={
                'verbose_name': 'provider report',
                'verbose_name_plural': 'provider reports',
                'ordering': ('-id',),
            },
        ),
        migrations.CreateModel(
            name='LedgerEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('charge', 'charge'), ('refund', 'refund'), ('top_up', 'top-up'), ('limit', 'limit set'), ('reset', 'reset'), ('refill', 'refill')], max_length=10, verbose_name='kind')),
                ('idempotency_key', models.CharField(max_length=250, verbose_name='idempotency key')),
                ('units', models.BigIntegerField(verbose_name='units')),
                ('amount', models.BigIntegerField(verbose_name='change of the balance')),
                ('owner', models.CharField(blank=True, max_length=200, verbose_name='for')),
                ('attempt', models.PositiveIntegerField(blank=True, null=True, verbose_name='attempt')),
                ('refund_on_failure', models.BooleanField(default=False)),
                ('over_limit', models.BooleanField(default=False, verbose_name='over the limit')),
                ('at', models.DateTimeField(verbose_name='at')),
                ('actor', models.CharField(blank=True, max_length=200, verbose_name='by')),
                ('reason', models.TextField(blank=True, verbose_name='reason')),
                ('charged', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='quotas.quota', verbose_name='charged')),
                ('quota', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='entries', to='quotas.quota', verbose_name='quota')),
            ],
            options={
                'verbose_name': 'ledger entry',
                'verbose_name_plural': 'ledger',
                'ordering': ('-id',),
            },
        ),
        migrations.CreateModel(
            name='Edge',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('cause', models.CharField(choices=[('reset', 'reset'), ('top_up', 'top-up'), ('limit_change', 'limit change'), ('refund', 'refund'), ('reservation_freed', 'reservation freed'), ('refill', 'refill'), ('provider', "the provider's report"), ('spending', 'spending'), ('poll', 'fallback poll')], max_length=20, verbose_name='cause')),
                ('available', models.BigIntegerField(blank=True, null=True, verbose_name='available')),
                ('at', models.DateTimeField(verbose_name='at')),
                ('handled_at', models.DateTimeField(blank=True, null=True, verbose_name='handled')),
                ('resumed_count', models.PositiveIntegerField(default=0, verbose_name='resumed runs')),
                ('quota', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='edges', to='quotas.quota', verbose_name='quota')),
            ],
            options={
                'verbose_name': 'edge',
                'verbose_name_plural': 'edges',
                'ordering': ('-id',),
            },
        ),
        migrations.CreateModel(
            name='Reservation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('idempotency_key', models.CharField(max_length=250, verbose_name='idempotency key')),
                ('purpose', models.CharField(choices=[('work', 'work that will settle it'), ('admission', 'a resumed run, until it charges')], default='work', max_length=10, verbose_name='purpose')),
                ('amount', models.BigIntegerField(verbose_name='amount')),
                ('owner', models.CharField(blank=True, max_length=200, verbose_name='for')),
                ('attempt', models.PositiveIntegerField(blank=True, null=True, verbose_name='attempt')),
                ('state', models.CharField(choices=[('held', 'held'), ('settled', 'settled'), ('released', 'released'), ('expired', 'expired')], default='held', max_length=10, verbose_name='state')),
                ('settled_amount', models.BigIntegerField(blank=True, null=True, verbose_name='settled')),
                ('lease_seconds', models.PositiveIntegerField()),
                ('expires_at', models.DateTimeField(verbose_name='expires')),
                ('created_at', models.DateTimeField(verbose_name='reserved')),
                ('ended_at', models.DateTimeField(blank=True, null=True, verbose_name='ended')),
                ('quota', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='reservations', to='quotas.quota', verbose_name='quota')),
            ],
            options={
                'verbose_name': 'reservation',
                'verbose_name_plural': 'reservations',
                'ordering': ('-id',),
            },
        ),
        migrations.CreateModel(
            name='TenantTurn',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('tenant', models.CharField(max_length=200, verbose_name='tenant')),
                ('served_at', models.DateTimeField(verbose_name='last served')),
                ('quota', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='turns', to='quotas.quota', verbose_name='quota')),
            ],
            options={
                'verbose_name': 'turn',
                'verbose_name_plural': 'turns',
            },
        ),
        migrations.AddIndex(
            model_name='quota',
            index=models.Index(condition=models.Q(('evaluate_at__isnull', False)), fields=['evaluate_at'], name='quota_verdict_is_due'),
        ),
        migrations.AddIndex(
            model_name='quota',
            index=models.Index(condition=models.Q(('next_check_at__isnull', False)), fields=['next_check_at'], name='quota_check_is_due'),
        ),
        migrations.AddIndex(
            model_name='quota',
            index=models.Index(condition=models.Q(('provider_unverified', True)), fields=['id'], name='quota_awaits_a_trial'),
        ),
        migrations.AddConstraint(
            model_name='quota',
            constraint=models.CheckConstraint(condition=models.Q(('limit__isnull', True), ('limit__gte', 0), _connector='OR'), name='quota_limit_is_no_debt'),
        ),
        migrations.AddConstraint(
            model_name='quota',
            constraint=models.CheckConstraint(condition=models.Q(('reserved__gte', 0), ('used__gte', 0)), name='quota_counts_from_zero'),
        ),
        migrations.AddConstraint(
            model_name='quota',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['periodic', 'capacity', 'rate'])), name='quota_kind_is_known'),
        ),
        migrations.AddConstraint(
            model_name='quota',
            constraint=models.CheckConstraint(condition=models.Q(('verdict__in', ['sufficient', 'insufficient'])), name='quota_verdict_is_known'),
        ),
        migrations.AddConstraint(
            model_name='quota',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind', 'periodic'), ('period_end__gt', models.F('period_start')), ('period_start__isnull', False), models.Q(('reset_preset', ''), _negated=True)), models.Q(('kind', 'capacity'), ('period_start__isnull', True)), models.Q(('kind', 'rate'), ('period_start__isnull', True), ('refill_amount__gt', 0), ('refill_seconds__gt', 0), ('refilled_at__isnull', False)), _connector='OR'), name='quota_has_its_rule'),
        ),
        migrations.AddIndex(
            model_name='providerreport',
            index=models.Index(models.F('quota'), models.OrderBy(models.F('at'), descending=True), name='report_latest_of_quota'),
        ),
        migrations.AddIndex(
            model_name='ledgerentry',
            index=models.Index(models.F('quota'), models.OrderBy(models.F('id'), descending=True), name='entry_latest_of_quota'),
        ),
        migrations.AddIndex(
            model_name='ledgerentry',
            index=models.Index(condition=models.Q(('refund_on_failure', True)), fields=['owner', 'attempt'], name='entry_may_be_unused'),
        ),
        migrations.AddConstraint(
            model_name='ledgerentry',
            constraint=models.UniqueConstraint(fields=('charged', 'idempotency_key', 'kind', 'quota'), name='entry_once'),
        ),
        migrations.AddConstraint(
            model_name='ledgerentry',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['charge', 'refund', 'top_up', 'limit', 'reset', 'refill'])), name='entry_kind_is_known'),
        ),
        migrations.AddIndex(
            model_name='edge',
            index=models.Index(condition=models.Q(('handled_at__isnull', True)), fields=['id'], name='edge_awaits_handling'),
        ),
        migrations.AddIndex(
            model_name='edge',
            index=models.Index(models.F('quota'), models.OrderBy(models.F('at'), descending=True), name='edge_latest_of_quota'),
        ),
        migrations.AddIndex(
            model_name='reservation',
            index=models.Index(condition=models.Q(('state', 'held')), fields=['expires_at'], name='reservation_may_be_expired'),
        ),
        migrations.AddIndex(
            model_name='reservation',
            index=models.Index(condition=models.Q(('state', 'held')), fields=['owner'], name='reservation_held_for'),
        ),
        migrations.AddConstraint(
            model_name='reservation',
            constraint=models.UniqueConstraint(fields=('quota', 'idempotency_key'), name='reservation_once'),
        ),
        migrations.AddConstraint(
            model_name='reservation',
            constraint=models.CheckConstraint(condition=models.Q(('amount__gt', 0)), name='reservation_holds_something'),
        ),
        migrations.AddConstraint(
            model_name='reservation',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('ended_at__isnull', True), ('state', 'held')), models.Q(models.Q(('state', 'held'), _negated=True), ('ended_at__isnull', False)), _connector='OR'), name='reservation_ended_says_when'),
        ),
        migrations.AddConstraint(
            model_name='tenantturn',
            constraint=models.UniqueConstraint(fields=('quota', 'tenant'), name='turn_once'),
        ),
    ]
