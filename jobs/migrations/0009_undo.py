"""Keep what operators changed for a day, so that it can be undone."""

import django.db.models.functions.datetime
import jobs.models.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("ojs_jobs", "0008_awaited"),
    ]

    operations = [
        migrations.CreateModel(
            name="UndoJob",
            fields=[
                ("pk", models.CompositePrimaryKey("undo_id", "job_id", blank=True, editable=False, primary_key=True, serialize=False)),
                ("undo_id", models.BigIntegerField()),
                ("job_id", models.UUIDField()),
                ("was", models.SmallIntegerField()),
                ("queue", jobs.models.fields.NameField(db_collation="C")),
                ("priority", models.SmallIntegerField()),
                ("lane_id", models.BigIntegerField()),
                ("seq", models.BigIntegerField(null=True)),
                ("attempt", models.IntegerField()),
                ("due_at", models.DateTimeField(null=True)),
                ("enqueued_at", models.DateTimeField(null=True)),
                ("expires_at", models.DateTimeField(null=True)),
                ("left_state", models.SmallIntegerField(null=True)),
                ("left_at", models.DateTimeField()),
                ("left_lane", models.BigIntegerField(null=True)),
                ("image", models.JSONField(null=True)),
                ("gone", models.JSONField(null=True)),
                ("outcome", models.TextField(null=True)),
            ],
            options={
                "verbose_name": "job to restore",
                "verbose_name_plural": "jobs to restore",
                "db_table": "ojs_undo_job",
            },
        ),
        migrations.CreateModel(
            name="Undo",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("until", models.DateTimeField()),
                ("actor", models.TextField()),
                ("tenant", jobs.models.fields.NameField(db_collation="C", null=True)),
                ("action", models.TextField()),
                ("target", models.TextField()),
                ("reason", models.TextField(null=True)),
                ("state", models.TextField(default="running")),
                ("jobs", models.BigIntegerField(default=0)),
                ("bytes", models.BigIntegerField(default=0)),
                ("is_cut", models.BooleanField(default=False)),
                ("before", models.JSONField(null=True)),
                ("restored", models.BigIntegerField(default=0)),
                ("left_out", models.BigIntegerField(default=0)),
                ("undone_by", models.TextField(null=True)),
                ("undone_at", models.DateTimeField(null=True)),
            ],
            options={
                "verbose_name": "operation to undo",
                "verbose_name_plural": "operations to undo",
                "db_table": "ojs_undo",
                "indexes": [models.Index(fields=["until"], name="ojs_undo_until")],
            },
        ),
    ]
