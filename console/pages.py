"""What every page has: login, permission, navigation."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django.apps import apps
from django.contrib.auth.mixins import LoginRequiredMixin, PermissionRequiredMixin
from django.http import HttpRequest, HttpResponse
from django.views.generic import TemplateView

from console.callers import caller_of

SAFE = {"GET", "HEAD", "OPTIONS"}

NAVIGATION = (
    ("overview", "Overview"),
    ("jobs", "Jobs"),
    ("queues", "Queues"),
    ("dead_letter", "Dead letter"),
    ("crons", "Schedules"),
    ("workflows", "Workflows"),
    ("limits", "Limits"),
    ("pools", "Pools"),
    ("tenants", "Tenants"),
    ("workers", "Workers"),
)
MORE = (  # behind one entry: all of them do not fit
    ("versions", "Versions"),
    ("schemas", "Schemas"),
    ("operations", "Operations"),
    ("events", "Events"),
    ("webhooks", "Webhooks"),
    ("audit", "Audit"),
)
# pages of apps that may be absent
OPTIONAL = {
    "workflows": "workflows",
    "crons": "scheduling",
    "pools": "scheduling",
    "tenants": "tenancy",
    "schemas": "versioning",
    "versions": "versioning",
    "webhooks": "webhooks",
}


def present(pages: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the pages there are: name and label."""
    return [
        page for page in pages if page[0] not in OPTIONAL or apps.is_installed(OPTIONAL[page[0]])
    ]


def may(request: HttpRequest, *permissions: str) -> bool:
    """Tell whether whoever is logged in may use permissions here."""
    return bool(request.user.has_perms(permissions))


class Page(LoginRequiredMixin, PermissionRequiredMixin, TemplateView):
    """A page for those who may see jobs; `section` is its name in the navigation."""

    permission_required = "ojs_jobs.view_job"
    permission_to_post: ClassVar[str | tuple[str, ...]] = ()  # empty: what reading takes
    section = ""
    title = ""

    @property
    def tenant(self) -> str | None:
        """The tenant whose things alone may be shown; None: all."""
        return caller_of(self.request).tenant

    def get_permission_required(self) -> tuple[str, ...]:
        """Return what the method takes."""
        if self.request.method not in SAFE and self.permission_to_post:
            posting = self.permission_to_post
            return (posting,) if isinstance(posting, str) else posting
        return tuple(super().get_permission_required())

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add what the frame of the page shows."""
        return super().get_context_data(
            **{
                "navigation": present(NAVIGATION),
                "more": present(MORE),
                "more_label": dict(MORE).get(self.section),
                "section": self.section,
                "title": self.title,
                **kwargs,
            }
        )

    def handle_no_permission(self) -> HttpResponse:  # type: ignore[override]  # redirect or page
        """Send strangers to the login and tell users what they lack."""
        if not self.request.user.is_authenticated:
            return super().handle_no_permission()
        return self.response_class(
            self.request,
            "ojs/console/denied.html",
            {"navigation": (), "title": "Not allowed", "permission": self.permission_required},
            status=403,
        )
