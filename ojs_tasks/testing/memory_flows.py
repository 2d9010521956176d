"""Workflows in memory: chains, groups and batches of the jobs of one test. Spec: contract 8.

The rules are those of the server. `tests/ojs_tasks/testing/test_same_workflows.py` runs the same
workflows against both.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

from ojs_tasks.children import CANCEL, PARENT, WITH_PARENT
from ojs_tasks.flows import StepSnapshot, WorkflowSnapshot

TENANT: Final = "tenant_id"  # in the meta of a job or a workflow
DEPTH: Final = 3  # of nested workflows
CALLBACKS: Final = ("on_complete", "on_success", "on_failure")
OPEN: Final = frozenset({"waiting", "active"})  # states of steps that have not ended
CANCELLED: Final = {
    "code": "cancelled", "type": "cancelled", "message": "the job was cancelled",
}  # fmt: skip


@dataclass(eq=False)
class Step:
    """A job or a nested workflow; an active step has a job, or its nested workflow runs."""

    id: str
    type: str
    place: int
    draft: Mapping[str, Any] | None = None
    flow: "Flow | None" = None
    state: str = "waiting"
    job_id: str | None = None
    result: Any = None
    error: dict[str, Any] | None = None

    @property
    def is_open(self) -> bool:
        """Whether the step has not ended."""
        return self.state in OPEN

    @property
    def has_failed(self) -> bool:
        """Whether it failed; a step that was cancelled because of another one has no error."""
        return self.error is not None


@dataclass(eq=False)
class Flow:
    """A workflow; `outer` is the one that it is nested in, with the step that it is there."""

    id: str
    type: str
    name: str
    steps: list[Step]
    callbacks: dict[str, Step] = field(default_factory=dict)
    state: str = "running"
    called: list[Step] | None = None  # callbacks that were fired, after the last member's end
    outer: "tuple[Flow, Step] | None" = None
    parent: str | None = None  # the job whose step started it
    ends_with_parent: bool = False

    def everything(self) -> Iterator[tuple["Flow", Step]]:
        """Yield each step and callback of this workflow and of nested ones."""
        for step in (*self.steps, *self.callbacks.values()):
            yield self, step
            if step.flow is not None:
                yield from step.flow.everything()

    @property
    def results(self) -> list[Any]:
        """The results of all members."""
        return [step.result for step in self.steps]


class TooDeep(ValueError):
    """Workflows are nested more deeply than the server accepts."""


def planned(body: Mapping[str, Any], depth: int = 1, tenant: Any = None) -> Flow:
    """Return the workflow of a request in typed form; its jobs get the tenant that it names.

    Raises TooDeep.
    """
    if depth > DEPTH:
        raise TooDeep(f"workflows are nested more than {DEPTH} deep")
    meta = body.get("meta") or {}
    tenant = meta.get(TENANT, tenant)
    members = body["steps"] if body["type"] == "chain" else body["jobs"]
    flow = Flow(str(uuid4()), body["type"], body.get("name") or "", [])
    flow.parent, flow.ends_with_parent = meta.get(PARENT), meta.get(CANCEL) == WITH_PARENT
    flow.steps = [_step(f"step-{n}", one, n, depth, tenant) for n, one in enumerate(members)]
    given = {n: body["callbacks"][n] for n in CALLBACKS if body.get("callbacks", {}).get(n)}
    flow.callbacks = {
        name: _step(name, one, len(members) + n, depth, tenant)
        for n, (name, one) in enumerate(given.items())
    }
    for step in flow.steps:
        if step.flow is not None:
            step.flow.outer = flow, step
    return flow


def _step(name: str, body: Mapping[str, Any], place: int, depth: int, tenant: Any) -> Step:
    if "args" in body:
        if tenant is not None:
            body = {**body, "meta": {TENANT: tenant, **(body.get("meta") or {})}}
        return Step(name, body["type"], place, body)
    flow = planned(body, depth + 1, tenant)
    return Step(name, flow.type, place, flow=flow)


class Flows:
    """The workflows of a test; `store` makes the job of a step and returns its id."""

    def __init__(
        self, store: Callable[[Mapping[str, Any]], str], ended: Callable[[Flow], None]
    ) -> None:
        """Begin without a workflow; `ended` is called at the end of a workflow."""
        self._store = store
        self._ended = ended
        self._flows: dict[str, Flow] = {}
        self._members: dict[str, tuple[Flow, Step]] = {}  # by the ids of their jobs

    def start(self, flow: Flow) -> None:
        """Keep a workflow, and begin its first steps."""
        self._flows |= {flow.id: flow}
        self._flows |= {one.flow.id: one.flow for _, one in flow.everything() if one.flow}
        self._begin(flow)

    def find(self, flow_id: str) -> Flow | None:
        """Return a workflow."""
        return self._flows.get(flow_id)

    def note_end(self, job_id: str, state: str, result: Any, error: dict[str, Any] | None) -> None:
        """Carry out the consequences of an ended job; ignore jobs of no workflow."""
        found = self._members.pop(job_id, None)
        if found is None:
            return
        flow, step = found
        if state == "completed":
            step.state, step.result = "completed", result
        elif state == "discarded":
            hidden = {"backtrace", "details"}
            step.state = "failed"
            step.error = {n: v for n, v in (error or {}).items() if n not in hidden}
        else:
            step.state, step.error = "cancelled", dict(CANCELLED)
        self._go_on(flow, step)

    def cancel(self, flow: Flow, is_waiting: Callable[[str], bool]) -> list[str]:
        """Cancel a workflow; returns the ids of jobs to cancel, those for which `is_waiting`."""
        jobs: list[str] = []
        flow.state = "cancelled"
        for inner, step in flow.everything():
            if inner.state == "running":
                inner.state = "cancelled"
            if step.job_id is not None and step.is_open and is_waiting(step.job_id):
                jobs.append(step.job_id)
                self._members.pop(step.job_id, None)
                step.state = "cancelled"
            elif step.state == "waiting" or (step.flow is not None and step.is_open):
                step.state = "cancelled"
        self._ended(flow)
        return jobs

    def started_by(self, job_id: str) -> list[Flow]:
        """Return the running workflows that end with the job whose step started them."""
        theirs = [one for one in self._flows.values() if one.parent == job_id]
        return [one for one in theirs if one.ends_with_parent and one.state == "running"]

    def _begin(self, flow: Flow) -> None:
        for step in flow.steps[:1] if flow.type == "chain" else flow.steps:
            self._begin_step(flow, step, None)

    def _begin_step(self, flow: Flow, step: Step, results: Sequence[Any] | None) -> None:
        step.state = "active"
        if step.flow is not None:
            self._begin(step.flow)
            return
        given = {} if results is None else {"parent_results": list(results)}
        members = {"workflow_id": flow.id, "workflow_step": step.place, **given}
        step.job_id = self._store({**(step.draft or {}), **members})
        self._members[step.job_id] = flow, step

    def _go_on(self, flow: Flow, ended: Step) -> None:
        """Begin or cancel what waited for a step, and end the workflow with its last one."""
        if flow.state != "running":
            return
        following = flow.steps[ended.place + 1 :] if flow.type == "chain" else []
        if ended.has_failed:
            for step in following:
                _bury(step)
        elif following:
            self._begin_step(flow, following[0], flow.results[: following[0].place])
        if not any(step.is_open for step in flow.steps):
            self._call(flow)
            self._settle(flow)

    def _call(self, flow: Flow) -> None:
        if flow.called is not None:
            return
        other = "on_failure" if any(step.has_failed for step in flow.steps) else "on_success"
        due = {"on_complete", other}
        flow.called = [step for name, step in flow.callbacks.items() if name in due]
        for step in flow.called:
            self._begin_step(flow, step, flow.results)

    def _settle(self, flow: Flow) -> None:
        called = flow.called or []
        has_failed = any(step.has_failed for step in called)
        if not has_failed and any(step.is_open for step in called):
            return
        is_answered = not {"on_complete", "on_failure"}.isdisjoint(flow.callbacks)
        has_failed = has_failed or (not is_answered and any(step.has_failed for step in flow.steps))
        flow.state = "failed" if has_failed else "completed"
        self._ended(flow)
        if flow.outer is not None:
            outer, step = flow.outer
            step.state = flow.state
            step.result = flow.results if flow.state == "completed" else None
            if flow.state == "failed":
                message = f"the nested workflow {flow.id} failed"
                step.error = {"code": "workflow_failed", "type": "workflow_failed",
                              "message": message}  # fmt: skip
            self._go_on(outer, step)


def _bury(step: Step) -> None:
    """Cancel a step that waits in vain, with everything in it."""
    step.state = "cancelled"
    if step.flow is not None:
        step.flow.state = "cancelled"
        for _, inner in step.flow.everything():
            _bury(inner)


def snapshot(flow: Flow, is_active: Callable[[str], bool], *, results: bool) -> WorkflowSnapshot:
    """Return a workflow as handles show it; `is_active` looks at jobs."""

    def shown(step: Step) -> StepSnapshot:
        waits = step.is_open and step.job_id is not None and not is_active(step.job_id)
        return StepSnapshot(
            step.id,
            step.type,
            "pending" if waits else step.state,
            step.job_id,
            step.result if results else None,
            step.error,
            tuple(map(shown, step.flow.steps)) if step.flow is not None else (),
        )

    return WorkflowSnapshot(
        flow.id, flow.type, flow.name, flow.state, tuple(map(shown, flow.steps)),
        tuple(map(shown, flow.callbacks.values())), flow.parent,
    )  # fmt: skip
