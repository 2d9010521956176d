"""Let logged-in staff use the API from their browser. Spec: contract 24.5, 31.

A session is read only when a request brings no key: API paths have no session middleware.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest, HttpResponse
from django.shortcuts import resolve_url
from django.urls import NoReverseMatch, reverse
from rest_framework.authentication import CSRFCheck

from jobs.api.wire.media import JSON_TYPE, OJS_TYPE
from jobs.domain.errors import PermissionDenied
from jobs.services.access.staff import bound_to

SAFE: Final = {"GET", "HEAD", "OPTIONS"}


@dataclass(frozen=True, slots=True)
class Session:
    """A logged-in user: the name, the tenant it is restricted to, its permissions."""

    name: str
    tenant: str | None
    holds: Callable[[str], bool]  # checks a permission


def staff(request: HttpRequest) -> Session | None:
    """Return the logged-in user, None without one.

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


def login_page() -> str:
    """Return the path of the login page: the project's, else the console's."""
    if not settings.is_overridden("LOGIN_URL"):  # type: ignore[misc]  # unknown to its stubs
        with contextlib.suppress(NoReverseMatch):
            return reverse("ojs_console:login")
    return resolve_url(settings.LOGIN_URL)


def _is_own_page(request: HttpRequest) -> bool:
    kind = request.META.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()
    # a form of any site can send the other content types
    is_json = kind in {JSON_TYPE, OJS_TYPE}
    return (is_json and _is_same_origin(request)) or ((is_json or not kind) and _has_token(request))


def _is_same_origin(request: HttpRequest) -> bool:
    """Return whether the browser's headers prove the same origin."""
    site = request.META.get("HTTP_SEC_FETCH_SITE")
    if site is not None:
        return bool(site == "same-origin")
    origin = request.META.get("HTTP_ORIGIN")
    return origin is not None and urlsplit(origin).netloc == request.get_host()


def _has_token(request: HttpRequest) -> bool:
    """Return whether the request carries the CSRF token of the login, as Django checks it."""
    check = CSRFCheck(_no_view)
    check.process_request(request)
    return check.process_view(request, _no_view, (), {}) is None


def _no_view(_request: HttpRequest) -> HttpResponse:
    raise AssertionError("the check looks at the request only")
