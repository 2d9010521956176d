"""Roles of the console's users: groups of Django's permissions, made by a migration. Spec: 31.1.

What a page or an action takes is always a permission; a role is no more than who has which. So a
project may give single permissions to single users, and make groups of its own.
"""

from collections.abc import Iterable
from enum import IntEnum
from typing import Final

from django.apps import apps
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group, Permission


class Role(IntEnum):
    """Who may what; each may all that those before may."""

    VIEWER = 1  # reads
    OPERATOR = 2  # acts: on jobs, queues, workers, schedules, limits and tenants
    ADMIN = 3  # configures: also API keys and users

    @property
    def group(self) -> str:
        """Name its group."""
        return f"ojs_{self.name.lower()}"


OURS: Final = (
    "ojs_jobs", "ojs_tenancy", "ojs_scheduling", "ojs_versioning", "ojs_federation",
    "ojs_workflows", "ojs_webhooks", "ojs_console",
)  # fmt: skip
OTHERS: Final = ("auth", "django_q")  # users and operator tasks, for admins
# who else may get in, and where; what jobs say is not for everybody
SECRET: Final = {"ojs_jobs.view_apikey", "ojs_jobs.view_staff", "ojs_jobs.view_classified_job"}
ACTS: Final = {
    "ojs_jobs.add_job", "ojs_jobs.change_job", "ojs_jobs.delete_job", "ojs_jobs.change_queue",
    "ojs_jobs.change_worker", "ojs_jobs.change_limit", "ojs_jobs.change_maintenance",
    "ojs_scheduling.change_cronentry", "ojs_tenancy.change_tenant",
    "ojs_webhooks.change_subscription", "ojs_versioning.change_routing",
    "ojs_federation.change_region", "ojs_console.add_operation", "ojs_console.change_operation",
    "ojs_console.add_savedview", "ojs_console.delete_savedview",
}  # fmt: skip
# what concerns one tenant alone: all else is closed to who is restricted to tenants
OF_ONE_TENANT: Final = {
    "ojs_jobs.add_job", "ojs_jobs.change_job", "ojs_jobs.delete_job", "ojs_jobs.change_limit",
    "ojs_scheduling.add_cronentry", "ojs_scheduling.change_cronentry",
    "ojs_scheduling.delete_cronentry", "ojs_webhooks.add_subscription",
    "ojs_webhooks.change_subscription", "ojs_webhooks.delete_subscription",
    "ojs_console.add_operation", "ojs_console.add_savedview", "ojs_console.delete_savedview",
}  # fmt: skip


def is_reading(permission: str) -> bool:
    """Tell whether a permission changes nothing."""
    return permission.partition(".")[2].startswith("view_")


def role_of(permissions: Iterable[str]) -> Role:
    """Return the least role that has these permissions."""
    return max((_role(one) for one in permissions), default=Role.VIEWER)


def _role(permission: str) -> Role:
    if permission in ACTS:
        return Role.OPERATOR
    app = permission.partition(".")[0]
    is_seen = app in OURS and is_reading(permission) and permission not in SECRET
    return Role.VIEWER if is_seen else Role.ADMIN


def make() -> None:
    """Make the groups with what there is of permissions; those given by hand stay. Repeatable."""
    for config in apps.get_app_configs():
        if config.label in {*OURS, *OTHERS}:
            create_permissions(config, verbosity=0)
    known = Permission.objects.filter(content_type__app_label__in=[*OURS, *OTHERS])
    for role in Role:
        group, _ = Group.objects.get_or_create(name=role.group)
        group.permissions.add(*(
            one for one in known.select_related("content_type")
            if _role(f"{one.content_type.app_label}.{one.codename}") <= role
        ))  # fmt: skip
