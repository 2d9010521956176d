"""Which tenants a user of the console is restricted to. Spec: contract 31.1.

The pages and the API in the same browser ask here, so that neither shows more than the other.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from jobs.domain.caller import Caller
from jobs.domain.errors import PermissionDenied
from jobs.models import Staff
from jobs.services.audit.audit import audited

CHOSEN: Final = "ojs_tenant"  # of the session: which of several tenants is looked at


def tenants_of(user: Any) -> tuple[str, ...] | None:
    """Return the tenants a user is restricted to; None: sees all. A superuser always does."""
    if user.is_superuser:
        return None
    row = Staff.objects.filter(user_id=user.pk).values_list("tenants", flat=True).first()
    return None if row is None else tuple(row)


def bound_to(user: Any, session: Mapping[str, Any]) -> str | None:
    """Return the tenant whose things alone a user sees and changes now; None: those of all.

    Of several it is the one that was chosen in this session, else the first. Raises
    PermissionDenied for who is restricted to none.
    """
    tenants = tenants_of(user)
    if tenants is None:
        return None
    if not tenants:
        raise PermissionDenied("your account is restricted to tenants, and there is none of them")
    chosen = session.get(CHOSEN)
    return str(chosen) if chosen in tenants else tenants[0]


def restrict(user: Any, tenants: Sequence[str], caller: Caller) -> None:
    """Let a user see and change the things of these tenants alone, from its next request on."""
    with audited(caller, "staff.restricted", user.get_username()) as data:
        data["tenants"] = sorted(set(tenants))
        Staff.objects.update_or_create(user=user, defaults={"tenants": data["tenants"]})


def free(user: Any, caller: Caller) -> None:
    """Let a user see the things of all tenants again."""
    with audited(caller, "staff.freed", user.get_username()):
        Staff.objects.filter(user=user).delete()
