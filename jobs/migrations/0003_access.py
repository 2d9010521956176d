"""Which tenants users are restricted to; an audit log that the database keeps as it was written."""

import django.contrib.postgres.fields
import django.db.models.deletion
import jobs.models
from django.conf import settings
from django.db import migrations, models

KEPT = """
CREATE TRIGGER ojs_audit_kept BEFORE UPDATE OR DELETE ON ojs_audit
   FOR EACH ROW EXECUTE FUNCTION ojs_audit_kept();
"""


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("ojs_jobs", "0002_storage"),
    ]
    operations = [
        migrations.CreateModel(
            name="Staff",
            fields=[
                ("user", models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name="ojs_staff", serialize=False, to=settings.AUTH_USER_MODEL)),
                ("tenants", django.contrib.postgres.fields.ArrayField(base_field=jobs.models.NameField(db_collation="C"), blank=True, default=list, size=None)),
            ],
            options={
                "verbose_name": "restriction to tenants",
                "verbose_name_plural": "restrictions to tenants",
                "db_table": "ojs_staff",
            },
        ),
        migrations.AlterModelOptions(
            name="queue",
            options={"ordering": ["name"], "permissions": [("configure_queue", "Can configure queues")]},
        ),
        migrations.RunSQL(KEPT, reverse_sql="DROP TRIGGER ojs_audit_kept ON ojs_audit"),
    ]
