"""The dead letter: jobs that used up their attempts, to retry or delete."""

from typing import Any

from console.actions import for_all
from console.filters import JobFilter, dead_letters
from console.pages import Page
from jobs.domain.states import State
from jobs.services.dead_letter import dead_letter_stats
from jobs.services.retain import retention_of

GROUPS = 12
TOLD_APART = 2000  # of the latest dead jobs


class DeadLetter(Page):
    """Dead jobs by filter, a page at a time."""

    template_name = "ojs/console/dead_letter.html"
    section, title = "dead_letter", "Dead letter"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read one page and the operator tasks."""
        wanted = JobFilter.read(self.request.GET, self.tenant)
        page = dead_letters(wanted)
        numbers = dead_letter_stats(self.tenant, looked=TOLD_APART)
        return super().get_context_data(
            wanted=wanted,
            page=page,
            **for_all(wanted, State.DISCARDED, self.request, dead="1"),
            numbers=numbers,
            groups=list(numbers.by_error_type.items())[:GROUPS],
            told_apart=TOLD_APART,
            kept=retention_of(wanted.queue or None),
            next_link=wanted.link(page.next) if page.next else "",
            first_link=wanted.link(),
            **kwargs,
        )
