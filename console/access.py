"""Who may see and do what: the one guard that every view of the console stands behind.

The table of permits says what a page or a button takes (`permits.py`). Whoever is restricted to
tenants sees and touches the things of one alone. An operation on all tenants is closed to them, as
it is to API keys that are bound to a tenant.
"""

from typing import Any

from django.contrib.auth.mixins import LoginRequiredMixin
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse

from console.callers import tenant_of
from console.conf import conf
from console.permits import to_post, to_read
from jobs.domain.errors import PermissionDenied
from jobs.domain.permits import Permit, Tenants, is_reading
from jobs.permits import table

SAFE = {"GET", "HEAD", "OPTIONS"}
READ_ONLY = "The console is read-only: nothing can be changed here."
UNKNOWN = "The table of permits lacks this: nobody may."
OF_ALL = "This concerns all tenants, and your account is restricted to some."


def refusal(request: HttpRequest, permit: Permit | None) -> str | None:
    """Say why whoever is logged in may not use a permit here; None: they may.

    Raises PermissionDenied for a user who is restricted to no tenant.
    """
    if permit is None:
        return UNKNOWN
    if missing := [one for one in permit.permissions if not request.user.has_perm(one)]:
        return f"Your account lacks the permission {missing[0]}."
    if conf().read_only and not all(is_reading(one) for one in permit.permissions):
        return READ_ONLY
    bound = tenant_of(request)  # raises, whatever the permit, where there is no tenant to see
    return OF_ALL if bound is not None and permit.tenants is Tenants.ALL else None


def may(request: HttpRequest, name: str) -> bool:
    """Tell whether whoever is logged in may use a permit here, by its name."""
    return refusal(request, table().named.get(name)) is None


class Allowed:
    """What templates know as `may`: the permits that can be used in this request."""

    def __init__(self, request: HttpRequest, group: str = "") -> None:
        """Ask about the permits whose names begin with `group`."""
        self._request = request
        self._group = group

    def __getitem__(self, name: str) -> Any:
        """Return the permits of a group, or whether one of them can be used."""
        if not self._group:
            return Allowed(self._request, name)
        return may(self._request, f"{self._group}.{name}")

    def __iter__(self) -> Any:
        """Refuse: without it a template would ask for item after item."""
        raise TypeError("permits are asked for by name")


class Guarded(LoginRequiredMixin):
    """A view for who has its permit. A view that the table lacks lets nobody in."""

    request: HttpRequest

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Let in who may."""
        if not request.user.is_authenticated:
            return super().dispatch(request, *args, **kwargs)
        if not self._can(request):
            return self.http_method_not_allowed(request)  # type: ignore[attr-defined,no-any-return]  # of View
        try:
            why = refusal(request, self.permit())
        except PermissionDenied as problem:  # restricted to tenants, of which there is none
            why = f"{str(problem).capitalize()}."
        return denied(request, why) if why else super().dispatch(request, *args, **kwargs)

    def permit(self) -> Permit | None:
        """Return what the method takes."""
        return to_read(self.route) if self.request.method in SAFE else to_post(self.posted)

    @property
    def route(self) -> str:
        """The name of the route."""
        found = self.request.resolver_match
        return (found and found.url_name) or ""

    @property
    def posted(self) -> str:
        """What posting does, as the table names it: the route, unless one route does several."""
        return self.route

    @property
    def tenant(self) -> str | None:
        """The tenant whose things alone may be shown; None: all."""
        return tenant_of(self.request)

    def _can(self, request: HttpRequest) -> bool:
        """Tell whether the view has the method; others answer 405, whoever asks."""
        method = (request.method or "").lower()
        return method in self.http_method_names and hasattr(self, method)  # type: ignore[attr-defined]  # of View


def denied(request: HttpRequest, why: str) -> HttpResponse:
    """Answer who may not, with the reason."""
    facts = {"navigation": (), "title": "Not allowed", "why": why}
    return TemplateResponse(request, "ojs/console/denied.html", facts, status=403)
