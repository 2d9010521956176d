"""What every page has: login, permission, navigation."""

from collections.abc import Sequence
from typing import Any

from django.apps import apps
from django.contrib.auth.mixins import LoginRequiredMixin, PermissionRequiredMixin
from django.http import HttpResponse
from django.views.generic import TemplateView

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
    ("regions", "Regions"),
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
    "regions": "federation",
    "versions": "versioning",
    "webhooks": "webhooks",
}


def present(pages: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the pages there are: name and label."""
    return [
        page for page in pages if page[0] not in OPTIONAL or apps.is_installed(OPTIONAL[page[0]])
    ]


class Page(LoginRequiredMixin, PermissionRequiredMixin, TemplateView):
    """A page for those who may see jobs; `section` is its name in the navigation."""

    permission_required = "ojs_jobs.view_job"
    section = ""
    title = ""

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
