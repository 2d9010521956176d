"""A workflow in plain Python without counters: each change propagates until no step changes.

Spec: contract 8.2 to 8.6.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

FAILED = {"failed", "stopped"}
OVER = {"completed", "failed", "stopped", "cancelled"}


@dataclass
class Step:
    """A job or a nested flow; `state` is waiting, pending, active or a member of OVER."""

    name: str
    after: list[int]
    child: "Flow | None" = None
    state: str = "waiting"
    result: Any = None
    given: Any = None  # parent_results of its job
    job_id: str | None = None

    @property
    def shown(self) -> str:
        """The state in JSON."""
        return "cancelled" if self.state == "stopped" else self.state


@dataclass
class Flow:
    """A workflow with its steps, callbacks and nested flows."""

    kind: str
    steps: list[Step] = field(default_factory=list)
    callbacks: dict[str, Step] = field(default_factory=dict)
    state: str = "running"
    fired: list[str] | None = None

    def jobs(self) -> Iterator[tuple["Flow", Step]]:
        """Yield every job of this flow and of nested flows, with its flow."""
        for step in [*self.steps, *self.callbacks.values()]:
            if step.child is None:
                yield self, step
            else:
                yield from step.child.jobs()

    def propagate(self) -> None:
        """Propagate changes until no step changes."""
        if self.state != "running":
            return
        while any([self._move(step) for step in self.steps]):  # noqa: C419 - each must move
            pass
        if all(step.state in OVER for step in self.steps):
            self._conclude()

    def _move(self, step: Step) -> bool:
        before = step.state
        parents = [self.steps[n] for n in step.after]
        if step.state == "waiting":
            if any(parent.state in FAILED | {"cancelled"} for parent in parents):
                step.state = "cancelled"
                if step.child:
                    step.child.bury()
            elif all(parent.state == "completed" for parent in parents):
                self._begin(step)
        if step.child and step.state == "active":
            step.child.propagate()
            if step.child.state in {"completed", "failed"}:
                step.state = step.child.state
                if step.state == "completed":
                    step.result = [one.result for one in step.child.steps]
        return step.state != before

    def _begin(self, step: Step) -> None:
        step.state = "active" if step.child else "pending"
        number = self.steps.index(step)
        if step.after and not step.child:
            parents = (
                self.steps[:number] if self.kind == "chain" else [self.steps[n] for n in step.after]
            )
            step.given = [parent.result for parent in parents]

    def _conclude(self) -> None:
        has_failed = any(step.state in FAILED for step in self.steps)
        if self.fired is None:
            wanted = {"on_complete", "on_failure" if has_failed else "on_success"}
            self.fired = sorted(wanted & self.callbacks.keys())
            for name in self.fired:
                self.callbacks[name].state = "pending"
                self.callbacks[name].given = [step.result for step in self.steps]
        calls = [self.callbacks[name].state for name in self.fired]
        if FAILED & set(calls):
            self.state = "failed"
        elif set(calls) <= {"completed"}:
            answered = {"on_complete", "on_failure"} & self.callbacks.keys()
            self.state = "failed" if has_failed and not answered else "completed"

    def cancel(self) -> None:
        """Cancel all steps that have not started."""
        if self.state != "running":
            return
        self.state = "cancelled"
        for step in [*self.steps, *self.callbacks.values()]:
            if step.child and step.state in {"waiting", "active"}:
                step.state = "cancelled"
                step.child.cancel()
            elif step.state in {"waiting", "pending"}:
                step.state = "cancelled"

    def bury(self) -> None:
        """Cancel a nested flow that will not begin."""
        self.state = "cancelled"
        for step in [*self.steps, *self.callbacks.values()]:
            step.state = "cancelled"
            if step.child:
                step.child.bury()

    def unbury(self) -> None:
        """Return a nested flow to the waiting state."""
        self.state = "running"
        for step in [*self.steps, *self.callbacks.values()]:
            step.state = "waiting"
            if step.child:
                step.child.unbury()

    def reopen(self, step: Step) -> bool:
        """Apply the retry of a failed job; return whether the flow follows the new run."""
        if self.state != "running" or self.fired is not None or step not in self.steps:
            return False
        step.state = "pending"
        for one in self.steps:
            if one.state == "cancelled" and not self._is_doomed(one):
                one.state = "waiting"
                if one.child:
                    one.child.unbury()
        return True

    def _is_doomed(self, step: Step) -> bool:
        return any(
            self.steps[n].state in FAILED or self._is_doomed(self.steps[n]) for n in step.after
        )
