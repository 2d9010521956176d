"""The simulated change of a form on the page of the result, and what happened since it applied."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.http import HttpRequest

from console import proposals
from console.access import may, refusal
from console.proposals import Proposal
from console.simulations import Simulation
from jobs.models import Audit
from jobs.permits import table
from jobs.services.lanes.limits import Override, override_of_queue
from jobs.services.operate.history import digest
from jobs.services.read.clock import now
from jobs.services.record.start_waits import LOOKED, Waits, start_waits

LONGEST: Final = timedelta(hours=1)  # measured after a change
FEW: Final = 20  # starts below which percentiles say little


@dataclass(frozen=True, slots=True)
class Measured:
    """The predicted numbers of a queue or tenant beside the measured; no `waits` without starts."""

    name: str
    predicted: Mapping[str, Any]
    waits: Waits | None

    @property
    def starts(self) -> int:
        """Return the number of starts that the measured numbers rest on."""
        return self.waits.starts if self.waits else 0

    @property
    def is_early(self) -> bool:
        """Return whether there are too few starts."""
        return self.starts < FEW


@dataclass(frozen=True, slots=True)
class Since:
    """What happened since a change: starts from `since` to `until`, by queue and by tenant."""

    since: datetime
    until: datetime
    is_over: bool  # the measured time has ended
    starts: int
    groups: list[tuple[str, list[Measured]]]
    looked: int | None  # only so many events were read; None: all


@dataclass(frozen=True, slots=True)
class Trial:
    """A simulated change of a form: whether it is applied, and whether this user may apply it."""

    proposal: Proposal
    can_see: bool  # the configuration
    back: str  # the address of the form with the values
    refusal: str | None  # why this user may not apply it
    is_stale: bool  # the object was changed since the simulation began
    applied: Audit | None
    since: Since | None
    override: Override | None  # of the limits that the change sets: they have no effect before


def trial(request: HttpRequest, found: Simulation) -> Trial | None:
    """Read the change of a simulation; None if it came from no form. Up to seven statements."""
    proposal = found.proposal
    if proposal is None:
        return None
    kind, present = proposal.subject.kind, proposal.subject.document()
    entry = proposals.applied(found.key)
    return Trial(
        proposal,
        may(request, kind.see),
        proposals.form_of(found.key, proposal, exists=present is not None),
        refusal(request, table().named[kind.change]),
        digest(present) != proposal.expected,
        entry,
        _since(entry.at, found.found["after"]) if entry and found.found else None,
        override_of_queue(proposal.name) if kind.name == "queue" else None,
    )


def _since(begin: datetime, predicted: Mapping[str, Any]) -> Since:
    at, end = now(), begin + LONGEST
    until = min(at, end)
    found = start_waits(begin, until)
    parts = (("Queues", found.queues), ("Tenants", found.tenants))
    return Since(
        begin,
        until,
        end <= at,
        found.starts,
        [(title, list(_lines(predicted[title.lower()], measured))) for title, measured in parts],
        LOOKED if found.is_cut else None,
    )


def _lines(predicted: Mapping[str, Any], measured: Mapping[str, Waits]) -> Iterator[Measured]:
    for name in sorted(predicted, key=lambda name: (-predicted[name]["jobs"], name)):
        yield Measured(name, predicted[name], measured.get(name))
