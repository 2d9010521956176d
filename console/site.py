"""Django's admin beside the console: for users of all tenants, and read-only if the console is."""

from typing import Any

from django.contrib.admin import AdminSite
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from console.access import READ_ONLY, SAFE, denied
from console.admin_groups import PLAIN, Plain, grouped
from console.conf import conf
from jobs.services.access.staff import tenants_of


class Site(AdminSite):
    """The admin site of this server; `ojs_project/templates/admin` themes its pages."""

    site_header = site_title = "Open Job Spec"
    index_title = "Administration"

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        """Leave out the tables of django-q2, whose rows name functions for the cluster to run."""
        given: Any = model_or_iterable
        given = [given] if isinstance(given, type) else given
        shown = [model for model in given if model._meta.app_label != "django_q"]
        super().register(shown, admin_class, **options)

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """List the models by subject; the last group has the bookkeeping of the server."""
        listed = super().get_app_list(request, app_label)
        return listed if app_label else grouped(listed)

    def plain(self, label: str) -> Plain | None:
        """Return the name of a model for operators, and what its rows are."""
        return PLAIN.get(label)

    def has_permission(self, request: HttpRequest) -> bool:
        """Keep out users restricted to tenants, because the admin shows all tenants."""
        return super().has_permission(request) and tenants_of(request.user) is None

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:  # noqa: FBT001, FBT002 - Django's signature
        """Refuse changes while the console is read-only."""
        inner = super().admin_view(view, cacheable)

        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            is_leaving = getattr(view, "__name__", "") == "logout"
            if conf().read_only and request.method not in SAFE and not is_leaving:
                answer: HttpResponseBase = denied(request, READ_ONLY).render()  # type: ignore[attr-defined]  # a TemplateResponse
                return answer
            shown: HttpResponseBase = inner(request, *args, **kwargs)
            return shown

        return guarded
