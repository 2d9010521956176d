"""Read workflows. Spec: contract 8.2, 8.3, 8.5."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jobs.domain.errors import NotFound
from jobs.domain.job import JobKind
from jobs.domain.wire.ids import is_id
from jobs.services.read.show import kinds_of
from workflows import queries
from workflows.domain.kinds import FlowState
from workflows.domain.limits import SHOWN_RESULTS_BYTES
from workflows.domain.rows import FlowRow, StepRow
from workflows.models import Step, Workflow

STATES = {
    "pending": (),  # never shown
    "running": (FlowState.RUNNING,),
    "active": (FlowState.RUNNING,),  # the admin interface's name
    "completed": (FlowState.COMPLETED,),
    "failed": (FlowState.FAILED,),
    "cancelled": (FlowState.CANCELLED,),
}
EVERY = (FlowState.RUNNING, FlowState.COMPLETED, FlowState.FAILED, FlowState.CANCELLED)
MOST = 10_000  # bound of the total of a list
LOOKED = 5_000  # newest workflows that a search by name reads


@dataclass(slots=True)
class Whole:
    """A workflow with its steps in order; `inside` maps step positions to nested workflows."""

    row: FlowRow
    steps: list[StepRow] = field(default_factory=list)
    inside: "dict[int, Whole]" = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a list: behind an id, or from an offset."""

    limit: int
    offset: int = 0
    before: str | None = None


def flow(workflow_id: str) -> FlowRow:
    """Return a workflow without its steps. Raises NotFound."""
    return next(row for row in _tree(workflow_id) if row.id == workflow_id)


def jobs_of(workflow_id: str) -> list[JobKind]:
    """Return queue and type of each existing and future job of a workflow. Raises NotFound."""
    rows = Step.objects.filter(workflow_id__in=[row.id for row in _tree(workflow_id)])
    members = list(rows.values_list("job_id", "request"))
    kinds = kinds_of([str(job_id) for job_id, _ in members if job_id is not None])
    coming = [_kind(request) for job_id, request in members if job_id is None and request]
    return [*kinds.values(), *coming]


def _kind(request: Mapping[str, Any]) -> JobKind:
    options = request.get("options") or {}
    queue = options.get("queue") or request.get("queue") or "default"
    return JobKind(queue, request["type"].partition("@")[0])


def show(
    workflow_id: str, *, with_results: bool = True, most_bytes: int = SHOWN_RESULTS_BYTES
) -> Whole:
    """Return a workflow with its nested workflows; two statements. Raises NotFound.

    It leaves results out if all together have more than `most_bytes`.
    """
    rows = _tree(workflow_id)
    wholes = {row.id: Whole(row) for row in rows}
    for row in rows:
        if row.parent_id is not None and row.parent_step is not None:
            wholes[row.parent_id].inside[row.parent_step] = wholes[row.id]
    wanted = wholes[workflow_id]
    shown = {whole.row.id: whole for whole in _all(wanted)}
    result_bytes = most_bytes if with_results else 0
    for step in queries.steps(list(shown), result_bytes):
        shown[step.workflow_id].steps.append(step)
    return wanted


def listed(
    states: Sequence[int], window: Window, *, tenant: str | None
) -> tuple[list[FlowRow], int]:
    """Return workflows that are not nested, newest first, and their total up to MOST.

    The list may have one row more than the window, which shows the caller that another page exists.
    """
    return queries.page(
        states,
        tenant=tenant,
        before=window.before,
        offset=window.offset,
        limit=window.limit + 1,
        most=MOST,
    )


def containing(text: str, limit: int, tenant: str | None = None) -> list[Workflow]:
    """Return the newest workflows whose name contains a text, in any case; one statement.

    It searches the newest LOOKED workflows, and finds none that is nested.
    """
    looked = Workflow.objects.order_by("-id").values("id")[:LOOKED]
    found = Workflow.objects.filter(id__in=looked, parent_id=None, name__icontains=text)
    if tenant is not None:
        found = found.filter(tenant=tenant)
    return list(found.order_by("-id")[:limit])


def _tree(workflow_id: str) -> list[FlowRow]:
    rows = queries.tree(workflow_id) if is_id(workflow_id) else []
    if not rows:
        raise NotFound.of("workflow", workflow_id)
    return rows


def _all(whole: Whole) -> list[Whole]:
    return [whole, *(found for inner in whole.inside.values() for found in _all(inner))]
