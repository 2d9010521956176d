"""Schedules: next runs, past runs, run now, pause, change."""

from collections.abc import Sequence
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from attention.domain.rule import Subject
from console import cron
from console.callers import caller_of, told
from console.templatetags.ojs import cron_reason
from console.views.base import PageView
from console.why import subjects
from console.why.statements import statements
from jobs.domain.errors import NotFound, OJSError
from jobs.domain.states import TERMINAL, State, state_of
from scheduling.api.cron_codec import decode_definition
from scheduling.domain.cron import describe, zones
from scheduling.domain.overlap import Overlap
from scheduling.models import CronEntry
from scheduling.services.cron_entries import entries, upcoming
from scheduling.services.cron_history import history

SIZE, NEXT_RUNS, EXECUTIONS = 50, 10, 50


class Crons(PageView):
    """Schedules by name, a page at a time."""

    template_name = "ojs/console/crons.html"
    title = "Schedules"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read a page; a fixed number of statements."""
        containing = self.request.GET.get("name", "").replace("\x00", "").strip()
        after = self.request.GET.get("after", "").replace("\x00", "")
        listed = entries(caller_of(self.request)).filter(name__contains=containing, name__gte=after)
        found = list(listed.order_by("name", "id")[: SIZE + 1])
        return super().get_context_data(
            rows=cron.rows(found[:SIZE]),
            following=found[SIZE].name if len(found) > SIZE else "",
            containing=containing,
            after=after,
            **kwargs,
        )


def _entry(pk: int, request: HttpRequest) -> CronEntry:
    try:
        return cron.found(pk, caller_of(request))
    except NotFound as problem:
        raise Http404 from problem


class CronDetail(PageView):
    """A schedule: its next runs, its latest runs, its job."""

    template_name = "ojs/console/cron.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read the schedule and its history."""
        entry = _entry(kwargs["pk"], self.request)
        runs = history(entry, EXECUTIONS)
        missing = cron_reason(runs[0].run.reason) if runs else ""
        return super().get_context_data(
            entry=entry,
            why_here=statements(
                self.request,
                subjects.of_schedule(entry, runs, missing, self.tenant),
                Subject.SCHEDULE,
                str(entry.pk),
            ),
            words=describe(entry.expression),
            coming=upcoming(entry, NEXT_RUNS),
            executions=[
                (one.run, one.job, state_of(one.job.state).value if one.job else None)
                for one in runs
            ],
            ask_delete=_question(entry.name, [state_of(one.job.state) for one in runs if one.job]),
            title=entry.name,
            **kwargs,
        )


def _question(name: str, states: Sequence[State]) -> str:
    """Return the question before a deletion; `states` are those of the jobs of its runs."""
    if not states:
        return f"Delete schedule {name}?"
    live = sum(state not in TERMINAL for state in states)
    return (
        f"Delete schedule {name} and its list of runs? Their jobs stay: {live} of the latest "
        f"{len(states)} {'has' if live == 1 else 'have'} not ended."
    )


class CronEdit(PageView):
    """Create or change a schedule."""

    template_name = "ojs/console/cron_edit.html"
    http_method_names = ["get", "post"]

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Show the form as sent, or with the data of the schedule."""
        entry = _entry(kwargs["pk"], self.request) if "pk" in kwargs else None
        fields = kwargs.pop("fields", None) or (cron.fields_of(entry) if entry else cron.EMPTY)
        return super().get_context_data(
            entry=entry,
            fields=fields,
            policies=[policy.value for policy in Overlap],
            zones=sorted(zones()),
            title=f"Change schedule {entry.name}" if entry else "New schedule",
            **kwargs,
        )

    def post(self, request: HttpRequest, **kwargs: Any) -> HttpResponse:
        """Store the schedule and show it, or show the errors."""
        entry = _entry(kwargs["pk"], request) if "pk" in kwargs else None
        fields = {name: request.POST.get(name, "").strip() for name in cron.EMPTY}
        try:
            stored = cron.save(fields, entry, decode_definition, caller_of(request))
        except OJSError as problem:
            shown = self.get_context_data(fields=fields, problem=str(problem), **kwargs)
            return self.render_to_response(shown, status=problem.status)
        told(request, f"Schedule {stored.name} is saved.")
        return HttpResponseRedirect(reverse("ojs_console:cron", args=[stored.pk]))
