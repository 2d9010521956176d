"""What models cannot say: storage parameters. A save replaces the row of its job."""

from django.db import migrations

STORAGE = """
ALTER TABLE ojs_checkpoint SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
"""


class Migration(migrations.Migration):
    dependencies = [("ojs_durable", "0001_initial")]
    operations = [migrations.RunSQL(STORAGE, reverse_sql=migrations.RunSQL.noop)]
