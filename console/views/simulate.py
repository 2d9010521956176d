"""Simulation of other pools, weights and limits: the form, and the result."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from console import simulations, tasks
from console.access import may
from console.callers import caller_of
from console.comparison import groups
from console.views.base import PageView
from jobs.domain.errors import OJSError, Unprocessable
from scheduling.services.scenarios import Wish

FIELDS = ("minutes", "scenario", "changes")
MINUTES = "60"
EXAMPLE_SCENARIO = """\
duration: 5m
workers:
  - {pool: mixed, slots: 4}
jobs:
  - {queue: mail, tenant: blue, arrivals: {poisson: 10}, runs: {exponential: 300ms}}
  - {queue: export, tenant: red, arrivals: {burst: 500}, runs: 300ms}
pools:
  mixed: {queues: [mail, export], strategy: round-robin}
"""
EXAMPLE_CHANGES = """\
pools:
  mixed: {queues: {mail: 4, export: 1}, strategy: weighted, concurrency: 12}
queues:
  export: {concurrency: 2}
scheduling:
  tenant_fairness: {weights: {"tenant:blue": 3}}
"""


class Simulate(PageView):
    """The form, and the latest simulations."""

    template_name = "ojs/console/simulate.html"
    title = "Simulate"
    http_method_names = ["get", "post"]

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Show the form as sent, with the data of an earlier simulation, or empty."""
        fields = kwargs.pop("fields", None) or self._earlier()
        return super().get_context_data(
            fields=fields,
            latest=simulations.latest(),
            is_served=tasks.is_served(),
            most=simulations.MOST_JOBS,
            example_scenario=EXAMPLE_SCENARIO,
            example_changes=EXAMPLE_CHANGES,
            may_start=may(self.request, "simulations.start"),
            **kwargs,
        )

    def _earlier(self) -> dict[str, str]:
        found = simulations.simulation(self.request.GET.get("like", "").replace("\x00", "")[:40])
        if found is None:
            return {"minutes": MINUTES, "scenario": "", "changes": ""}
        return {name: "" if found.wish[name] is None else str(found.wish[name]) for name in FIELDS}

    def post(self, request: HttpRequest) -> HttpResponse:
        """Queue the simulation and show its progress, or show the errors."""
        fields = {name: request.POST.get(name, "").strip() for name in FIELDS}
        try:
            key = simulations.start(_wish(fields), caller_of(request))
        except OJSError as problem:
            shown = self.get_context_data(fields=fields, problem=str(problem))
            return self.render_to_response(shown, status=400)
        return HttpResponseRedirect(reverse("ojs_console:simulated", args=[key]))


def _wish(fields: dict[str, str]) -> Wish:
    """Read the form; a scenario overrides the minutes, which have a default."""
    minutes = fields["minutes"]
    if not fields["scenario"] and not (minutes.isascii() and minutes.isdigit()):
        raise Unprocessable.field("minutes", "must be a number", minutes[:50])
    return Wish(
        None if fields["scenario"] else int(minutes[:9]),
        fields["scenario"],
        fields["changes"],
        most_jobs=simulations.MOST_JOBS,
    )


class Simulated(PageView):
    """The progress of a simulation, then its result."""

    template_name = "ojs/console/simulated.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read the simulation."""
        found = simulations.simulation(kwargs["key"])
        if found is None:
            raise Http404
        return super().get_context_data(
            simulation=found,
            percent=round((found.part or 0) * 100),
            groups=groups(found.found) if found.found else [],
            is_served=found.is_over or tasks.is_served(),
            title=_title(found.wish),
            **kwargs,
        )


def _title(wish: Any) -> str:
    minutes = wish["minutes"]
    return f"Simulation of {'a scenario' if minutes is None else f'the last {minutes} minutes'}"
