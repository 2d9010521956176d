"""Let a job that its worker loses come back at its place: a lease keeps the number, a lane a mark."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ojs_jobs", "0005_logins_and_audit")]
    operations = [
        migrations.AddField("lease", "seq", models.BigIntegerField(null=True)),
        migrations.AddField("lane", "returned", models.BigIntegerField(null=True)),
        migrations.AddIndex(
            "lane",
            models.Index(
                fields=["queue"],
                name="ojs_lane_returned",
                condition=models.Q(ordered=True, returned__isnull=False),
            ),
        ),
    ]
