"""Who may see and do what: the one guard that every view of the console stands behind.

Reading takes a permission of viewers, acting one of operators, configuring one of admins
(`roles.py`). Who is restricted to tenants sees and touches the things of one alone; what concerns
all tenants is closed to them, as it is to API keys that are bound to a tenant.
"""

from typing import Any, ClassVar

from django.contrib.auth.mixins import LoginRequiredMixin, PermissionRequiredMixin
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse

from console.callers import tenant_of
from console.conf import conf
from console.roles import OF_ONE_TENANT, is_reading
from jobs.domain.errors import PermissionDenied

SAFE = {"GET", "HEAD", "OPTIONS"}
READ_ONLY = "The console is read-only: nothing can be changed here."
OF_ALL = "This concerns all tenants, and your account is restricted to some."


def refusal(request: HttpRequest, *permissions: str) -> str | None:
    """Say why whoever is logged in may not use permissions here; None: they may."""
    if missing := [one for one in permissions if not request.user.has_perm(one)]:
        return f"Your account lacks the permission {missing[0]}."
    acting = [one for one in permissions if not is_reading(one)]
    if acting and conf().read_only:
        return READ_ONLY
    if tenant_of(request) is not None and not OF_ONE_TENANT.issuperset(acting):
        return OF_ALL
    return None


def may(request: HttpRequest, *permissions: str) -> bool:
    """Tell whether whoever is logged in may use permissions here."""
    return refusal(request, *permissions) is None


class Allowed:
    """What templates know as `perms`: the permissions that can be used in this request."""

    def __init__(self, request: HttpRequest, app: str = "") -> None:
        """Ask about an application, `app`."""
        self._request = request
        self._app = app

    def __getitem__(self, name: str) -> Any:
        """Return the permissions of an application, or whether one of them can be used."""
        if not self._app:
            return Allowed(self._request, name)
        return may(self._request, f"{self._app}.{name}")

    def __iter__(self) -> Any:
        """Refuse: without it a template would ask for item after item."""
        raise TypeError("permissions are asked for by name")


class Guarded(LoginRequiredMixin, PermissionRequiredMixin):
    """A view for who has a permission: of viewers to read, of operators or admins to post.

    A view without one lets nobody in. `is_global` closes it to who is restricted to tenants.
    """

    permission_to_post: ClassVar[str | tuple[str, ...]] = ()  # empty: what reading takes
    is_global: ClassVar[bool] = False
    request: HttpRequest

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Let in who may."""
        if not request.user.is_authenticated:
            return super().dispatch(request, *args, **kwargs)
        if not self._can(request):
            return self.http_method_not_allowed(request)  # type: ignore[attr-defined,no-any-return]  # of View
        try:
            why = self._refusal(request)
        except PermissionDenied as problem:  # restricted to tenants, of which there is none
            why = f"{str(problem).capitalize()}."
        return denied(request, why) if why else super().dispatch(request, *args, **kwargs)

    def get_permission_required(self) -> tuple[str, ...]:
        """Return what the method takes."""
        if self.request.method not in SAFE and self.permission_to_post:
            posting = self.permission_to_post
            return (posting,) if isinstance(posting, str) else posting
        return tuple(super().get_permission_required())

    @property
    def tenant(self) -> str | None:
        """The tenant whose things alone may be shown; None: all."""
        return tenant_of(self.request)

    def _can(self, request: HttpRequest) -> bool:
        """Tell whether the view has the method; others answer 405, whoever asks."""
        method = (request.method or "").lower()
        return method in self.http_method_names and hasattr(self, method)  # type: ignore[attr-defined]  # of View

    def _refusal(self, request: HttpRequest) -> str | None:
        if self.is_global and tenant_of(request) is not None:
            return OF_ALL
        return refusal(request, *self.get_permission_required())


def denied(request: HttpRequest, why: str) -> HttpResponse:
    """Answer who may not, with the reason."""
    facts = {"navigation": (), "title": "Not allowed", "why": why}
    return TemplateResponse(request, "ojs/console/denied.html", facts, status=403)
