"""The dead letter: jobs that used up their attempts, by error, to retry or delete."""

from dataclasses import replace
from typing import Any

from django.utils import timezone

from console import saved, search
from console.actions.chosen import choices
from console.bulk import for_all
from console.failure_groups import groups
from console.filters import JobFilter
from console.views.base import PageView
from jobs.services.outcome.retain import retention_of


class DeadLetter(PageView):
    """Dead jobs by filter, a page at a time, and the groups of their errors."""

    template_name = "ojs/console/dead_letter.html"
    title = "Dead letter"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read a page, and group the latest dead jobs if the filter only names what groups have.

        The numbers of the groups would be wrong for any other filter. They stand on the first page.
        """
        asked = JobFilter.read(self.request.GET, self.tenant)
        wanted = replace(asked, dead="1", state="")
        page = search.page(wanted)
        named = JobFilter(queue=wanted.queue, type=wanted.type, tenant=wanted.tenant)
        is_grouped = replace(wanted, queue="", type="", tenant="", fingerprint="", by="").is_empty
        found = groups(wanted, timezone.now()) if is_grouped and not wanted.after else None
        return super().get_context_data(
            wanted=wanted,
            page=page,
            found=found,
            chart=found and found.chart(),
            group=found.groups[0] if found and wanted.fingerprint and found.groups else None,
            grouped_link="" if is_grouped else named.link(),
            views=saved.read(self.request.user, "dead_letter").views,
            view_query=wanted.link(),
            **for_all(wanted, self.request),
            choices=choices(wanted, self.request),
            kept=retention_of(wanted.queue or None),
            next_link=wanted.link(page.next) if page.next else "",
            first_link=replace(wanted, after="").link(),
            **kwargs,
        )
