"""Let processes wait for the ends of workflows, as for those of jobs."""

from django.db import migrations

from jobs.migrations._functions import InstallFunctions

# the trigger needs a function, which InstallFunctions replaces by the present one
EMPTY = """
DO $do$ BEGIN
    IF to_regproc('ojs_tell_awaited_row') IS NULL THEN
        CREATE FUNCTION ojs_tell_awaited_row() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN RETURN NULL; END $$;
    END IF;
END $do$;
"""
# states from 2 on are ends; most updates count members, and cost the condition alone
TOLD = """
CREATE TRIGGER ojs_tell_awaited_row AFTER UPDATE ON ojs_workflow FOR EACH ROW
  WHEN (OLD.state < 2 AND NEW.state >= 2) EXECUTE FUNCTION ojs_tell_awaited_row();
"""


class Migration(migrations.Migration):
    dependencies = [("ojs_workflows", "0002_storage"), ("ojs_jobs", "0008_awaited")]
    operations = [
        migrations.RunSQL(EMPTY, reverse_sql=migrations.RunSQL.noop),
        InstallFunctions("ojs_tell_awaited_row"),
        migrations.RunSQL(TOLD, reverse_sql="DROP TRIGGER ojs_tell_awaited_row ON ojs_workflow"),
    ]
