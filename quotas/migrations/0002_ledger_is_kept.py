"""The ledger is only ever added to: the database refuses to change or delete an entry.

Downgrade: reversing this migration drops the trigger only.
"""

from django.db import migrations

CREATE = """
CREATE FUNCTION quotas_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% #%: %', TG_TABLE_NAME, OLD.id, TG_ARGV[0] USING ERRCODE = 'check_violation';
END $$;

CREATE TRIGGER ledger_entry_never_changes BEFORE UPDATE OR DELETE ON quotas_ledgerentry
    FOR EACH ROW EXECUTE FUNCTION quotas_refuse_change('the ledger is only ever added to');
"""

DROP = """
DROP TRIGGER ledger_entry_never_changes ON quotas_ledgerentry;
DROP FUNCTION quotas_refuse_change();
"""


class Migration(migrations.Migration):
    dependencies = [("quotas", "0001_initial")]

    operations = [migrations.RunSQL(CREATE, DROP)]
