"""The list of jobs, with filters."""

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from console import columns, saved, search
from console.actions.chosen import choices
from console.bulk import for_all
from console.filters import STATES, JobFilter
from console.views.base import PageView
from jobs.domain.wire.ids import is_id

PERIODS = ("15m", "1h", "6h", "24h", "7d")


class Jobs(PageView):
    """Jobs by filter, a page at a time."""

    template_name = "ojs/console/jobs.html"
    title = "Jobs"

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Redirect to a job if its id was typed."""
        typed = request.GET.get("id", "").strip().lower()
        if is_id(typed):
            return HttpResponseRedirect(reverse("ojs_console:job", args=[typed]))
        return super().get(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read a page."""
        wanted = JobFilter.read(self.request.GET, self.tenant)
        kept = saved.read(self.request.user, "jobs")
        shown = columns.chosen(self.request.GET.getlist("columns"), kept.columns)
        page = search.page(wanted)
        more = columns.query(shown, kept.columns)
        return super().get_context_data(
            wanted=wanted,
            page=page,
            states=STATES,
            periods=PERIODS,
            columns=shown,
            chosen_columns=more,
            all_columns=columns.COLUMNS.values(),
            views=kept.views,
            view_query=urlencode(wanted.chosen() | more),
            typed=self.request.GET.get("id", ""),
            **for_all(wanted, self.request, more),
            choices=choices(wanted, self.request),
            next_link=_link(wanted.link(page.next), more) if page.next else "",
            first_link=_link(wanted.link(), more),
            **kwargs,
        )


def _link(query: str, more: dict[str, str]) -> str:
    return "&".join(part for part in (query, urlencode(more)) if part)
