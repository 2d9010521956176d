"""Workers: their state, their running jobs, directives."""

import re
from typing import Any
from urllib.parse import urlencode

import orjson
from django.http import Http404

from attention.domain.rule import Subject
from console import queries
from console.views.base import PageView
from console.why import subjects
from console.why.statements import statements
from jobs.domain.errors import NotFound
from jobs.models import Worker
from jobs.services.operate.maintenance import maintenance
from jobs.services.workers.workers import WorkerFilter, WorkerPlace, worker, workers

SIZE = 100
PLACE = re.compile(r"([0-3])~(.+)", re.DOTALL)
HELD = 200
MEMORY = ("memory_bytes", "rss_bytes")  # labels in which a worker may report its memory


class Workers(PageView):
    """Workers by name, a page at a time; ended workers on request."""

    template_name = "ojs/console/workers.html"
    title = "Workers"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read a page; a fixed number of statements."""
        with_ended = self.request.GET.get("ended") == "1"
        containing = self._text("name")
        after = PLACE.fullmatch(self._text("after"))
        found = workers(
            WorkerFilter(with_ended=with_ended, containing=containing or None),
            limit=SIZE + 1,
            after=WorkerPlace(int(after[1]), after[2]) if after else None,
        )
        chosen = {"name": containing, "ended": "1" if with_ended else ""}
        last = found[SIZE - 1] if len(found) > SIZE else None
        return super().get_context_data(
            workers=found[:SIZE],
            with_ended=with_ended,
            containing=containing,
            first_link=_link(chosen) if after else "",
            next_link=_link(chosen | {"after": f"{last.rank}~{last.id}"}) if last else "",
            other_link=_link({"name": containing, "ended": "" if with_ended else "1"}),
            maintenance=maintenance(),
            **kwargs,
        )

    def _text(self, name: str) -> str:
        return self.request.GET.get(name, "").replace("\x00", "").strip()


def _link(chosen: dict[str, str]) -> str:
    return "?" + urlencode({name: value for name, value in chosen.items() if value})


class WorkerDetail(PageView):
    """A worker: its running jobs, the versions it accepts, and its own labels."""

    template_name = "ojs/console/worker.html"

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
            why_here=statements(self.request, subjects.of_worker(found), Subject.WORKER, name),
            title=name,
            **kwargs,
        )


def _memory(labels: object) -> int | None:
    """Return the memory that a worker reports, in bytes."""
    if not isinstance(labels, dict):
        return None
    found = (labels.get(name) for name in MEMORY)
    return next((one for one in found if isinstance(one, int) and one >= 0), None)
