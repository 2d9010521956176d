"""Moves of tenants to other cells, and the jobs on their way."""

import django.db.models.functions.datetime
import jobs.models.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('ojs_jobs', "0011_objectives"),
    ]

    operations = [
        migrations.CreateModel(
            name='Move',
            fields=[
                ('tenant', jobs.models.fields.NameField(db_collation='C', primary_key=True, serialize=False)),
                ('move_id', models.UUIDField()),
                ('is_source', models.BooleanField()),
                ('step', models.TextField()),
                ('other', models.TextField()),
                ('address', models.TextField(null=True)),
                ('was_suspended', models.BooleanField(default=False)),
                ('batch', models.BigIntegerField(default=0)),
                ('jobs', models.JSONField(default=dict)),
                ('kept', models.JSONField(default=dict)),
                ('began_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('ended_at', models.DateTimeField(null=True)),
            ],
            options={
                'verbose_name': 'move of a tenant',
                'verbose_name_plural': 'moves of tenants',
                'db_table': 'ojs_move',
            },
        ),
        migrations.CreateModel(
            name='MovingJob',
            fields=[
                ('pk', models.CompositePrimaryKey('tenant', 'n', blank=True, editable=False, primary_key=True, serialize=False)),
                ('tenant', jobs.models.fields.NameField(db_collation='C')),
                ('n', models.BigIntegerField()),
                ('job_id', models.UUIDField()),
                ('batch', models.BigIntegerField(null=True)),
                ('image', models.JSONField(null=True)),
            ],
            options={
                'verbose_name': 'moving job',
                'verbose_name_plural': 'moving jobs',
                'db_table': 'ojs_moving_job',
            },
        ),
    ]
