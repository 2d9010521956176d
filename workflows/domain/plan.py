"""A workflow that is checked, not stored: steps with dependencies. Spec: contract 8.1, D35."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from jobs.domain.envelope import JobDraft
from workflows.domain.kinds import Callback, Kind

NARROW: Final = 64  # so many may count down one row; more share several
PER_SLOT: Final = 32  # members that count down one slot of a wide join
MOST_SLOTS: Final = 64


@dataclass(slots=True)
class StepPlan:
    """One step: a job (`draft` checked, `request` to make it again later) or a nested plan.

    `depends_on` holds positions of other steps of its plan.
    """

    id: str
    type: str
    request: Mapping[str, Any] | None = None
    draft: JobDraft | None = None
    child: "Plan | None" = None
    depends_on: tuple[int, ...] = ()
    callback: Callback = Callback.NONE


@dataclass(slots=True)
class Plan:
    """A checked workflow: its members, then its callbacks; positions in `steps` are final."""

    kind: Kind
    name: str
    depth: int
    steps: list[StepPlan] = field(default_factory=list)
    tenant: str | None = None  # that the request names for all of it

    @property
    def members(self) -> list[StepPlan]:
        """The steps that are no callbacks."""
        return [step for step in self.steps if step.callback is Callback.NONE]

    def tenants(self) -> Iterator[str]:
        """Return the tenants that this plan and those inside it name, not their jobs."""
        if self.tenant is not None:
            yield self.tenant
        for step in self.steps:
            if step.child is not None:
                yield from step.child.tenants()

    def drafts(self) -> Iterator[JobDraft]:
        """Return every job of this plan and those inside it."""
        for step in self.steps:
            if step.draft is not None:
                yield step.draft
            if step.child is not None:
                yield from step.child.drafts()


def slots(number: int) -> int:
    """Return how many rows count `number` ends down; 0: the waiting row does it itself.

    Each end locks the row it counts down until its commit, so those of a wide join would queue up
    behind one row.
    """
    return 0 if number <= NARROW else min(MOST_SLOTS, number // PER_SLOT)


def slot_sizes(positions: Iterator[int] | range | tuple[int, ...], number: int) -> dict[int, int]:
    """Return how many of `positions` count down each of `number` slots."""
    sizes: dict[int, int] = {}
    for position in positions:
        sizes[position % number] = sizes.get(position % number, 0) + 1
    return sizes
