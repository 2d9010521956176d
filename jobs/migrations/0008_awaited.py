"""Let processes wait for the ends of jobs: the database notifies them of jobs that they name."""

from django.db import migrations, models

from jobs.migrations._functions import InstallFunctions

# unlogged: a wait ends with its session, and needs no flush of the log
UNLOGGED = "ALTER TABLE ojs_awaited SET UNLOGGED"
# the trigger needs a function, which InstallFunctions replaces by the present one
EMPTY = """
DO $do$ BEGIN
    IF to_regproc('ojs_tell_awaited') IS NULL THEN
        CREATE FUNCTION ojs_tell_awaited() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN RETURN NULL; END $$;
    END IF;
END $do$;
"""
TOLD = """
CREATE TRIGGER ojs_tell_awaited AFTER INSERT ON ojs_finished
   REFERENCING NEW TABLE AS ended FOR EACH STATEMENT EXECUTE FUNCTION ojs_tell_awaited();
"""


class Migration(migrations.Migration):
    dependencies = [("ojs_jobs", "0007_lanes_of_returned_jobs")]
    operations = [
        migrations.CreateModel(
            name="Awaited",
            fields=[
                ("pk", models.CompositePrimaryKey("job_id", "listener", blank=True, editable=False, primary_key=True, serialize=False)),
                ("job_id", models.UUIDField()),
                ("listener", models.UUIDField()),
                ("until", models.DateTimeField()),
            ],
            options={
                "verbose_name": "awaited job",
                "verbose_name_plural": "awaited jobs",
                "db_table": "ojs_awaited",
                "indexes": [models.Index(fields=["until"], name="ojs_awaited_until")],
            },
        ),
        migrations.RunSQL(UNLOGGED, reverse_sql=migrations.RunSQL.noop),
        migrations.RunSQL(EMPTY, reverse_sql=migrations.RunSQL.noop),
        InstallFunctions("ojs_tell_awaited"),
        migrations.RunSQL(TOLD, reverse_sql="DROP TRIGGER ojs_tell_awaited ON ojs_finished"),
    ]
