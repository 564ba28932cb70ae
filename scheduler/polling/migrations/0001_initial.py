"""Carrier accounts, their parameters, devices, cards, checks, changes, tiers and settings.

Downgrade: reversing this migration drops the tables with all that is in them, the accounts' credentials too. The live
orders in Redis are left behind; delete the keys `tideline:polling:*`.
"""

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import project.kit.secrets
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Card',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('iccid', models.CharField(max_length=20, unique=True, verbose_name='ICCID')),
                ('msisdn', models.CharField(blank=True, max_length=20, verbose_name='MSISDN')),
                ('imsi', models.CharField(blank=True, max_length=15, verbose_name='IMSI')),
                ('polling_enabled', models.BooleanField(default=True, verbose_name='polled')),
                ('reset_day', models.PositiveSmallIntegerField(default=1, help_text='of the billing cycle; in a shorter month its last day', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(31)], verbose_name='reset day')),
                ('state', models.CharField(choices=[('unknown', 'unknown'), ('stock', 'in stock'), ('testing', 'testing'), ('ready', 'to be activated'), ('active', 'active'), ('stopped', 'stopped'), ('dormant', 'dormant'), ('expired', 'expired'), ('cancelled', 'cancelled')], default='unknown', max_length=12, verbose_name='state')),
                ('real_name_state', models.CharField(choices=[('unknown', 'unknown'), ('needed', 'to be verified'), ('verified', 'verified'), ('not_needed', 'not needed')], default='unknown', max_length=12, verbose_name='real name')),
                ('package', models.CharField(blank=True, max_length=100, verbose_name='package')),
                ('used_bytes', models.BigIntegerField(blank=True, null=True, verbose_name='used')),
                ('allowance_bytes', models.BigIntegerField(blank=True, null=True, verbose_name='allowance')),
                ('version', models.PositiveIntegerField(default=1, editable=False)),
                ('created_at', models.DateTimeField(editable=False, verbose_name='created')),
                ('updated_at', models.DateTimeField(editable=False, verbose_name='changed')),
            ],
            options={
                'verbose_name': 'card',
                'verbose_name_plural': 'cards',
                'ordering': ('-id',),
                'permissions': (('check_card', 'Can ask for checks of cards'),),
            },
        ),
        migrations.CreateModel(
            name='CarrierAccount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200, unique=True, verbose_name='name')),
                ('gateway', models.CharField(help_text='how the carrier is spoken to', max_length=40, verbose_name='gateway')),
                ('settings', models.JSONField(blank=True, default=dict, help_text='of the gateway; no secrets', verbose_name='settings')),
                ('credentials', project.kit.secrets.SecretJSONField(blank=True, default='', verbose_name='credentials')),
                ('active', models.BooleanField(default=True, help_text='off: none of its cards is polled', verbose_name='active')),
                ('held_until', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='left in peace until')),
                ('held_class', models.CharField(blank=True, choices=[('auth', 'credentials refused'), ('token_expired', 'token expired'), ('throttled', 'throttled'), ('quota_exhausted', "carrier's quota used up"), ('card_missing', 'card unknown to the carrier'), ('card_not_owned', 'card of another account'), ('state_forbids', "not possible in the card's state"), ('cooldown', 'changed too lately'), ('pending', 'accepted, not done'), ('server', "carrier's error"), ('malformed', 'answer not understood'), ('timeout', 'no answer in time'), ('network', 'not reached')], editable=False, max_length=20, verbose_name='because')),
                ('held_reason', models.TextField(blank=True, editable=False, verbose_name='reason')),
                ('hold_count', models.PositiveIntegerField(default=0, editable=False, verbose_name='holds in a row')),
                ('version', models.PositiveIntegerField(default=1, editable=False)),
                ('created_at', models.DateTimeField(editable=False, verbose_name='created')),
                ('updated_at', models.DateTimeField(editable=False, verbose_name='changed')),
            ],
            options={
                'verbose_name': 'carrier account',
                'verbose_name_plural': 'carrier accounts',
                'ordering': ('name',),
                'permissions': (('hold_carrieraccount', 'Can hold and release carrier accounts'), ('initialize_polling', 'Can rebuild the live order of polling')),
            },
        ),
        migrations.CreateModel(
            name='Device',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(max_length=100, unique=True, verbose_name='code')),
                ('name', models.CharField(blank=True, max_length=200, verbose_name='name')),
            ],
            options={
                'verbose_name': 'device',
                'verbose_name_plural': 'devices',
                'ordering': ('code',),
            },
        ),
        migrations.CreateModel(
            name='PollingTier',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField(unique=True, verbose_name='position')),
                ('name', models.CharField(max_length=100, verbose_name='name')),
                ('states', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('unknown', 'unknown'), ('stock', 'in stock'), ('testing', 'testing'), ('ready', 'to be activated'), ('active', 'active'), ('stopped', 'stopped'), ('dormant', 'dormant'), ('expired', 'expired'), ('cancelled', 'cancelled')], max_length=12), blank=True, default=list, size=None, verbose_name='states')),
                ('real_name_states', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('unknown', 'unknown'), ('needed', 'to be verified'), ('verified', 'verified'), ('not_needed', 'not needed')], max_length=12), blank=True, default=list, size=None, verbose_name='real names')),
                ('packages', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), blank=True, default=list, size=None, verbose_name='packages')),
                ('usage_from_percent', models.PositiveIntegerField(blank=True, help_text='percent', null=True, verbose_name='used from')),
                ('usage_below_percent', models.PositiveIntegerField(blank=True, help_text='percent', null=True, verbose_name='used below')),
                ('real_name_seconds', models.PositiveIntegerField(blank=True, help_text='seconds', null=True, verbose_name='real name each')),
                ('usage_seconds', models.PositiveIntegerField(blank=True, help_text='seconds', null=True, verbose_name='usage each')),
                ('card_status_seconds', models.PositiveIntegerField(blank=True, help_text='seconds', null=True, verbose_name='status each')),
                ('package_seconds', models.PositiveIntegerField(blank=True, help_text='seconds', null=True, verbose_name='package each')),
                ('version', models.PositiveIntegerField(default=1, editable=False)),
            ],
            options={
                'verbose_name': 'tier',
                'verbose_name_plural': 'tiers',
                'ordering': ('position',),
            },
        ),
        migrations.CreateModel(
            name='SystemSetting',
            fields=[
                ('key', models.CharField(max_length=100, primary_key=True, serialize=False, verbose_name='key')),
                ('value', models.JSONField(verbose_name='value')),
                ('changed_by', models.CharField(blank=True, max_length=200, verbose_name='changed by')),
                ('changed_at', models.DateTimeField(verbose_name='changed')),
                ('version', models.PositiveIntegerField(default=1, editable=False)),
            ],
            options={
                'verbose_name': 'setting',
                'verbose_name_plural': 'settings',
                'ordering': ('key',),
            },
        ),
        migrations.CreateModel(
            name='CardChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('field', models.CharField(max_length=30, verbose_name='what')),
                ('before', models.CharField(blank=True, max_length=200, verbose_name='before')),
                ('after', models.CharField(blank=True, max_length=200, verbose_name='after')),
                ('at', models.DateTimeField(verbose_name='at')),
                ('card', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='changes', to='polling.card', verbose_name='card')),
            ],
            options={
                'verbose_name': 'change',
                'verbose_name_plural': 'changes',
                'ordering': ('-id',),
            },
        ),
        migrations.CreateModel(
            name='CardCheck',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('type', models.CharField(choices=[('real_name', 'real name'), ('usage', 'usage'), ('card_status', 'card status'), ('package', 'package')], max_length=12, verbose_name='check')),
                ('value', models.JSONField(blank=True, null=True, verbose_name='value')),
                ('unit', models.CharField(blank=True, max_length=20, verbose_name='unit')),
                ('as_of', models.DateTimeField(blank=True, null=True, verbose_name='as of')),
                ('checked_at', models.DateTimeField(blank=True, null=True, verbose_name='asked')),
                ('succeeded_at', models.DateTimeField(blank=True, null=True, verbose_name='answered')),
                ('due_at', models.DateTimeField(blank=True, null=True, verbose_name='due again')),
                ('failures', models.PositiveIntegerField(default=0, verbose_name='failures in a row')),
                ('first_failed_at', models.DateTimeField(blank=True, null=True, verbose_name='fails since')),
                ('last_failed_at', models.DateTimeField(blank=True, null=True, verbose_name='failed last')),
                ('error_class', models.CharField(blank=True, choices=[('auth', 'credentials refused'), ('token_expired', 'token expired'), ('throttled', 'throttled'), ('quota_exhausted', "carrier's quota used up"), ('card_missing', 'card unknown to the carrier'), ('card_not_owned', 'card of another account'), ('state_forbids', "not possible in the card's state"), ('cooldown', 'changed too lately'), ('pending', 'accepted, not done'), ('server', "carrier's error"), ('malformed', 'answer not understood'), ('timeout', 'no answer in time'), ('network', 'not reached')], max_length=20, verbose_name='error')),
                ('error', models.TextField(blank=True, verbose_name='last error')),
                ('token', models.BigIntegerField(default=0, editable=False)),
                ('card', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='checks', to='polling.card', verbose_name='card')),
            ],
            options={
                'verbose_name': 'check',
                'verbose_name_plural': 'checks',
                'ordering': ('card', 'type'),
            },
        ),
        migrations.CreateModel(
            name='PollingParams',
            fields=[
                ('account', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='params', serialize=False, to='polling.carrieraccount', verbose_name='account')),
                ('inflight_limit', models.PositiveIntegerField(blank=True, help_text='claimed at once, waiting for a poller or being asked', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(10000)], verbose_name='cards in work')),
                ('card_max_in_flight', models.PositiveIntegerField(blank=True, help_text='by one poller', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(10000)], verbose_name='cards asked at once')),
                ('stop_resume_max_in_flight', models.PositiveIntegerField(blank=True, help_text='by a poller', null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='changes asked at once')),
                ('sr_inflight_limit', models.PositiveIntegerField(blank=True, help_text='stop and resume', null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='changes in work')),
                ('priority_max_ratio', models.DecimalField(blank=True, decimal_places=2, help_text='of the cards taken, while others are due as well: 0 to 1', max_digits=3, null=True, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)], verbose_name='share of priority')),
                ('stop_resume_min_interval', models.PositiveIntegerField(blank=True, help_text='seconds', null=True, verbose_name='between two changes of a card')),
                ('stop_resume_confirm_delay', models.PositiveIntegerField(blank=True, help_text='seconds', null=True, verbose_name='until a change is confirmed')),
                ('rate_windows', models.JSONField(blank=True, help_text='calls in seconds: [{"limit": 5, "seconds": 1}, {"limit": 2000, "seconds": 300}]; [] for none', null=True, verbose_name='rate windows')),
                ('max_concurrency', models.PositiveIntegerField(blank=True, help_text='over all pollers; empty: as many as the cards in work', null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='calls at one time')),
                ('queue', models.CharField(blank=True, help_text='such as polling.card.acme, for a poller of its own; empty: polling.card', max_length=100, verbose_name='queue of its own')),
                ('changed_by', models.CharField(blank=True, editable=False, max_length=200, verbose_name='changed by')),
                ('changed_at', models.DateTimeField(editable=False, verbose_name='changed')),
                ('version', models.PositiveIntegerField(default=1, editable=False)),
            ],
            options={
                'verbose_name': 'polling parameters',
                'verbose_name_plural': 'polling parameters',
                'ordering': ('account',),
            },
        ),
        migrations.AddConstraint(
            model_name='carrieraccount',
            constraint=models.CheckConstraint(condition=models.Q(('held_until__isnull', True), models.Q(('held_class', ''), _negated=True), _connector='OR'), name='account_hold_says_why'),
        ),
        migrations.AddField(
            model_name='card',
            name='account',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='cards', to='polling.carrieraccount', verbose_name='account'),
        ),
        migrations.AddField(
            model_name='card',
            name='device',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='cards', to='polling.device', verbose_name='device'),
        ),
        migrations.AddConstraint(
            model_name='pollingtier',
            constraint=models.CheckConstraint(condition=models.Q(('real_name_seconds__isnull', True), ('real_name_seconds__gt', 0), _connector='OR'), name='tier_real_name_takes_time'),
        ),
        migrations.AddConstraint(
            model_name='pollingtier',
            constraint=models.CheckConstraint(condition=models.Q(('usage_seconds__isnull', True), ('usage_seconds__gt', 0), _connector='OR'), name='tier_usage_takes_time'),
        ),
        migrations.AddConstraint(
            model_name='pollingtier',
            constraint=models.CheckConstraint(condition=models.Q(('card_status_seconds__isnull', True), ('card_status_seconds__gt', 0), _connector='OR'), name='tier_card_status_takes_time'),
        ),
        migrations.AddConstraint(
            model_name='pollingtier',
            constraint=models.CheckConstraint(condition=models.Q(('package_seconds__isnull', True), ('package_seconds__gt', 0), _connector='OR'), name='tier_package_takes_time'),
        ),
        migrations.AddIndex(
            model_name='cardchange',
            index=models.Index(models.F('card'), models.OrderBy(models.F('id'), descending=True), name='change_latest'),
        ),
        migrations.AddIndex(
            model_name='cardcheck',
            index=models.Index(condition=models.Q(('failures__gt', 0)), fields=['card'], name='check_that_fails'),
        ),
        migrations.AddConstraint(
            model_name='cardcheck',
            constraint=models.UniqueConstraint(fields=('card', 'type'), name='check_once'),
        ),
        migrations.AddConstraint(
            model_name='cardcheck',
            constraint=models.CheckConstraint(condition=models.Q(('type__in', ['real_name', 'usage', 'card_status', 'package'])), name='check_type_is_known'),
        ),
        migrations.AddConstraint(
            model_name='cardcheck',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('failures', 0), ('first_failed_at__isnull', True)), models.Q(('failures__gt', 0), ('first_failed_at__isnull', False)), _connector='OR'), name='check_fails_since'),
        ),
        migrations.AddConstraint(
            model_name='pollingparams',
            constraint=models.CheckConstraint(condition=models.Q(('priority_max_ratio__isnull', True), models.Q(('priority_max_ratio__gte', 0), ('priority_max_ratio__lte', 1)), _connector='OR'), name='params_priority_is_a_share'),
        ),
        migrations.AddIndex(
            model_name='card',
            index=models.Index(fields=['account', 'id'], name='card_of_account'),
        ),
        migrations.AddIndex(
            model_name='card',
            index=models.Index(condition=models.Q(('msisdn', ''), _negated=True), fields=['msisdn'], name='card_by_number'),
        ),
        migrations.AddIndex(
            model_name='card',
            index=models.Index(condition=models.Q(('imsi', ''), _negated=True), fields=['imsi'], name='card_by_imsi'),
        ),
        migrations.AddConstraint(
            model_name='card',
            constraint=models.CheckConstraint(condition=models.Q(('reset_day__gte', 1), ('reset_day__lte', 31)), name='card_reset_day_is_one'),
        ),
        migrations.AddConstraint(
            model_name='card',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['unknown', 'stock', 'testing', 'ready', 'active', 'stopped', 'dormant', 'expired', 'cancelled'])), name='card_state_is_known'),
        ),
        migrations.AddConstraint(
            model_name='card',
            constraint=models.CheckConstraint(condition=models.Q(('real_name_state__in', ['unknown', 'needed', 'verified', 'not_needed'])), name='card_real_name_is_known'),
        ),
        # Each check writes its row: room on the page keeps it there, and no index has to follow.
        migrations.RunSQL(
            'ALTER TABLE polling_cardcheck SET (fillfactor = 70); ALTER TABLE polling_card SET (fillfactor = 80)',
            'ALTER TABLE polling_cardcheck RESET (fillfactor); ALTER TABLE polling_card RESET (fillfactor)',
        ),
    ]
