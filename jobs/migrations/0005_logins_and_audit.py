"""Windows of failed logins; an audit log that cannot be truncated."""

import django.db.models.fields
from django.db import migrations, models

import jobs.models

KEPT_WHOLE = """
CREATE TRIGGER ojs_audit_kept_whole BEFORE TRUNCATE ON ojs_audit
   FOR EACH STATEMENT EXECUTE FUNCTION ojs_audit_kept();
"""


class Migration(migrations.Migration):
    dependencies = [("ojs_jobs", "0004_functions")]
    operations = [
        migrations.CreateModel(
            name="LoginWindow",
            fields=[
                ("pk", models.CompositePrimaryKey("kind", "digest", blank=True, editable=False, primary_key=True, serialize=False)),
                ("kind", jobs.models.NameField(db_collation="C")),
                ("digest", jobs.models.NameField(db_collation="C")),
                ("tries", models.IntegerField(db_default=0, default=0)),
                ("ends_at", models.DateTimeField()),
            ],
            options={
                "db_table": "ojs_login_window",
                "indexes": [models.Index(fields=["ends_at"], name="ojs_login_window_end")],
            },
        ),
        migrations.RunSQL(KEPT_WHOLE, reverse_sql="DROP TRIGGER ojs_audit_kept_whole ON ojs_audit"),
    ]
