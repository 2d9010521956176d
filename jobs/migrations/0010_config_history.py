"""Keep each change of the configuration, so that its versions can be restored."""


import django.db.models.functions.datetime
import jobs.models.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('ojs_jobs', '0009_undo'),
    ]

    operations = [
        migrations.CreateModel(
            name='ConfigChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('kind', jobs.models.fields.NameField(db_collation='C')),
                ('name', models.TextField()),
                ('tenant', jobs.models.fields.NameField(db_collation='C', null=True)),
                ('actor', models.TextField()),
                ('action', models.TextField()),
                ('reason', models.TextField(null=True)),
                ('request_id', models.TextField(null=True)),
                ('before', models.JSONField(null=True)),
                ('after', models.JSONField(null=True)),
                ('restored', models.BigIntegerField(null=True)),
            ],
            options={
                'verbose_name': 'change of the configuration',
                'verbose_name_plural': 'changes of the configuration',
                'db_table': 'ojs_config_change',
                'indexes': [models.Index(fields=['kind', 'name', 'id'], name='ojs_config_change_object'), models.Index(fields=['actor', 'id'], name='ojs_config_change_actor'), models.Index(fields=['at'], name='ojs_config_change_at')],
            },
        ),
    ]
