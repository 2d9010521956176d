"""The user of a request as the caller of services, and the user's tenant."""

from typing import Final

from django.contrib import messages
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from jobs.domain.access.caller import MAX_REASON, Caller
from jobs.domain.errors import InvalidRequest
from jobs.services.access.staff import bound_to
from jobs.services.audit.undo_log import HEADER

PREFIX: Final = "console:"  # before user names in the audit log
_BOUND, _HEADERS = "_ojs_bound_to", "_ojs_headers"


def tenant_of(request: HttpRequest) -> str | None:
    """Return the tenant to which the user is restricted now; None: not restricted.

    Read once per request. Raises PermissionDenied for a user restricted to tenants of which none is
    left.
    """
    if not hasattr(request, _BOUND):
        setattr(request, _BOUND, bound_to(request.user, request.session))
    found: str | None = getattr(request, _BOUND)
    return found


def caller_of(request: HttpRequest) -> Caller:
    """Return the user as a caller, with the reason that the form gave.

    Raises InvalidRequest for a reason that is too long.
    """
    reason = request.POST.get("reason", "").replace("\x00", "").strip()
    if len(reason) > MAX_REASON:
        raise InvalidRequest.field("reason", f"must have at most {MAX_REASON} characters")
    return Caller(
        f"{PREFIX}{request.user.get_username()}",
        tenant_of(request),
        answer_headers=_headers(request),
        address=request.META.get("REMOTE_ADDR"),
        reason=reason or None,
    )


def require_reason(request: HttpRequest, *, is_needed: bool = True) -> None:
    """Refuse a form whose reason is too long, or missing if it is needed. Raises InvalidRequest."""
    if not caller_of(request).reason and is_needed:
        raise InvalidRequest.field("reason", "is required")


def page_of(request: HttpRequest) -> str:
    """Return the page of a form, to which its answer redirects; the overview without one."""
    wanted = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(wanted, {request.get_host()}):
        return wanted
    return reverse("ojs_console:overview")


def told(request: HttpRequest, text: str) -> None:
    """Show a message on the next page, with a button to undo the change of this request."""
    messages.success(request, text, extra_tags=_headers(request).get(HEADER, ""))


def _headers(request: HttpRequest) -> dict[str, str]:
    """Return the headers that services add to the answer, once per request."""
    if not hasattr(request, _HEADERS):
        setattr(request, _HEADERS, {})
    found: dict[str, str] = getattr(request, _HEADERS)
    return found
