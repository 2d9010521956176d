"""Queues: number and age of waiting jobs, pause and resume, configure, purge."""

from typing import Any
from urllib.parse import urlencode

import orjson
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from attention.domain.rule import Subject as FindingSubject
from console import alerts, runbooks, simulating, tasks
from console.access import may
from console.callers import caller_of, told
from console.chart import chart
from console.marks import Subject
from console.objectives import objective_shown
from console.queue_forms import QueueForm, fields_of, proposed
from console.views.base import PageView
from console.why import subjects
from console.why.statements import statements
from jobs.domain.errors import NotFound, OJSError
from jobs.domain.lanes.queues import STRATEGIES
from jobs.domain.wire import jsonio
from jobs.services.audit.audit import done_to
from jobs.services.lanes import queue_config
from jobs.services.lanes.limits import override_of_queue
from jobs.services.operate.queues import all_stats, oldest_available, oldest_of, stats
from jobs.services.record.objectives import judged

SIZE = 100
ENTRIES = 20


class Queues(PageView):
    """Queues by name with their counts, a page at a time."""

    template_name = "ojs/console/queues.html"
    title = "Queues"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read a page of the queues whose name contains the typed text."""
        containing, after = (self._text(name) for name in ("name", "after"))
        read = all_stats(limit=SIZE + 1, containing=containing, after=after, tenant=self.tenant)
        found = read[:SIZE]
        since = oldest_of([one.name for one in found], self.tenant)
        following = urlencode({"name": containing, "after": found[-1].name}) if found else ""
        return super().get_context_data(
            rows=[(one, since.get(one.name)) for one in found],
            containing=containing,
            after=after,
            first_link=urlencode({"name": containing}),
            next_link=following if len(read) > SIZE else "",
            **kwargs,
        )

    def _text(self, name: str) -> str:
        return self.request.GET.get(name, "").replace("\x00", "").strip()


class QueueDetail(PageView):
    """A queue: its counts, its configuration, its audit log, and the purge."""

    template_name = "ojs/console/queue.html"
    http_method_names = ["get", "post"]

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read the queue; a fixed number of statements. Raises Http404."""
        name = kwargs["name"].replace("\x00", "")
        try:
            found = stats(name, self.tenant)
        except NotFound as problem:
            raise Http404 from problem
        if self.tenant and not any(found.jobs.values()):
            raise Http404  # this tenant has no job in the queue
        may_audit = may(self.request, "audit.see")
        return super().get_context_data(
            **{
                "queue": found,
                "since": oldest_available(name, self.tenant),
                "chart": None if self.tenant else chart(self.request, Subject(queue=name)),
                "objective": None if self.tenant else objective_shown(judged(name, found.config)),
                "objective_alerts": alerts.of_objectives(),
                "config": orjson.dumps(found.config, option=orjson.OPT_INDENT_2).decode(),
                "fields": simulating.fields(self.request, "queue", name) or fields_of(found.config),
                "simulate": None if self.tenant else simulating.offer(self.request),
                "strategies": STRATEGIES,
                "override": None if self.tenant else override_of_queue(name),
                "why_here": statements(
                    self.request,
                    subjects.of_queue(name, found.paused_at, self.tenant),
                    FindingSubject.QUEUE,
                    name,
                ),
                "entries": done_to(name, "queue", limit=ENTRIES) if may_audit else None,
                "operations": None if self.tenant else tasks.operations(),
                "runbook": runbooks.of_page(self.request, name, ("queue", name)),
                "title": name,
                **kwargs,
            }
        )

    def post(self, request: HttpRequest, name: str) -> HttpResponse:
        """Store or simulate the configuration of the form or the JSON text, or show the errors."""
        written = request.POST.get("config")
        form = QueueForm(request.POST)
        if simulating.is_asked(request):
            return self._simulated(form)
        form.is_valid()
        who = caller_of(request)
        try:
            wanted = form.wanted if written is None else _parsed(written)
            queue_config.replace(name, wanted, who)
        except NotFound as problem:
            raise Http404 from problem
        except OJSError as problem:
            if written is None:
                form.refuse(problem)
                return self._refused(form)
            shown = self.get_context_data(name=name, config=written, problem=str(problem))
            return self.render_to_response(shown, status=400)
        told(request, f"The configuration of queue {name} is saved and applies now.")
        return HttpResponseRedirect(reverse("ojs_console:queue", args=[name]))

    def _simulated(self, form: QueueForm) -> HttpResponse:
        name = self.kwargs["name"]
        begun = simulating.begin(
            self.request, form, lambda: proposed(name, form.wanted, form.shown)
        )
        return begun or self._refused(form)

    def _refused(self, form: QueueForm) -> HttpResponse:
        shown = self.get_context_data(name=self.kwargs["name"], fields=form.shown, wrong=form.wrong)
        return self.render_to_response(shown, status=400)


def _parsed(written: str) -> dict[str, Any]:
    return jsonio.loads_object(written.encode(), jsonio.REQUEST_DEPTH)
