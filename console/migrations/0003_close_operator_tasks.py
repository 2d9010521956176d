"""Nobody has permissions on the tables of django-q2, and none of its schedules is left.

Whoever could write these tables had the server run any function.
"""

from django.conf import settings
from django.db import migrations


def close(apps, schema_editor):
    permission = apps.get_model("auth", "Permission")
    closed = permission.objects.filter(content_type__app_label="django_q")
    for model in (apps.get_model("auth", "Group"), apps.get_model(settings.AUTH_USER_MODEL)):
        field = "permissions" if hasattr(model, "permissions") else "user_permissions"
        getattr(model, field).through.objects.filter(permission__in=closed).delete()
    apps.get_model("django_q", "Schedule").objects.filter(name="console operations").delete()


class Migration(migrations.Migration):
    dependencies = [
        ("ojs_console", "0002_roles"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("django_q", "0018_task_success_index"),
    ]
    operations = [migrations.RunPython(close, migrations.RunPython.noop)]
