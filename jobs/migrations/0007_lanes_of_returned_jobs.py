"""Let a job that its worker loses come back at its place: its lane has a mark."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ojs_jobs", "0006_place_of_returned_jobs")]
    operations = [
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
