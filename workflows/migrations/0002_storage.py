"""What models cannot say: storage parameters."""

from django.db import migrations

STORAGE = """
ALTER TABLE ojs_workflow SET (fillfactor = 70);
ALTER TABLE ojs_workflow_step SET (fillfactor = 80);
ALTER TABLE ojs_workflow_slot SET (fillfactor = 50);
"""


class Migration(migrations.Migration):
    dependencies = [("ojs_workflows", "0001_initial")]
    operations = [migrations.RunSQL(STORAGE, reverse_sql=migrations.RunSQL.noop)]
