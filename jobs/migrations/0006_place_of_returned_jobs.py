"""Let a job that its worker loses come back at its place: its lease keeps the number."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ojs_jobs", "0005_logins_and_audit")]
    operations = [migrations.AddField("lease", "seq", models.BigIntegerField(null=True))]
