"""The groups of viewers, operators and admins, with the permissions on all tables there are."""

from django.db import migrations

from console import roles

def make(apps, schema_editor):
    roles.make()


def remove(apps, schema_editor):
    names = [role.group for role in roles.Role]
    apps.get_model("auth", "Group").objects.filter(name__in=names).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("ojs_console", "0001_initial"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]
    operations = [migrations.RunPython(make, remove)]
