"""Workers: who lives, what each holds, directives."""

from typing import Any

from console.pages import Page
from jobs.services.maintenance import maintenance
from jobs.services.workers import WorkerFilter, workers

MOST = 500


class Workers(Page):
    """Workers, those that ended on request."""

    template_name = "ojs/console/workers.html"
    section, title = "workers", "Workers"
    is_global = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read the workers."""
        with_ended = self.request.GET.get("ended") == "1"
        found = workers(WorkerFilter(with_ended=with_ended), limit=MOST + 1)
        return super().get_context_data(
            workers=found[:MOST],
            is_longer=len(found) > MOST,
            with_ended=with_ended,
            maintenance=maintenance(),
            **kwargs,
        )
