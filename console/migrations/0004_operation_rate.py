"""Operations have a rate, and their entry of the undo log."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("ojs_console", "0003_close_operator_tasks"),
    ]

    operations = [
        migrations.AddField(
            model_name="operation",
            name="rate",
            field=models.IntegerField(db_default=2000, default=2000),
        ),
        migrations.AddField(
            model_name="operation",
            name="undo_id",
            field=models.BigIntegerField(null=True),
        ),
    ]
