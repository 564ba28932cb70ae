"""The charges of one owner are found by an index.

Upgrade: it is built under a lock; on a ledger of millions of entries that takes a while. Downgrade: it is dropped.
"""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('quotas', '0002_ledger_is_kept'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='ledgerentry',
            index=models.Index(models.F('owner'), models.OrderBy(models.F('id'), descending=True), condition=models.Q(('owner', ''), _negated=True), name='entry_latest_of_owner'),
        ),
    ]
