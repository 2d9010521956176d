"""Workers: who lives, what each runs now, directives."""

from typing import Any

import orjson
from django.http import Http404

from console import queries
from console.pages import Page
from jobs.domain.errors import NotFound
from jobs.models import Worker
from jobs.services.maintenance import maintenance
from jobs.services.workers import WorkerFilter, worker, workers

MOST = 500
HELD = 200
MEMORY = ("memory_bytes", "rss_bytes")  # labels in which a worker may report it


class Workers(Page):
    """Workers, those that ended on request."""

    template_name = "ojs/console/workers.html"
    section, title = "workers", "Workers"
    permission_required = "ojs_jobs.view_worker"
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


class WorkerDetail(Page):
    """One worker: what it runs now, what it accepts, what it said of itself."""

    template_name = "ojs/console/worker.html"
    section = "workers"
    permission_required = "ojs_jobs.view_worker"
    is_global = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read the worker; a fixed number of statements. Raises Http404."""
        name = kwargs["name"].replace("\x00", "")
        try:
            found = worker(name)
        except NotFound as problem:
            raise Http404 from problem
        labels = orjson.loads(found.labels or "null")
        held = queries.held(name, HELD + 1)
        declared = Worker.objects.filter(id=name).values_list("declaration", flat=True).first()
        return super().get_context_data(
            worker=found,
            held=held[:HELD],
            is_longer=len(held) > HELD,
            labels=labels,
            memory=_memory(labels),
            declaration=declared,
            title=name,
            **kwargs,
        )


def _memory(labels: object) -> int | None:
    """Return the memory a worker reports, in bytes."""
    if not isinstance(labels, dict):
        return None
    found = (labels.get(name) for name in MEMORY)
    return next((one for one in found if isinstance(one, int) and one >= 0), None)
