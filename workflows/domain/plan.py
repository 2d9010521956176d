"""A checked workflow before it is stored: steps with dependencies. Spec: contract 8.1, D35."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from jobs.domain.enqueue.draft import JobDraft
from workflows.domain.kinds import Callback, Kind

NARROW: Final = 64  # up to so many steps may count down the same row; more steps share several rows
PER_SLOT: Final = 32  # steps that count down one slot of a wide join
MOST_SLOTS: Final = 64


@dataclass(slots=True)
class StepPlan:
    """A step of a plan: a job or a nested plan.

    A job has its checked `draft`, and `request` to make the job again later. `depends_on` holds
    positions of other steps of the same plan.
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
    tenant: str | None = None  # tenant that the request names for the whole workflow
    parent_job: str | None = None  # the job whose step starts it
    ends_with_parent: bool = False  # the cancel of that job cancels it

    @property
    def members(self) -> list[StepPlan]:
        """Return the steps that are no callbacks."""
        return [step for step in self.steps if step.callback is Callback.NONE]

    def tenants(self) -> Iterator[str]:
        """Yield the tenants that this plan and nested plans name; jobs are not read."""
        if self.tenant is not None:
            yield self.tenant
        for step in self.steps:
            if step.child is not None:
                yield from step.child.tenants()

    def drafts(self) -> Iterator[JobDraft]:
        """Yield each job of this plan and of nested plans."""
        for step in self.steps:
            if step.draft is not None:
                yield step.draft
            if step.child is not None:
                yield from step.child.drafts()


def slots(number: int) -> int:
    """Return the number of slot rows that count `number` ends down; 0: no slots.

    Without slots the waiting row counts itself. Each end locks the row that it counts down until
    its commit, so the ends of a wide join would queue up behind a single row.
    """
    return 0 if number <= NARROW else min(MOST_SLOTS, number // PER_SLOT)


def slot_sizes(positions: Iterator[int] | range | tuple[int, ...], number: int) -> dict[int, int]:
    """Return how many of `positions` count down each of `number` slots."""
    sizes: dict[int, int] = {}
    for position in positions:
        sizes[position % number] = sizes.get(position % number, 0) + 1
    return sizes
