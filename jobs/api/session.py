"""Staff who are logged in may use the API from their browser. Spec: contract 24.5, 31.

Looked at only when a request brings no key: API paths have no session middleware to pay for.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest, HttpResponse
from rest_framework.authentication import CSRFCheck

from jobs.api.media import JSON_TYPE, OJS_TYPE
from jobs.domain.errors import PermissionDenied
from jobs.services.access.staff import bound_to

SAFE: Final = {"GET", "HEAD", "OPTIONS"}


@dataclass(frozen=True, slots=True)
class Session:
    """A user who is logged in: the name, the tenant it is restricted to, what it may do."""

    name: str
    tenant: str | None
    holds: Callable[[str], bool]  # a permission


def staff(request: HttpRequest) -> Session | None:
    """Return the user who is logged in, None when nobody is.

    Raises PermissionDenied when another site may have sent the request.
    """
    session_key = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
    if not session_key:
        return None
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    user = get_user(request)
    if not user.is_authenticated:
        return None
    if request.method not in SAFE and not _is_own_page(request):
        raise PermissionDenied(
            "the request does not come from a page of this server",
            details={"reason": "csrf_failed"},
        )
    is_staff = bool(user.is_staff)
    return Session(
        f"user:{user.get_username()}",
        bound_to(user, request.session) if is_staff else None,
        lambda permission: is_staff and user.has_perm(permission),
    )


def _is_own_page(request: HttpRequest) -> bool:
    kind = request.META.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()
    # a form of any site can send the other types
    is_json = kind in {JSON_TYPE, OJS_TYPE}
    return (is_json and _is_same_origin(request)) or ((is_json or not kind) and _has_token(request))


def _is_same_origin(request: HttpRequest) -> bool:
    """Tell whether the browser says so."""
    site = request.META.get("HTTP_SEC_FETCH_SITE")
    if site is not None:
        return bool(site == "same-origin")
    origin = request.META.get("HTTP_ORIGIN")
    return origin is not None and urlsplit(origin).netloc == request.get_host()


def _has_token(request: HttpRequest) -> bool:
    """Tell whether the request carries the CSRF token of the login, as Django checks it."""
    check = CSRFCheck(_no_view)
    check.process_request(request)
    return check.process_view(request, _no_view, (), {}) is None


def _no_view(_request: HttpRequest) -> HttpResponse:
    raise AssertionError("the check looks at the request only")
