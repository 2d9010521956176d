"""Keep notes and saved procedures of operators."""


import django.db.models.functions.datetime
import jobs.models.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('ojs_attention', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Note',
            fields=[
                ('pk', models.CompositePrimaryKey('about', 'name', blank=True, editable=False, primary_key=True, serialize=False)),
                ('about', jobs.models.fields.NameField(db_collation='C')),
                ('name', jobs.models.fields.NameField(db_collation='C')),
                ('text', models.TextField()),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('updated_by', models.TextField()),
            ],
            options={
                'db_table': 'ojs_attention_note',
            },
        ),
        migrations.CreateModel(
            name='ProcedureRow',
            fields=[
                ('name', jobs.models.fields.NameField(db_collation='C', primary_key=True, serialize=False)),
                ('about', jobs.models.fields.NameField(db_collation='C')),
                ('subject', jobs.models.fields.NameField(db_collation='C')),
                ('verb', jobs.models.fields.NameField(db_collation='C')),
                ('wanted', models.JSONField()),
                ('rate', models.IntegerField(null=True)),
                ('reason', models.TextField(null=True)),
                ('description', models.TextField(null=True)),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('updated_by', models.TextField()),
            ],
            options={
                'verbose_name': 'procedure',
                'db_table': 'ojs_attention_procedure',
                'indexes': [models.Index(fields=['about', 'subject'], name='ojs_attention_procedure_of')],
            },
        ),
    ]
