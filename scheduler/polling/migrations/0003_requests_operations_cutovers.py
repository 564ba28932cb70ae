"""Requests by events, looks that confirm, stops and resumes of cards, and cut-overs.

Downgrade: reversing this migration drops these tables with all that is in them. Change back to the mode `carrier` first.
"""

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('polling', '0002_held_by_a_person'),
    ]

    operations = [
        migrations.CreateModel(
            name='CardOperation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('stop', 'stop'), ('resume', 'resume')], max_length=10, verbose_name='what')),
                ('reason', models.TextField(verbose_name='why')),
                ('actor', models.CharField(max_length=200, verbose_name='asked by')),
                ('idempotency_key', models.CharField(max_length=200, unique=True, verbose_name='idempotency key')),
                ('state', models.CharField(choices=[('waiting', 'waiting'), ('sending', 'being asked'), ('accepted', 'accepted, not seen yet'), ('done', 'done'), ('failed', 'failed'), ('unconfirmed', 'accepted, never seen'), ('unknown', 'unknown whether it was accepted'), ('cancelled', 'cancelled')], default='waiting', max_length=12, verbose_name='state')),
                ('created_at', models.DateTimeField(verbose_name='asked at')),
                ('due_at', models.DateTimeField(verbose_name='due')),
                ('sent_at', models.DateTimeField(blank=True, null=True, verbose_name='sent')),
                ('accepted_at', models.DateTimeField(blank=True, null=True, verbose_name='accepted')),
                ('ended_at', models.DateTimeField(blank=True, null=True, verbose_name='ended')),
                ('tries', models.PositiveIntegerField(default=0, verbose_name='tries')),
                ('token', models.PositiveBigIntegerField(default=0, editable=False)),
                ('lease_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('error_class', models.CharField(blank=True, choices=[('auth', 'credentials refused'), ('token_expired', 'token expired'), ('throttled', 'throttled'), ('quota_exhausted', "carrier's quota used up"), ('card_missing', 'card unknown to the carrier'), ('card_not_owned', 'card of another account'), ('state_forbids', "not possible in the card's state"), ('cooldown', 'changed too lately'), ('pending', 'accepted, not done'), ('server', "carrier's error"), ('malformed', 'answer not understood'), ('timeout', 'no answer in time'), ('network', 'not reached')], max_length=20, verbose_name='error')),
                ('error', models.TextField(blank=True, verbose_name='what the carrier said')),
                ('version', models.PositiveIntegerField(default=1, editable=False)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='operations', to='polling.carrieraccount', verbose_name='account')),
                ('card', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='operations', to='polling.card', verbose_name='card')),
            ],
            options={
                'verbose_name': 'stop or resume',
                'verbose_name_plural': 'stops and resumes',
                'ordering': ('-id',),
                'permissions': (('operate_card', 'Can stop and resume cards'),),
            },
        ),
        migrations.CreateModel(
            name='CheckScene',
            fields=[
                ('code', models.SlugField(max_length=40, primary_key=True, serialize=False, verbose_name='code')),
                ('name', models.CharField(max_length=100, verbose_name='name')),
                ('kind', models.CharField(choices=[('event', 'business event'), ('read', 'page opened')], max_length=10, verbose_name='kind')),
                ('active', models.BooleanField(default=True, help_text='off: it asks for nothing', verbose_name='active')),
                ('types', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('real_name', 'real name'), ('usage', 'usage'), ('card_status', 'card status'), ('package', 'package')], max_length=12), size=None, verbose_name='checks')),
                ('confirm_delays', django.contrib.postgres.fields.ArrayField(base_field=models.PositiveIntegerField(validators=[django.core.validators.MinValueValidator(1)]), blank=True, default=list, help_text='seconds from the end of the check before, separated by commas: 60, 300', size=None, verbose_name='looks again after')),
                ('cooldown_seconds', models.PositiveIntegerField(default=0, help_text='seconds in which it asks for the same card once', verbose_name='cooldown')),
                ('changed_by', models.CharField(blank=True, editable=False, max_length=200, verbose_name='changed by')),
                ('changed_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='changed')),
                ('version', models.PositiveIntegerField(default=1, editable=False)),
            ],
            options={
                'verbose_name': 'scene',
                'verbose_name_plural': 'scenes',
                'ordering': ('kind', 'code'),
                'constraints': [models.CheckConstraint(condition=models.Q(('types__len__gt', 0)), name='scene_asks_for_something')],
            },
        ),
        migrations.CreateModel(
            name='CheckRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('event_id', models.CharField(max_length=200, unique=True, verbose_name='event')),
                ('actor', models.CharField(max_length=200, verbose_name='asked by')),
                ('card_ids', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None, verbose_name='cards')),
                ('expected', models.JSONField(blank=True, default=dict, verbose_name='expected')),
                ('at', models.DateTimeField(verbose_name='at')),
                ('asked_at', models.DateTimeField(blank=True, null=True, verbose_name='passed on')),
                ('outcome', models.JSONField(blank=True, default=dict, verbose_name='outcome')),
                ('scene', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='requests', to='polling.checkscene', verbose_name='scene')),
            ],
            options={
                'verbose_name': 'request',
                'verbose_name_plural': 'requests',
                'ordering': ('-id',),
            },
        ),
        migrations.CreateModel(
            name='Confirmation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('type', models.CharField(choices=[('real_name', 'real name'), ('usage', 'usage'), ('card_status', 'card status'), ('package', 'package')], max_length=12, verbose_name='check')),
                ('expected', models.JSONField(blank=True, null=True, verbose_name='expected')),
                ('delays', django.contrib.postgres.fields.ArrayField(base_field=models.PositiveIntegerField(), size=None, verbose_name='looks after')),
                ('looks', models.PositiveIntegerField(default=0, verbose_name='looks taken')),
                ('due_at', models.DateTimeField(verbose_name='looked at from')),
                ('asked_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('state', models.CharField(choices=[('waiting', 'waiting'), ('confirmed', 'as expected'), ('over', 'not seen'), ('cancelled', 'cancelled')], default='waiting', max_length=10, verbose_name='state')),
                ('ended_at', models.DateTimeField(blank=True, null=True, verbose_name='ended')),
                ('card', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='confirmations', to='polling.card', verbose_name='card')),
                ('operation', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='confirmations', to='polling.cardoperation', verbose_name='operation')),
                ('request', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='confirmations', to='polling.checkrequest', verbose_name='request')),
            ],
            options={
                'verbose_name': 'confirmation',
                'verbose_name_plural': 'confirmations',
                'ordering': ('-id',),
            },
        ),
        migrations.CreateModel(
            name='Cutover',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('wanted', models.CharField(max_length=10, verbose_name='to')),
                ('phase', models.CharField(choices=[('stopping', 'claiming stops'), ('draining', 'work in progress ends'), ('rebuilding', 'the other side is built'), ('proving', 'every card is in one queue'), ('done', 'done')], default='stopping', max_length=12, verbose_name='phase')),
                ('actor', models.CharField(max_length=200, verbose_name='started by')),
                ('started_at', models.DateTimeField(verbose_name='started')),
                ('phase_since', models.DateTimeField(verbose_name='in this phase since')),
                ('ended_at', models.DateTimeField(blank=True, null=True, verbose_name='ended')),
                ('progress', models.JSONField(blank=True, default=dict, verbose_name='progress')),
                ('note', models.TextField(blank=True, verbose_name='note')),
                ('version', models.PositiveIntegerField(default=1, editable=False)),
            ],
            options={
                'verbose_name': 'cut-over',
                'verbose_name_plural': 'cut-overs',
                'ordering': ('-id',),
                'permissions': (('cut_over', 'Can change how polling decides'),),
                'constraints': [models.UniqueConstraint(models.Value(1), condition=models.Q(('ended_at__isnull', True)), name='cutover_one_at_a_time'), models.CheckConstraint(condition=models.Q(models.Q(('ended_at__isnull', False), ('phase', 'done')), models.Q(models.Q(('phase', 'done'), _negated=True), ('ended_at__isnull', True)), _connector='OR'), name='cutover_ends')],
            },
        ),
        migrations.AddIndex(
            model_name='cardoperation',
            index=models.Index(fields=['card', '-id'], name='operation_of_card'),
        ),
        migrations.AddIndex(
            model_name='cardoperation',
            index=models.Index(condition=models.Q(('state', 'waiting')), fields=['account', 'due_at'], name='operation_is_waiting'),
        ),
        migrations.AddIndex(
            model_name='cardoperation',
            index=models.Index(condition=models.Q(('state', 'sending')), fields=['account', 'lease_until'], name='operation_in_work'),
        ),
        migrations.AddConstraint(
            model_name='cardoperation',
            constraint=models.UniqueConstraint(condition=models.Q(('state__in', ['waiting', 'sending', 'accepted'])), fields=('card',), name='operation_open_once'),
        ),
        migrations.AddConstraint(
            model_name='cardoperation',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('ended_at__isnull', True), ('state__in', ['waiting', 'sending', 'accepted'])), models.Q(models.Q(('state__in', ['waiting', 'sending', 'accepted']), _negated=True), ('ended_at__isnull', False)), _connector='OR'), name='operation_ends'),
        ),
        migrations.AddConstraint(
            model_name='cardoperation',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('lease_until__isnull', False), ('state', 'sending')), models.Q(models.Q(('state', 'sending'), _negated=True), ('lease_until__isnull', True)), _connector='OR'), name='operation_in_work_has_a_lease'),
        ),
        migrations.AddIndex(
            model_name='checkrequest',
            index=models.Index(condition=models.Q(('asked_at__isnull', True)), fields=['at'], name='request_is_to_be_passed_on'),
        ),
        migrations.AddIndex(
            model_name='confirmation',
            index=models.Index(condition=models.Q(('state', 'waiting')), fields=['card', 'type'], name='confirmation_of_card'),
        ),
        migrations.AddIndex(
            model_name='confirmation',
            index=models.Index(condition=models.Q(('state', 'waiting')), fields=['due_at'], name='confirmation_is_due'),
        ),
        migrations.AddConstraint(
            model_name='confirmation',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('operation__isnull', True), ('request__isnull', False)), models.Q(('operation__isnull', False), ('request__isnull', True)), _connector='OR'), name='confirmation_is_of_one'),
        ),
        migrations.AddConstraint(
            model_name='confirmation',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('ended_at__isnull', True), ('state', 'waiting')), models.Q(models.Q(('state', 'waiting'), _negated=True), ('ended_at__isnull', False)), _connector='OR'), name='confirmation_ends'),
        ),
    ]
