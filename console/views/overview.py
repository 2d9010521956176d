"""How is the system: counts, throughput, failures, workers."""

from typing import Any

from django.utils import timezone

from console import queries
from console.chart import chart
from console.pages import Page
from jobs.services import queues
from jobs.services.health import health
from jobs.services.maintenance import maintenance
from jobs.services.workers import WorkerFilter, workers

QUEUES, FAILURES, WORKERS = 20, 8, 8


class Overview(Page):
    """The first page."""

    template_name = "ojs/console/overview.html"
    section, title = "overview", "Overview"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read the numbers; a fixed number of statements."""
        return super().get_context_data(
            totals=queues.totals(self.tenant),
            queues=queues.all_stats(limit=QUEUES, tenant=self.tenant),
            chart=chart(
                queries.tenant_hour(self.tenant) if self.tenant else queries.hour(), timezone.now()
            ),
            failures=queries.failures(FAILURES, self.tenant),
            workers=None if self.tenant else workers(WorkerFilter(), limit=WORKERS),
            maintenance=maintenance(),
            health=health(),
            **kwargs,
        )
