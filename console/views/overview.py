"""The overview: counts, throughput, failures, workers."""

from typing import Any

from console import queries
from console.alerts import shown
from console.chart import chart
from console.marks import Subject
from console.tour import tour
from console.views.base import PageView
from jobs.services.operate import queues
from jobs.services.workers.workers import WorkerFilter, workers

QUEUES, FAILURES, WORKERS = 20, 8, 8


class Overview(PageView):
    """The first page."""

    template_name = "ojs/console/overview.html"
    title = "Overview"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read the counts; a fixed number of statements."""
        depths = queues.depths(self.tenant)
        found = queues.all_stats(limit=QUEUES, tenant=self.tenant, by_queue=depths)
        return super().get_context_data(
            totals=queues.totals(depths),
            queues=found,
            oldest=queues.oldest_of([queue.name for queue in found], self.tenant),
            chart=chart(self.request, Subject(tenant=self.tenant)),
            alerts=shown(self.tenant),
            failures=queries.failures(FAILURES, self.tenant),
            tour=tour(self.request),
            is_new=not found,
            workers=None if self.tenant else workers(WorkerFilter(), limit=WORKERS),
            **kwargs,
        )
