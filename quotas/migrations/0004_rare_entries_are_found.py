"""Entries of a rare kind are found by an index: the list read all of the ledger for them.

Upgrade: the index is built beside the work, without a lock, and holds no charges. Should that be interrupted, drop the
invalid index that it leaves and migrate again. Downgrade: it is dropped.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

RARE_KINDS = ["limit", "refill", "refund", "reset", "top_up"]


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("quotas", "0003_charges_are_found_by_their_owner")]

    operations = [
        AddIndexConcurrently(
            model_name="ledgerentry",
            index=models.Index(
                "kind", models.F("id").desc(), name="entry_of_rare_kind", condition=models.Q(kind__in=RARE_KINDS)
            ),
        ),
    ]
