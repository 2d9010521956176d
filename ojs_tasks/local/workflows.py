"""Start, read and cancel workflows in the database of this process."""

import json
import sys
from functools import partial
from typing import Any

from jobs.domain.envelope import parse_job
from jobs.domain.errors import NotFound
from jobs.services.lanes.envelopes import limits
from ojs_tasks.exceptions import WorkflowNotFound
from ojs_tasks.flows import StepSnapshot, WorkflowSnapshot
from ojs_tasks.local.waits import Waits
from ojs_tasks.server import Draft
from workflows.domain.kinds import FLOW_NAMES, Callback, FlowState, kind_of
from workflows.domain.request import parse_workflow
from workflows.domain.rows import StepRow
from workflows.services import cancel as cancelling
from workflows.services.awaiting import watch
from workflows.services.display import step_state
from workflows.services.show import Whole, show
from workflows.services.start import start


class LocalWorkflows:
    """The part of the local server for workflows. Statements join the caller's transaction."""

    def start(self, body: Draft) -> WorkflowSnapshot:
        """Store a workflow and the jobs of its first steps. Raises OJSError."""
        return _read(start(parse_workflow(body, partial(parse_job, limits=limits()))))

    def read(self, workflow_id: str, *, with_results: bool) -> WorkflowSnapshot:
        """Return the present state of a workflow. Raises WorkflowNotFound."""
        return _read(workflow_id, with_results=with_results)

    def cancel(self, workflow_id: str, actor: str) -> WorkflowSnapshot:
        """Cancel a workflow. Raises WorkflowNotFound, or Conflict when it has ended."""
        try:
            cancelling.cancel(workflow_id, actor)
        except NotFound as problem:
            raise WorkflowNotFound(problem.message) from None
        return _read(workflow_id)

    @property
    def waits(self) -> Waits[WorkflowSnapshot]:
        """The waits for workflows; they return the results, too."""
        return Waits("workflow", partial(_read, with_results=True), watch)


def _read(workflow_id: str, *, with_results: bool = False) -> WorkflowSnapshot:
    try:
        found = show(workflow_id, with_results=with_results, most_bytes=sys.maxsize)
    except NotFound as problem:
        raise WorkflowNotFound(problem.message) from None
    return _snapshot(found)


def _snapshot(whole: Whole) -> WorkflowSnapshot:
    row = whole.row
    return WorkflowSnapshot(
        id=row.id,
        type=kind_of(row.kind).value,
        name=row.name,
        state=FLOW_NAMES[FlowState(row.state)],
        steps=_steps(whole),
        callbacks=tuple(
            _step(step, whole) for step in whole.steps if step.callback != Callback.NONE
        ),
        parent_job_id=row.parent_job_id,
    )


def _steps(whole: Whole) -> tuple[StepSnapshot, ...]:
    return tuple(_step(step, whole) for step in whole.steps if step.callback == Callback.NONE)


def _step(step: StepRow, whole: Whole) -> StepSnapshot:
    return StepSnapshot(
        id=step.name,
        type=step.type,
        state=step_state(step),
        job_id=step.job_id,
        result=_loaded(step.result),
        error=_loaded(step.error),
        steps=_steps(whole.inside[step.index]) if step.child_id is not None else (),
    )


def _loaded(text: str | None) -> Any:
    return None if text is None else json.loads(text)  # `json`: integers of any size are exact
