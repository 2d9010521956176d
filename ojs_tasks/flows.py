"""Workflows as the server last showed them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

ENDED: Final = frozenset({"completed", "failed", "cancelled"})


class WorkflowProgress(NamedTuple):
    """Numbers of the jobs of a workflow, those of nested workflows included, without callbacks."""

    done: int  # completed
    failed: int
    total: int


@dataclass(frozen=True, slots=True)
class StepSnapshot:
    """A step of a workflow; a nested workflow has `steps` and the kind as its type.

    `state` is one of waiting, pending, active, completed, failed and cancelled.
    """

    id: str
    type: str
    state: str
    job_id: str | None = None  # None: no job yet, or a nested workflow
    result: Any = None
    error: dict[str, Any] | None = None
    steps: Sequence["StepSnapshot"] = ()

    @property
    def value(self) -> Any:
        """The result as a handle returns it: that of a nested chain is its last step's."""
        return value_of(self.type, self.steps) if self.steps else self.result


@dataclass(frozen=True, slots=True)
class WorkflowSnapshot:
    """A workflow; `state` is one of running, completed, failed and cancelled.

    Its steps have results only if the look asked for them.
    """

    id: str
    type: str  # chain, group, batch or dag
    name: str
    state: str
    steps: Sequence[StepSnapshot] = ()
    callbacks: Sequence[StepSnapshot] = ()
    parent_job_id: str | None = None  # the job that the server wakes at its end

    @property
    def has_ended(self) -> bool:
        """Whether no step can begin any more."""
        return self.state in ENDED

    @property
    def progress(self) -> WorkflowProgress:
        """The numbers of jobs."""
        states = [step.state for step in _jobs(self.steps)]
        return WorkflowProgress(states.count("completed"), states.count("failed"), len(states))

    @property
    def value(self) -> Any:
        """The result of a chain's last step, otherwise the list of all results."""
        return value_of(self.type, self.steps)

    @property
    def failed_step(self) -> tuple[str, StepSnapshot] | None:
        """The step that failed the workflow, and its path such as `step-1/step-0`."""
        for state in ("failed", "cancelled"):
            found = _first(self.callbacks, state) or _first(self.steps, state)
            if found is not None:
                return found
        return None


def value_of(kind: str, steps: Sequence[StepSnapshot]) -> Any:
    """Return the result of a workflow of this kind."""
    values = [step.value for step in steps]
    return values[-1] if kind == "chain" and values else values


def _jobs(steps: Sequence[StepSnapshot]) -> Iterator[StepSnapshot]:
    for step in steps:
        yield from _jobs(step.steps) if step.steps else [step]


def _first(steps: Sequence[StepSnapshot], state: str) -> tuple[str, StepSnapshot] | None:
    for step in steps:
        if step.state != state or (state == "cancelled" and not step.error):
            continue  # a step that was cancelled because of another one has no error
        inner = _first(step.steps, state)
        return (f"{step.id}/{inner[0]}", inner[1]) if inner else (step.id, step)
    return None
