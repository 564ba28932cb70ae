"""A quota is never deleted: the database refuses it, so that each charge need not be checked by two foreign keys.

Upgrade: no row is read, however long the ledger is; charges wait for the moment in which the keys are dropped.
Downgrade: the foreign keys are made again, which reads all of the ledger while charges wait.
"""

import django.db.models.deletion
from django.db import migrations, models

# AFTER: a trigger before an update would lock the row of each charge once more.
CREATE = """
CREATE TRIGGER quota_is_kept AFTER DELETE OR UPDATE OF id ON quotas_quota
    FOR EACH ROW EXECUTE FUNCTION quotas_refuse_change('a quota is kept, since its ledger is');
"""

DROP = """
DROP TRIGGER quota_is_kept ON quotas_quota;
"""


def _unchecked(name: str, related_name: str) -> migrations.AlterField:
    return migrations.AlterField(
        model_name="ledgerentry",
        name=name,
        field=models.ForeignKey(
            db_constraint=False,
            db_index=False,
            on_delete=django.db.models.deletion.PROTECT,
            related_name=related_name,
            to="quotas.quota",
            verbose_name=name,
        ),
    )


class Migration(migrations.Migration):
    dependencies = [("quotas", "0004_rare_entries_are_found")]

    operations = [
        migrations.RunSQL(CREATE, DROP),
        _unchecked("quota", "entries"),
        _unchecked("charged", "+"),
    ]
