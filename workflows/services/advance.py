"""Advance workflows after the end of their jobs, in the transaction that ended the jobs.

Spec: contract 8.2, 8.4. Locks, after the jobs: the stripes of the trees, shared, which keep out
cancels. Then for each depth, from the innermost workflows outwards: the slots of wide steps, the
steps behind, the slots of wide workflows, the workflows. Each kind is locked in order. An ended
nested workflow continues in the outer workflow only after its own contents, so two transactions
never wait for each other.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from workflows import queries
from workflows.domain.kinds import FAILURES, Callback, FlowState, StepState, kind_of
from workflows.domain.limits import MAX_RESULTS_BYTES, RETENTION_MS
from workflows.domain.verdict import Counts, fired, verdict
from workflows.queries import Counted, Ended, Finished, Moved
from workflows.services.begin import begin
from workflows.services.parents import wake_parent

NESTED = {FlowState.COMPLETED: StepState.COMPLETED, FlowState.FAILED: StepState.FAILED}


def advance(job_ids: Sequence[str]) -> None:
    """Advance the workflows of ended jobs; ignore jobs of no running step."""
    propagate(queries.record(job_ids))


def propagate(ended: Iterable[Ended]) -> None:
    """Carry out the consequences of ended steps, the innermost workflows first.

    The caller holds the stripes of their trees.
    """
    by_depth: dict[int, list[Ended]] = defaultdict(list)
    for step in ended:
        by_depth[step.depth].append(step)
    due: list[Moved] = []
    over: list[Finished] = []
    while by_depth:
        level = by_depth.pop(max(by_depth))
        following, finished = _level(level)
        due += following
        over += finished
        for step in _outer(finished):
            by_depth[step.depth].append(step)
    begin(due)
    for flow in over:  # last: a lock of a job after the locks of workflows
        wake_parent(flow.parent_job_id, flow.id, flow.tenant)


def _level(ended: list[Ended]) -> tuple[list[Moved], list[Finished]]:
    """Advance steps of one depth; return the due steps, and the workflows that ended with it."""
    behind = [step for step in ended if step.dependents]
    moved = queries.release((s.workflow_id, s.index) for s in behind) if behind else []
    cancelled = [step for step in moved if step.state == StepState.CANCELLED]
    if children := [step.child_id for step in cancelled if step.child_id is not None]:
        queries.bury(children)
    counted = queries.count_ended(
        [(s.workflow_id, s.index, s.state, s.callback) for s in ended]
        + [(s.workflow_id, s.index, s.state, Callback.NONE) for s in cancelled]
    )
    running = [row for row in counted if row.state == FlowState.RUNNING]
    due = [step for step in moved if step.state == StepState.DUE] + _call(running)
    return due, _finish(running)


def _call(running: list[Counted]) -> list[Moved]:
    calls = [(row.id, callback) for row in running for callback in sorted(fired(_counts(row)))]
    return queries.call(calls) if calls else []


def _finish(running: list[Counted]) -> list[Finished]:
    """End finished workflows."""
    verdicts = [(row.id, verdict(_counts(row))) for row in running]
    over = [(flow, state) for flow, state in verdicts if state is not FlowState.RUNNING]
    return queries.finish(over, RETENTION_MS) if over else []


def _outer(finished: list[Finished]) -> list[Ended]:
    """End the steps that stand for nested workflows."""
    outer = [
        {
            "workflow_id": row.parent_id,
            "index": row.parent_step,
            "state": NESTED[FlowState(row.state)],
            "error": _nested_error(row.id) if NESTED[FlowState(row.state)] in FAILURES else None,
        }
        for row in finished
        if row.parent_id is not None
    ]
    return queries.note(outer, MAX_RESULTS_BYTES) if outer else []


def _nested_error(flow_id: str) -> dict[str, str]:
    return {
        "code": "workflow_failed",
        "type": "workflow_failed",
        "message": f"the nested workflow {flow_id} failed",
    }


def _counts(row: Counted) -> Counts:
    return Counts(
        kind_of(row.kind),
        row.open,
        row.failed,
        frozenset(map(Callback, row.callbacks)),
        row.calls,
        row.calls_failed,
    )
