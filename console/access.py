"""Access control: the guard in front of each view of the console.

The table of pages (`pages.py`) and the table of actions name the permit of each page and button. A
user who is restricted to tenants sees and changes the data of a single tenant. Operations on all
tenants refuse such users, as they refuse API keys that are bound to a tenant.
"""

from typing import Any

from django.contrib.auth.mixins import LoginRequiredMixin
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse

from console.callers import tenant_of
from console.conf import conf
from console.display import read_display
from console.latest import from_replica, latest_from_now
from console.pages import BY_NAME, Menu, Page, installed
from jobs.api.access.session import login_page
from jobs.domain.access.permits import Permit, Tenants, is_reading
from jobs.domain.errors import InvalidRequest, PermissionDenied
from jobs.permits import table
from jobs.services.access.staff import tenants_of
from jobs.services.read import replica

SAFE = {"GET", "HEAD", "OPTIONS"}
# of the requests by which a shown page is brought up to date: a message is for the next page
UPDATE = "X-OJS-Update"
READ_ONLY = "The console is read-only, so changes are disabled."
UNKNOWN = "The console does not know this operation, so it refuses it."
OF_ALL = "This concerns all tenants, but your account is restricted to some tenants."


def refusal(request: HttpRequest, permit: Permit | None) -> str | None:
    """Return the reason why this user may not use a permit; None if permitted.

    Raises PermissionDenied for a user restricted to tenants of which none is left.
    """
    if permit is None:
        return UNKNOWN
    if missing := [one for one in permit.permissions if not request.user.has_perm(one)]:
        return f"Your account lacks the permission {missing[0]}."
    if conf().read_only and not all(is_reading(one) for one in permit.permissions):
        return READ_ONLY
    bound = tenant_of(request)  # raises for each permit if no tenant is left to see
    return OF_ALL if bound is not None and permit.tenants is Tenants.ALL else None


def may(request: HttpRequest, name: str) -> bool:
    """Return whether this user may use a permit, by its name."""
    return refusal(request, table().named.get(name)) is None


class Allowed:
    """The variable `may` of templates: the permits that this request may use."""

    def __init__(self, request: HttpRequest, group: str = "") -> None:
        """Look up permits whose names begin with `group`."""
        self._request = request
        self._group = group

    def __getitem__(self, name: str) -> Any:
        """Return a group of permits, or whether a permit of the group may be used."""
        if not self._group:
            return Allowed(self._request, name)
        return may(self._request, f"{self._group}.{name}")

    def __iter__(self) -> Any:
        """Raise TypeError; without this method a template would iterate by index without end."""
        raise TypeError("permits are asked for by name")


def frame(request: HttpRequest, page: Page | None = None) -> dict[str, Any]:
    """Return the context of the page frame: the menus with the pages that this user may see.

    Without a logged-in user, or for a user who may see nothing, the menus are empty.
    """
    section = page.section if page else ""
    menus: dict[Menu | None, list[Page]] = {Menu.BAR: [], Menu.MORE: []}
    tenant = None
    if request.user.is_authenticated:
        try:
            tenant = tenant_of(request)
            for one in installed():
                if one.menu and may(request, one.read):
                    menus[one.menu].append(one)
        except PermissionDenied:  # restricted to tenants, and none is left
            menus = {Menu.BAR: [], Menu.MORE: []}
    return {
        "navigation": menus[Menu.BAR],
        "more": menus[Menu.MORE],
        "more_label": next((one.label for one in menus[Menu.MORE] if one.name == section), None),
        "section": section,
        "section_label": next((one.label for one in installed() if one.name == section), ""),
        "may": Allowed(request),
        "display": read_display(request.COOKIES),
        "is_read_only": conf().read_only,
        "is_update": UPDATE in request.headers,
        "tenant": tenant,
        "tenants": tenants_of(request.user) if tenant else (),
        "replica_lag_ms": replica.lag_ms(),
    }


class Guarded(LoginRequiredMixin):
    """A view that requires a permit. A view without an entry in the table is closed to all."""

    request: HttpRequest

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer the request if it is permitted."""
        if not request.user.is_authenticated:
            return super().dispatch(request, *args, **kwargs)
        if not self._can(request):
            return self.http_method_not_allowed(request)  # type: ignore[attr-defined,no-any-return]  # of View
        try:
            why = refusal(request, self.permit())
        except PermissionDenied as problem:  # restricted to tenants, and none is left
            why = f"{str(problem).capitalize()}."
        if why:
            return denied(request, why)
        if request.method not in SAFE:
            return latest_from_now(self._changed(request, *args, **kwargs))
        if self.page is None or not self.page.may_lag:
            return super().dispatch(request, *args, **kwargs)
        return from_replica(
            request, lambda: super(Guarded, self).dispatch(request, *args, **kwargs)
        )

    def _changed(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer a form; a field that its view does not check itself is refused on a page."""
        try:
            return super().dispatch(request, *args, **kwargs)
        except InvalidRequest as problem:
            text = f"{str(problem).capitalize()}."
            facts = {**frame(request), "title": "Not saved", "text": text}
            return TemplateResponse(request, "ojs/console/problem.html", facts, status=400)

    def get_login_url(self) -> str:
        """Return the login page of the project, else of the console."""
        return login_page()

    def permit(self) -> Permit | None:
        """Return the permit that the method needs; None: closed to all."""
        is_reading_page = self.request.method in SAFE
        name = (self.page.read if self.page else "") if is_reading_page else self.posting
        return table().named.get(name)

    @property
    def page(self) -> Page | None:
        """Return the page of the route; None for a route that the table of pages lacks."""
        found = self.request.resolver_match
        return BY_NAME.get((found and found.url_name) or "")

    @property
    def posting(self) -> str:
        """Return the name of the permit of a POST: that of the page, unless the form decides."""
        return self.page.post if self.page else ""

    @property
    def tenant(self) -> str | None:
        """Return the tenant to which the view is limited; None: all tenants."""
        return tenant_of(self.request)

    def _can(self, request: HttpRequest) -> bool:
        """Return whether the view has the method; without it each user gets 405."""
        method = (request.method or "").lower()
        return method in self.http_method_names and hasattr(self, method)  # type: ignore[attr-defined]  # of View


def denied(request: HttpRequest, why: str) -> HttpResponse:
    """Return the page of a refusal, with the reason."""
    facts = {**frame(request), "title": "Not allowed", "why": why}
    return TemplateResponse(request, "ojs/console/denied.html", facts, status=403)
