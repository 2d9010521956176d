"""Schedules that the code of a project defines name the project."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ojs_scheduling", "0001_initial")]
    operations = [
        migrations.AddField("cronentry", "project", models.TextField(null=True)),
    ]
