"""Tokens of the API, and answers that are given once.

Downgrade: all tokens and idempotency keys are lost: programs need new tokens, and a POST that is repeated is done again.
"""

import django.core.serializers.json
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('project', '0002_inbox_message'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ApiToken',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='what it is for', max_length=100, verbose_name='name')),
                ('digest', models.CharField(editable=False, max_length=64, unique=True)),
                ('prefix', models.CharField(editable=False, max_length=20, verbose_name='begins with')),
                ('scopes', models.JSONField(default=list, verbose_name='scopes')),
                ('created_at', models.DateTimeField(editable=False, verbose_name='made')),
                ('expires_at', models.DateTimeField(verbose_name='expires')),
                ('revoked_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='revoked')),
                ('last_used_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='last used')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='api_tokens', to=settings.AUTH_USER_MODEL, verbose_name='acts as')),
            ],
            options={
                'verbose_name': 'API token',
                'verbose_name_plural': 'API tokens',
                'ordering': ('-id',),
            },
        ),
        migrations.CreateModel(
            name='IdempotentRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=200, verbose_name='key')),
                ('path', models.CharField(max_length=500, verbose_name='path')),
                ('digest', models.CharField(max_length=64)),
                ('status', models.PositiveSmallIntegerField(null=True, verbose_name='status')),
                ('body', models.JSONField(encoder=django.core.serializers.json.DjangoJSONEncoder, null=True, verbose_name='answer')),
                ('created_at', models.DateTimeField(verbose_name='at')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='user')),
            ],
            options={
                'verbose_name': 'request with a key',
                'verbose_name_plural': 'requests with a key',
                'indexes': [models.Index(fields=['created_at'], name='idempotent_request_age')],
                'constraints': [models.UniqueConstraint(fields=('user', 'key'), name='idempotent_request_once')],
            },
        ),
    ]
