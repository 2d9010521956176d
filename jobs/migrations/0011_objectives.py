"""Count the starts and the late starts of queues with an objective."""

import jobs.models.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('ojs_jobs', "0010_config_history"),
    ]

    operations = [
        migrations.CreateModel(
            name='ObjectivePeriod',
            fields=[
                ('pk', models.CompositePrimaryKey('span_s', 'at', 'queue', 'within_ms', blank=True, editable=False, primary_key=True, serialize=False)),
                ('span_s', models.IntegerField()),
                ('at', models.DateTimeField()),
                ('queue', jobs.models.fields.NameField(db_collation='C')),
                ('within_ms', models.BigIntegerField()),
                ('started', models.BigIntegerField()),
                ('late', models.BigIntegerField()),
            ],
            options={
                'db_table': 'ojs_objective_period',
            },
        ),
        migrations.CreateModel(
            name='ObjectiveTotal',
            fields=[
                ('queue', jobs.models.fields.NameField(db_collation='C', primary_key=True, serialize=False)),
                ('started', models.BigIntegerField()),
                ('late', models.BigIntegerField()),
            ],
            options={
                'db_table': 'ojs_objective_total',
            },
        ),
        migrations.AddIndex(
            model_name='queue',
            index=models.Index(condition=models.Q(('config__has_key', 'objective')), fields=['name'], name='ojs_queue_objective'),
        ),
    ]
