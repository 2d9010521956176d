"""Roles of the console's users: permission groups that a migration creates. Spec: contract 31.1.

A page or an action always requires permissions; a role is a set of them, by the table of permits.
So a project may give single permissions to users, and create groups of its own.
"""

from enum import IntEnum
from typing import Final

from django.apps import apps
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group, Permission

from jobs.domain.access.permits import Role as Least
from jobs.domain.access.permits import is_reading
from jobs.permits import table


class Role(IntEnum):
    """The roles that are groups; each includes the rights of the roles before it."""

    VIEWER = Least.VIEWER
    OPERATOR = Least.OPERATOR
    ADMIN = Least.ADMIN

    @property
    def group(self) -> str:
        """Return the name of its group."""
        return f"ojs_{self.name.lower()}"


OURS: Final = (
    "ojs_jobs", "ojs_tenancy", "ojs_scheduling", "ojs_versioning", "ojs_federation",
    "ojs_workflows", "ojs_webhooks", "ojs_console", "ojs_attention",
    "ojs_encryption",
)  # fmt: skip
OTHERS: Final = ("auth",)  # of users, for admins


def role_of(permission: str) -> Least:
    """Return the least role that has a permission.

    A permission that no permit needs opens a list of Django's admin, or nothing.
    """
    found = table().role_of(permission)
    if found is not None:
        return found
    is_seen = permission.partition(".")[0] in OURS and is_reading(permission)
    return Least.VIEWER if is_seen else Least.ADMIN


def make() -> None:
    """Create the groups with their permissions, besides permissions given by hand. Repeatable."""
    for config in apps.get_app_configs():
        if config.label in {*OURS, *OTHERS}:
            create_permissions(config, verbosity=0)
    permissions = Permission.objects.filter(content_type__app_label__in=[*OURS, *OTHERS])
    for role in Role:
        group, _ = Group.objects.get_or_create(name=role.group)
        group.permissions.add(*(
            one for one in permissions.select_related("content_type")
            if role_of(f"{one.content_type.app_label}.{one.codename}") <= role
        ))  # fmt: skip
