"""What a channel chooses from is a list, and the database refuses anything else.

Downgrade: reversing this migration drops the constraints only.
"""

import django.db.models.lookups
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('alerts', '0002_alert_open_first'),
    ]

    operations = [
        migrations.AddConstraint(
            model_name='channel',
            constraint=models.CheckConstraint(condition=models.Q(django.db.models.lookups.Exact(models.Func(models.F('kinds'), function='jsonb_typeof', output_field=models.TextField()), models.Value('array')), models.Q(models.Func(models.F('kinds'), models.Value('$[*].type() ? (@ != "string")'), function='jsonb_path_exists', output_field=models.BooleanField(), template='%(function)s(%(expressions)s::jsonpath)'), _negated=True)), name='channel_kinds_are_texts'),
        ),
        migrations.AddConstraint(
            model_name='channel',
            constraint=models.CheckConstraint(condition=models.Q(django.db.models.lookups.Exact(models.Func(models.F('labels'), function='jsonb_typeof', output_field=models.TextField()), models.Value('object')), models.Q(models.Func(models.F('labels'), models.Value('$.*.type() ? (@ != "string")'), function='jsonb_path_exists', output_field=models.BooleanField(), template='%(function)s(%(expressions)s::jsonpath)'), _negated=True)), name='channel_labels_are_texts'),
        ),
        migrations.AddConstraint(
            model_name='silence',
            constraint=models.CheckConstraint(condition=models.Q(django.db.models.lookups.Exact(models.Func(models.F('labels'), function='jsonb_typeof', output_field=models.TextField()), models.Value('object')), models.Q(models.Func(models.F('labels'), models.Value('$.*.type() ? (@ != "string")'), function='jsonb_path_exists', output_field=models.BooleanField(), template='%(function)s(%(expressions)s::jsonpath)'), _negated=True)), name='silence_labels_are_texts', violation_error_message='Write the labels as an object of texts, as in {"name": "nightly"}.'),
        ),
    ]
