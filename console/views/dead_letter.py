"""The dead letter: jobs that used up their attempts, to retry or delete."""

from typing import Any

from console.filters import JobFilter, dead_letters
from console.pages import Page
from console.tasks import operations


class DeadLetter(Page):
    """Dead jobs by filter, a page at a time."""

    template_name = "ojs/console/dead_letter.html"
    section, title = "dead_letter", "Dead letter"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read one page and the operator tasks."""
        wanted = JobFilter.read(self.request.GET)
        page = dead_letters(wanted)
        return super().get_context_data(
            wanted=wanted,
            page=page,
            operations=operations(),
            next_link=wanted.link(page.next) if page.next else "",
            first_link=wanted.link(),
            **kwargs,
        )
