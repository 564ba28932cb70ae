"""The inbox of the try-out.

Downgrade: reversing this migration drops the messages of the try-out's inbox.
"""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('project', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='InboxMessage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('event_id', models.CharField(max_length=100, unique=True)),
                ('received_at', models.DateTimeField(verbose_name='received')),
                ('telling', models.CharField(max_length=10, verbose_name='telling')),
                ('severity', models.CharField(max_length=10, verbose_name='severity')),
                ('title', models.TextField(verbose_name='title')),
                ('text', models.TextField(blank=True, verbose_name='text')),
                ('url', models.TextField(blank=True, verbose_name='link')),
            ],
            options={
                'verbose_name': 'inbox message',
                'verbose_name_plural': 'inbox messages',
            },
        ),
    ]
