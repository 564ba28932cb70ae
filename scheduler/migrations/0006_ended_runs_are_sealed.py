"""An ended run may be given its seal, once, and nothing else.

Downgrade: reversing this migration brings the stricter trigger back; seals that were written stay.
"""

from django.db import migrations

SEAL_ONLY = """
DROP TRIGGER run_ended_never_changes ON scheduler_taskrun;
CREATE TRIGGER run_ended_never_changes BEFORE UPDATE ON scheduler_taskrun
    FOR EACH ROW WHEN (
        OLD.finished_at IS NOT NULL
        AND (OLD.seal <> '' OR to_jsonb(OLD) - 'seal' <> to_jsonb(NEW) - 'seal')
    )
    EXECUTE FUNCTION tideline_refuse_change('a run that has ended never changes');
"""

NOTHING = """
DROP TRIGGER run_ended_never_changes ON scheduler_taskrun;
CREATE TRIGGER run_ended_never_changes BEFORE UPDATE ON scheduler_taskrun
    FOR EACH ROW WHEN (OLD.finished_at IS NOT NULL)
    EXECUTE FUNCTION tideline_refuse_change('a run that has ended never changes');
"""


class Migration(migrations.Migration):
    dependencies = [("scheduler", "0005_calendars_approvals_backfills")]

    operations = [migrations.RunSQL(SEAL_ONLY, NOTHING)]
