"""Users and groups in Django's admin, where users can only grant rights that they have.

Each change is recorded in the audit log.
"""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, Permission, User
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest

from jobs.admin import Permitted, caller_of
from jobs.database import atomic_with_users
from jobs.services.audit.audit import record


def rights(user: Any) -> set[int]:
    """Return the permissions that a user has, or would have if active."""
    held = Permission.objects.filter(Q(user=user) | Q(group__user=user))
    return set(held.values_list("pk", flat=True))


def covers(actor: Any, subject: Model) -> bool:
    """Return whether an actor has all the rights of a user or a group."""
    if actor.is_superuser:
        return True
    if isinstance(subject, Group):
        return rights(actor).issuperset(subject.permissions.values_list("pk", flat=True))
    return not getattr(subject, "is_superuser", True) and rights(actor) >= rights(subject)


class Bounded(Permitted):
    """A form that is limited by the rights of its user, and writes audit entries."""

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse a user or a group that has more rights than the current user."""
        may = super().has_change_permission(request, obj)
        return may and (obj is None or covers(request.user, obj))

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse a user or a group that has more rights than the current user."""
        may = super().has_delete_permission(request, obj)
        return may and (obj is None or covers(request.user, obj))

    def formfield_for_manytomany(self, db_field: Any, request: Any, **kwargs: Any) -> Any:
        """Offer only permissions and groups whose rights the user has."""
        if not request.user.is_superuser:
            own = rights(request.user)
            if db_field.remote_field.model is Permission:
                kwargs["queryset"] = Permission.objects.filter(pk__in=own)
            elif db_field.remote_field.model is Group:
                others = Permission.objects.exclude(pk__in=own)
                kwargs["queryset"] = Group.objects.exclude(permissions__in=others)
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Record the addition."""
        self._record(request, "created", obj)
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Record the change."""
        changes = message if isinstance(message, list) else [str(message)]
        self._record(request, "changed", obj, {"changes": changes})
        return super().log_change(request, obj, message)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Delete and record it in one transaction."""
        with atomic_with_users():
            self._record(request, "deleted", obj)
            super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Delete and record all in one transaction."""
        with atomic_with_users():
            for obj in queryset:
                self._record(request, "deleted", obj)
            super().delete_queryset(request, queryset)

    def _record(
        self, request: HttpRequest, done: str, obj: Any, data: Mapping[str, Any] | None = None
    ) -> None:
        action = f"{self.opts.model_name}.{done}"
        facts = {} if done == "deleted" else self.facts(obj)
        record(caller_of(request), action, str(obj), data={**facts, **(data or {})})

    def facts(self, obj: Any) -> dict[str, Any]:
        """Return the rights for the audit entry."""
        return {"permissions": _named(obj.permissions)}


class UserAdmin(Bounded, DjangoUserAdmin):  # type: ignore[type-arg]  # generic only for type checkers
    """Users; only a superuser may make superusers."""

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Make the superuser flag read-only for all users but superusers."""
        found = super().get_readonly_fields(request, obj)
        is_root = request.user.is_superuser
        return found if is_root else (*found, "is_superuser")

    def facts(self, obj: Any) -> dict[str, Any]:
        """Return the user's present rights."""
        return {
            "is_active": obj.is_active,
            "is_staff": obj.is_staff,
            "is_superuser": obj.is_superuser,
            "groups": sorted(obj.groups.values_list("name", flat=True)),
            "permissions": _named(obj.user_permissions),
        }


class GroupAdmin(Bounded, DjangoGroupAdmin):  # type: ignore[misc]  # its stub types the field
    """Groups of permissions."""


def _named(permissions: Any) -> list[str]:
    listed = permissions.values_list("content_type__app_label", "codename")
    return sorted(f"{app}.{name}" for app, name in listed)


FORMS: Mapping[type[Model], type[Permitted]] = {User: UserAdmin, Group: GroupAdmin}
