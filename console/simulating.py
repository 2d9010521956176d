"""The button Simulate of the forms of settings: it tries the change instead of storing it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.module_loading import import_string

from console import tasks
from console.access import denied, may, refusal
from console.callers import caller_of
from console.proposals import PARAMETER, Proposal
from jobs.domain.errors import OJSError
from jobs.permits import table
from ojs_tasks.installed import has_app

BUTTON = "simulate"
PERMIT = "simulations.start"


class CheckedForm(Protocol):
    """A form that shows its own errors and those of a service."""

    def is_valid(self) -> bool:
        """Return whether the form has no errors."""

    def refuse(self, problem: OJSError) -> None:
        """Add the error of a refusal."""


@dataclass(frozen=True, slots=True)
class Offer:
    """The button on a page, and whether a task cluster would run the simulation."""

    is_served: bool


def offer(request: HttpRequest) -> Offer | None:
    """Return the button for a user who may simulate; None for other users."""
    return Offer(tasks.is_served()) if _may(request) else None


def _may(request: HttpRequest) -> bool:
    return has_app("scheduling") and may(request, PERMIT)


def is_asked(request: HttpRequest) -> bool:
    """Return whether the form was sent by its button Simulate."""
    return BUTTON in request.POST


def begin(
    request: HttpRequest, form: CheckedForm, propose: Callable[[], Proposal]
) -> HttpResponse | None:
    """Start the simulation of a valid form and show it; None if the form has errors."""
    if why := refusal(request, table().named[PERMIT] if has_app("scheduling") else None):
        return denied(request, why)
    if not form.is_valid():
        return None
    try:
        # the simulations need the app `scheduling`, which an installation may lack
        start = import_string("console.simulations.start_proposal")
        who = caller_of(request)
        proposal = replace(propose(), reason=who.reason or "")  # Apply offers the same reason
        key = start(proposal, who)
    except OJSError as problem:
        form.refuse(problem)
        return None
    return HttpResponseRedirect(reverse("ojs_console:simulated", args=[key]))


def fields(request: HttpRequest, kind: str, name: str | None = None) -> Mapping[str, str] | None:
    """Return the values of the simulation that the address names, for its form; None: no such."""
    key = request.GET.get(PARAMETER, "").replace("\x00", "")[:40]
    if not key or not _may(request):
        return None
    found = import_string("console.simulations.simulation")(key)
    proposal: Proposal | None = found and found.proposal
    if proposal is None or proposal.kind != kind or name not in (None, proposal.name):
        return None
    return proposal.fields
