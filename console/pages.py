"""The base of all pages: the guard, the navigation and the permitted actions."""

from collections.abc import Sequence
from typing import Any

from django.apps import apps
from django.views.generic import TemplateView

from console.access import Allowed, Guarded, refusal
from console.conf import conf
from console.permits import to_read
from jobs.services.access.staff import tenants_of

NAVIGATION = (
    ("overview", "Overview"),
    ("jobs", "Jobs"),
    ("queues", "Queues"),
    ("dead_letter", "Dead letter"),
    ("crons", "Schedules"),
    ("workflows", "Workflows"),
    ("pools", "Pools"),
    ("tenants", "Tenants"),
    ("workers", "Workers"),
)
MORE = (  # behind one menu entry, for lack of room
    ("versions", "Versions"),
    ("limits", "Limits"),
    ("schemas", "Schemas"),
    ("operations", "Operations"),
    ("regions", "Regions"),
    ("events", "Events"),
    ("webhooks", "Webhooks"),
    ("audit", "Audit"),
    ("api_keys", "API keys"),
    ("system", "System"),
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
    """Return name and label of the pages whose app is installed."""
    return [
        page for page in pages if page[0] not in OPTIONAL or apps.is_installed(OPTIONAL[page[0]])
    ]


class Page(Guarded, TemplateView):
    """A page; `section` is its name in the navigation."""

    section = ""
    title = ""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add the context of the page frame."""
        return super().get_context_data(
            **{
                "navigation": self._open(present(NAVIGATION)),
                "more": self._open(present(MORE)),
                "more_label": dict(MORE).get(self.section),
                "section": self.section,
                "title": self.title,
                "may": Allowed(self.request),
                "is_read_only": conf().read_only,
                "tenant": self.tenant,
                "tenants": tenants_of(self.request.user) if self.tenant else (),
                **kwargs,
            }
        )

    def _open(self, pages: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return the pages that this user may see."""
        return [page for page in pages if refusal(self.request, to_read(page[0])) is None]
