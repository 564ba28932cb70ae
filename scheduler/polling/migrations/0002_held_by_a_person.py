"""A hold of an account says why by a reason alone too: a person gives no class of errors.

Downgrade: release accounts that a person holds first, or the older constraint refuses them.
"""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('polling', '0001_initial'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='carrieraccount',
            name='account_hold_says_why',
        ),
        migrations.AddConstraint(
            model_name='carrieraccount',
            constraint=models.CheckConstraint(condition=models.Q(('held_until__isnull', True), models.Q(('held_class', ''), _negated=True), models.Q(('held_reason', ''), _negated=True), _connector='OR'), name='account_hold_says_why'),
        ),
    ]
