"""Who acts, as the audit log names them, and whose things they see and touch."""

from typing import Final

from django.http import HttpRequest

from jobs.domain.caller import Caller
from jobs.services.access.staff import bound_to

PREFIX: Final = "console:"  # before the names of users
MOST_REASON = 500
_BOUND = "_ojs_bound_to"


def tenant_of(request: HttpRequest) -> str | None:
    """Return the tenant that whoever is logged in is restricted to now; None: any.

    Read once for each request. Raises PermissionDenied for who is restricted to none.
    """
    if not hasattr(request, _BOUND):
        setattr(request, _BOUND, bound_to(request.user, request.session))
    found: str | None = getattr(request, _BOUND)
    return found


def caller_of(request: HttpRequest) -> Caller:
    """Return whoever is logged in, with the reason that the form gave."""
    return Caller(
        f"{PREFIX}{request.user.get_username()}",
        tenant_of(request),
        address=request.META.get("REMOTE_ADDR"),
        reason=request.POST.get("reason", "").replace("\x00", "").strip()[:MOST_REASON] or None,
    )
