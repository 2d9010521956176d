"""The list of jobs, with filters."""

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from console.actions import for_all
from console.filters import STATES, JobFilter, jobs
from console.pages import Page
from jobs.domain.ids import is_id


class Jobs(Page):
    """Jobs by filter, a page at a time."""

    template_name = "ojs/console/jobs.html"
    section, title = "jobs", "Jobs"

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Go straight to a job whose id was typed."""
        typed = request.GET.get("id", "").strip().lower()
        if is_id(typed):
            return HttpResponseRedirect(reverse("ojs_console:job", args=[typed]))
        return super().get(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read one page."""
        wanted = JobFilter.read(self.request.GET, self.tenant)
        page = jobs(wanted)
        return super().get_context_data(
            wanted=wanted,
            page=page,
            states=STATES,
            typed=self.request.GET.get("id", ""),
            **for_all(wanted, STATES.get(wanted.state), self.request),
            next_link=wanted.link(page.next) if page.next else "",
            first_link=wanted.link(),
            **kwargs,
        )
