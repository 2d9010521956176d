"""Store a workflow and begin it. Spec: contract 8.2."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jobs import spans
from jobs.database import atomic
from jobs.domain.access.caller import SYSTEM, Caller
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.wire.ids import new_id
from jobs.models import DEFAULT_TENANT
from jobs.repeat import repeated
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.enqueue.store import require_accepted
from workflows import queries
from workflows.domain.envelope import member
from workflows.domain.graph import dependents
from workflows.domain.kinds import KIND_CODES, Callback, FlowState, StepState
from workflows.domain.plan import Plan, StepPlan, slot_sizes, slots
from workflows.domain.tenants import inherit
from workflows.domain.tracing import originated
from workflows.services.parents import parent_of

END = -1  # Slot.target for the end of the workflow


@dataclass(slots=True)
class _Flow:
    """A plan with its identity; `runs` is True if its first steps begin at once."""

    id: str
    plan: Plan
    runs: bool
    parent: "tuple[_Flow, int] | None" = None


def start(plan: Plan, caller: Caller = SYSTEM) -> str:
    """Store a workflow with its nested workflows, enqueue its first jobs and return its id.

    One transaction; the number of statements does not depend on the size. Raises OJSError as
    `enqueue` does, or if steps name another tenant; then nothing was stored.
    """
    inherit(plan, caller)
    caller = originated(spans.with_current(caller))
    require_accepted(list(plan.drafts()), caller)
    flows = list(_flows(_Flow(new_id(), plan, runs=True)))
    first = [
        (flow, n, draft)
        for flow in flows
        if flow.runs
        for n, step in enumerate(flow.plan.steps)
        if (draft := step.draft) is not None and _is_first(step)
    ]
    repeated(lambda: _store(flows, first, caller))
    return flows[0].id


def _store(flows: list[_Flow], first: list[tuple[_Flow, int, JobDraft]], caller: Caller) -> None:
    with atomic():
        jobs = enqueue([_member(flow, n, draft) for flow, n, draft in first], caller)
        # A dropped or replaced job leaves its step due, and the loop records the reason.
        taken = {
            (flow.id, n): job.id
            for (flow, n, draft), job in zip(first, jobs, strict=True)
            if job is not None and job.id == draft.id
        }
        tenant = next((job.tenant for job in jobs if job), caller.tenant or DEFAULT_TENANT)
        queries.insert(
            [_flow_row(flow, flows[0].id, tenant, caller) for flow in flows],
            list(_step_rows(flows, taken)),
            [row for flow in flows for row in _slot_rows(flow)],
        )


def _flows(flow: _Flow) -> Iterator[_Flow]:
    yield flow
    for n, step in enumerate(flow.plan.steps):
        if step.child is not None:
            runs = flow.runs and _is_first(step)
            yield from _flows(_Flow(new_id(), step.child, runs, (flow, n)))


def _is_first(step: StepPlan) -> bool:
    return not step.depends_on and step.callback is Callback.NONE


def _member(flow: _Flow, position: int, draft: JobDraft) -> JobDraft:
    return member(draft, flow.id, position, None)


def _flow_row(flow: _Flow, root_id: str, tenant: str, caller: Caller) -> dict[str, Any]:
    plan, number = flow.plan, len(flow.plan.members)
    shared = slots(number)
    return {
        "id": flow.id,
        "root_id": root_id,
        "parent_id": flow.parent and flow.parent[0].id,
        "parent_step": flow.parent and flow.parent[1],
        "parent_job_id": parent_of(plan.parent_job, tenant),
        "ends_with_parent": plan.ends_with_parent,
        "depth": plan.depth,
        "kind": KIND_CODES[plan.kind],
        "state": FlowState.RUNNING if flow.runs else FlowState.WAITING,
        "name": plan.name,
        "tenant": tenant,
        "caller": {
            "name": caller.name, "tenant": caller.tenant, "tenant_header": caller.tenant_header,
            **({"stamps": caller.stamps} if caller.stamps else {}),
        },
        "callbacks": [step.callback for step in plan.steps if step.callback],
        "members": number,
        "slots": shared,
        "open": shared or number,
    }  # fmt: skip


def _step_rows(flows: list[_Flow], taken: dict[tuple[str, int], str]) -> Iterator[dict[str, Any]]:
    children = {(flow.parent[0].id, flow.parent[1]): flow for flow in flows if flow.parent}
    for flow in flows:
        after = dependents([step.depends_on for step in flow.plan.steps])
        for n, step in enumerate(flow.plan.steps):
            child = children.get((flow.id, n))
            job_id = taken.get((flow.id, n))
            shared = slots(len(step.depends_on))
            yield {
                "workflow_id": flow.id,
                "index": n,
                "name": step.id,
                "type": step.type,
                "callback": step.callback,
                "state": _state(flow, step, has_begun=bool(job_id or (child and child.runs))),
                "depends_on": step.depends_on,
                "dependents": after[n],
                "waits": len(slot_sizes(step.depends_on, shared)) if shared
                else len(step.depends_on),
                "slots": shared,
                "child_id": child and child.id,
                "job_id": job_id,
                "request": None if job_id else step.request,
            }  # fmt: skip


def _state(flow: _Flow, step: StepPlan, *, has_begun: bool) -> StepState:
    if has_begun:
        return StepState.STARTED
    return StepState.DUE if flow.runs and _is_first(step) else StepState.WAITING


def _slot_rows(flow: _Flow) -> Iterator[dict[str, Any]]:
    members = len(flow.plan.members)
    waits: list[tuple[int, range | tuple[int, ...]]] = [(END, range(members))]
    waits += [(n, step.depends_on) for n, step in enumerate(flow.plan.steps)]
    for target, positions in waits:
        shared = slots(len(positions))
        for slot, number in slot_sizes(positions, shared).items() if shared else ():
            yield {"workflow_id": flow.id, "target": target, "slot": slot, "open": number}
