"""What has ended never changes, and a run's data day never moves: the database refuses it.

Downgrade: reversing this migration drops the triggers only.
"""

from django.db import migrations

CREATE = """
CREATE FUNCTION tideline_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% #%: %', TG_TABLE_NAME, OLD.id, TG_ARGV[0] USING ERRCODE = 'check_violation';
END $$;

CREATE TRIGGER run_ended_never_changes BEFORE UPDATE ON scheduler_taskrun
    FOR EACH ROW WHEN (OLD.finished_at IS NOT NULL)
    EXECUTE FUNCTION tideline_refuse_change('a run that has ended never changes');

CREATE TRIGGER run_keeps_its_day BEFORE UPDATE OF stat_date, planned_at ON scheduler_taskrun
    FOR EACH ROW WHEN (OLD.stat_date <> NEW.stat_date OR OLD.planned_at <> NEW.planned_at)
    EXECUTE FUNCTION tideline_refuse_change('a run keeps its data day and its planned instant');

CREATE TRIGGER event_never_changes BEFORE UPDATE ON scheduler_runevent
    FOR EACH ROW EXECUTE FUNCTION tideline_refuse_change('history never changes');
"""

DROP = """
DROP TRIGGER event_never_changes ON scheduler_runevent;
DROP TRIGGER run_keeps_its_day ON scheduler_taskrun;
DROP TRIGGER run_ended_never_changes ON scheduler_taskrun;
DROP FUNCTION tideline_refuse_change();
"""


class Migration(migrations.Migration):
    dependencies = [("scheduler", "0001_initial")]

    operations = [migrations.RunSQL(CREATE, DROP)]
