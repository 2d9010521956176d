"""Bound and record logins at the console and Django's admin. Spec: contract 31.5.

Django reports logins by signals alone, for every page and backend. Customers of a host project log
in elsewhere, and the audit log leaves them out.
"""

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.signals import user_logged_in, user_login_failed
from django.http import HttpRequest

from jobs.domain.access.caller import Caller
from jobs.services.access import throttle_logins
from jobs.services.audit.audit import record

PAGES = {
    "ojs_console": "console",
    "admin": "admin",
}  # names of actors, by application of URLs
MAX_NAME = 150  # of a user


class ThrottledBackend(ModelBackend):
    """Django's own users and passwords, with a bounded number of tries on any page."""

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Check a password. Raises RateLimited after too many recent failures."""
        if request is None or username is None:  # not from a page
            return super().authenticate(request, username, password, **kwargs)
        attempt = throttle_logins.begin(username, request.META.get("REMOTE_ADDR", ""))
        user = super().authenticate(request, username, password, **kwargs)
        if user is not None:
            throttle_logins.succeeded(attempt)
        return user


def watch() -> None:
    """Record logins from now on."""
    user_logged_in.connect(_succeeded, dispatch_uid="ojs_login_success")
    user_login_failed.connect(_failed, dispatch_uid="ojs_login_failure")


def _succeeded(*, request: HttpRequest | None, user: Any, **_: Any) -> None:
    page, name = _page(request), user.get_username()
    if page and request:
        record(_caller(f"{page}:{name}", request), "auth.login_success", name)


def _failed(*, credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any) -> None:
    """Record the tried user name; it is not authenticated, so the entry has no user."""
    page = _page(request)
    if page and request:
        name = str(credentials.get("username", ""))[:MAX_NAME].replace("\x00", "")
        record(
            _caller("anonymous", request),
            "auth.login_failure",
            name,
            outcome="failure",
            data={"at": page},
        )


def _page(request: HttpRequest | None) -> str | None:
    match = request and request.resolver_match
    found = (PAGES[name] for name in match.app_names if name in PAGES) if match else iter(())
    return next(found, None)


def _caller(name: str, request: HttpRequest) -> Caller:
    return Caller(name, address=request.META.get("REMOTE_ADDR"))
