"""Restrict users of the console to tenants. Spec: contract 31.1.

The pages and the API in the same browser use these functions, so both show the same data.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from jobs.database import atomic_with_users
from jobs.domain.access.caller import Caller
from jobs.domain.errors import PermissionDenied
from jobs.models import Staff
from jobs.services.audit.audit import audited

CHOSEN: Final = "ojs_tenant"  # of the session: the chosen tenant of several


def tenants_of(user: Any) -> tuple[str, ...] | None:
    """Return the tenants a user is restricted to; None: all. A superuser always has all."""
    if user.is_superuser:
        return None
    row = Staff.objects.filter(user_id=user.pk).values_list("tenants", flat=True).first()
    return None if row is None else tuple(row)


def bound_to(user: Any, session: Mapping[str, Any]) -> str | None:
    """Return the tenant whose data a user may read and change now; None: all tenants.

    Of several tenants it is the tenant chosen in this session, otherwise the first. Raises
    PermissionDenied for a user who has no tenant.
    """
    tenants = tenants_of(user)
    if tenants is None:
        return None
    if not tenants:
        raise PermissionDenied("your account is restricted to tenants, and there is none of them")
    chosen = session.get(CHOSEN)
    return str(chosen) if chosen in tenants else tenants[0]


def restrict(user: Any, tenants: Sequence[str], caller: Caller) -> None:
    """Restrict a user to these tenants, from the next request on."""
    with atomic_with_users(), audited(caller, "staff.restricted", user.get_username()) as data:
        data["tenants"] = sorted(set(tenants))
        Staff.objects.update_or_create(user=user, defaults={"tenants": data["tenants"]})


def free(user: Any, caller: Caller) -> None:
    """Give a user access to all tenants again."""
    with atomic_with_users(), audited(caller, "staff.freed", user.get_username()):
        Staff.objects.filter(user=user).delete()
