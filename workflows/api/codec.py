"""Decode requests into plans and encode workflows; the only module with wire names.

Spec: contract 8.1, 8.5, 24.5, 24.6, 29.
"""

from typing import Any

import orjson

from jobs.domain.wire.times import format_time
from workflows.domain.kinds import (
    FAILURES,
    FLOW_NAMES,
    Callback,
    FlowState,
    Kind,
    StepState,
    kind_of,
)
from workflows.domain.progress import overall
from workflows.domain.rows import FlowRow, StepRow
from workflows.services.cancel import Cancellation
from workflows.services.display import step_state
from workflows.services.show import Whole

OF_JOBS = {Kind.GROUP, Kind.BATCH}


def encode_workflow(whole: Whole, cancelled: Cancellation | None = None) -> orjson.Fragment:
    """Encode a workflow, wrapped and flat, serialized once. Spec: D37, contract 24.6."""
    shown = _workflow(whole)
    if cancelled is not None:
        shown |= {
            "steps_cancelled": cancelled.steps_cancelled,
            "cancelled_steps": cancelled.steps_cancelled,
            "steps_already_completed": cancelled.steps_already_completed,
        }
    text = orjson.dumps(shown)
    return orjson.Fragment(b'{"workflow":' + text + b"," + text[1:])


def _workflow(whole: Whole) -> dict[str, Any]:
    row, steps = whole.row, whole.steps
    members = [step for step in steps if step.callback == Callback.NONE]
    completed = sum(step.state == StepState.COMPLETED for step in members)
    failed = [step for step in steps if step.state in FAILURES]
    shown = _summary(row, completed, sum(step.callback == Callback.NONE for step in failed))
    began = min((step.started_at for step in steps if step.started_at), default=None)
    if began is not None:
        shown["started_at"] = shown["metadata"]["started_at"] = format_time(began)
    if failed:
        shown["failed_job_ids"] = [step.job_id for step in failed if step.job_id]
        shown["errors"] = [_error(step) for step in failed]
        if kind_of(row.kind) is Kind.CHAIN:
            shown["failed_step_index"] = failed[0].index
    shown["steps"] = encode_steps(whole)
    if kind_of(row.kind) is Kind.BATCH:
        shown["callbacks"] = {
            Callback(step.callback).wire: {
                "id": step.name, "type": step.type, "state": step_state(step),
                "job_id": step.job_id,
            }
            for step in steps if step.callback != Callback.NONE
        }  # fmt: skip
    return shown


def _summary(row: FlowRow, completed: int, failed: int) -> dict[str, Any]:
    kind = kind_of(row.kind)
    numbers = {"total": row.members, "completed": completed, "failed": failed}
    metadata: dict[str, Any] = {
        "created_at": format_time(row.created_at),
        "job_count": row.members,
        "completed_count": completed,
        "failed_count": failed,
    }
    shown: dict[str, Any] = {
        "id": row.id,
        "type": kind.value,
        "name": row.name,
        "state": FLOW_NAMES[FlowState(row.state)],
        # the admin interface and the CLI read `steps_*` for every kind
        **{f"steps_{name}": number for name, number in numbers.items()},
        "step_count": row.members,
        "created_at": metadata["created_at"],
        "metadata": metadata,
    }
    if kind in OF_JOBS:
        shown |= {f"jobs_{name}": number for name, number in numbers.items()}
    if row.parent_id is not None:
        shown |= {"parent_workflow_id": row.parent_id, "root_workflow_id": row.root_id}
    if row.parent_job_id is not None:
        shown["parent_job_id"] = row.parent_job_id
    if row.finished_at is not None:
        ended = format_time(row.finished_at)
        shown["completed_at"] = metadata["completed_at"] = ended
        if row.state == FlowState.CANCELLED:
            shown["cancelled_at"] = metadata["cancelled_at"] = ended
    return shown


def encode_item(row: FlowRow) -> dict[str, Any]:
    """Encode a workflow of a list."""
    return _summary(row, row.completed, row.failed)


def encode_steps(whole: Whole) -> list[dict[str, Any]]:
    """Encode the members of a workflow; a nested workflow includes its own members."""
    names = {step.index: step.name for step in whole.steps}
    return [_step(step, whole, names) for step in whole.steps if step.callback == Callback.NONE]


def _step(step: StepRow, whole: Whole, names: dict[int, str]) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "id": step.name,
        "index": step.index,
        "type": step.type,
        "state": step_state(step),
        "job_id": step.job_id,
        "job_ids": [step.job_id] if step.job_id else [],
        "depends_on": [names[before] for before in step.depends_on],
    }
    if step.started_at is not None:
        shown["started_at"] = format_time(step.started_at)
    if step.finished_at is not None and step.started_at is not None:
        shown["completed_at"] = format_time(step.finished_at)
    if step.result is not None:
        shown["result"] = orjson.Fragment(step.result)
    elif step.has_result:
        shown["result_omitted"] = True
    if step.error is not None:
        shown["error"] = orjson.Fragment(step.error)
    if step.child_id is not None:
        inner = whole.inside[step.index]
        shown |= {"workflow_id": step.child_id, "steps": encode_steps(inner)}
    return shown


def _error(step: StepRow) -> dict[str, Any]:
    error = orjson.loads(step.error) if step.error else {}
    return {
        "job_id": step.job_id,
        "step_id": step.name,
        **{name: error.get(name) for name in ("code", "type", "message", "attempt")},
    }


def encode_progress(whole: Whole) -> dict[str, Any]:
    """Encode the progress of a workflow. Spec: contract 29."""
    members = [step for step in whole.steps if step.callback == Callback.NONE]
    fractions = [fraction_of(step, whole) for step in members]
    latest = max((at for step in members for at in (step.started_at, step.finished_at) if at),
                 default=whole.row.created_at)  # fmt: skip
    return {
        "workflow_id": whole.row.id,
        "type": kind_of(whole.row.kind).value,
        "state": FLOW_NAMES[FlowState(whole.row.state)],
        "progress": overall(fractions),
        "steps": [
            {
                "id": step.name, "job_id": step.job_id, "type": step.type,
                "state": step_state(step), "progress": fraction,
            }
            for step, fraction in zip(members, fractions, strict=True)
        ],
        "updated_at": format_time(max(latest, whole.row.finished_at or latest)),
    }  # fmt: skip


def fraction_of(step: StepRow, whole: Whole) -> float:
    """Return the progress of a step, from 0 to 1."""
    if step.state == StepState.COMPLETED:
        return 1.0
    if step.child_id is None:
        return step.progress or 0.0
    inner = whole.inside[step.index]
    members = [one for one in inner.steps if one.callback == Callback.NONE]
    return overall([fraction_of(one, inner) for one in members])
