"""The marks that scans leave.

Downgrade: reversing this migration drops the table; the next scan leaves its mark anew.
"""

from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='ScanMark',
            fields=[
                ('name', models.CharField(max_length=200, primary_key=True, serialize=False, verbose_name='scan')),
                ('beat_count', models.PositiveBigIntegerField(default=0, verbose_name='asked for by beat')),
                ('watch_count', models.PositiveBigIntegerField(default=0, verbose_name='done because beat was silent')),
                ('last_at', models.DateTimeField(verbose_name='last')),
                ('last_by', models.CharField(max_length=200, verbose_name='by')),
                ('note', models.TextField(blank=True, verbose_name='note')),
            ],
            options={
                'verbose_name': 'scan',
                'verbose_name_plural': 'scans',
            },
        ),
    ]
