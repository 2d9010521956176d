"""Simulation of other pools, weights and limits: the form, and the result."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.functional import cached_property

from console import proposals, simulations, tasks
from console.access import may
from console.callers import caller_of, require_reason, told
from console.comparison import groups
from console.proposals import Proposal
from console.simulating import PERMIT
from console.simulations import Simulation
from console.trials import trial
from console.views.base import PageView
from jobs.domain.access.caller import Caller
from jobs.domain.errors import Conflict, OJSError, Unprocessable
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
    """The progress of a simulation, then its result; a change of a form can be applied."""

    template_name = "ojs/console/simulated.html"
    http_method_names = ["get", "post"]

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read the simulation; a fixed number of statements. Raises Http404."""
        found = self._found
        if found is None:
            raise Http404
        return super().get_context_data(
            simulation=found,
            percent=round((found.part or 0) * 100),
            groups=groups(found.found) if found.found else [],
            is_served=found.is_over or tasks.is_served(),
            trial=trial(self.request, found),
            title=_title(found),
            **kwargs,
        )

    def post(self, request: HttpRequest, key: str) -> HttpResponse:
        """Apply the change of the simulation once, or show why it is refused. Raises Http404."""
        found = self._found
        if found is None or found.proposal is None:
            raise Http404
        try:
            require_reason(request)
            is_first = _applied(found, found.proposal, caller_of(request))
        except OJSError as problem:
            shown = self.get_context_data(key=key, refused=str(problem))
            return self.render_to_response(
                shown, status=409 if isinstance(problem, Conflict) else 400
            )
        outcome = "is applied." if is_first else "has been applied before."
        told(request, f"The simulated change of {found.proposal.title} {outcome}")
        return HttpResponseRedirect(reverse("ojs_console:simulated", args=[key]))

    @property
    def posting(self) -> str:
        """Return the permit to change the setting; a user with that of simulations gets 404."""
        found = self._found
        if found is None or found.proposal is None:
            return PERMIT
        return found.proposal.subject.kind.change

    @cached_property
    def _found(self) -> Simulation | None:
        return simulations.simulation(self.kwargs["key"])


def _applied(found: Simulation, proposal: Proposal, who: Caller) -> bool:
    if not found.found:
        raise Conflict("the simulation has no result yet")
    return proposals.apply(found.key, proposal, who)


def _title(found: Simulation) -> str:
    minutes = found.wish["minutes"]
    of = "a scenario" if minutes is None else f"the last {minutes} minutes"
    return f"Simulation of {of}" + (f": {found.proposal.title}" if found.proposal else "")
