"""Wait for the end of a workflow, on the connection that listens for the ends of jobs."""

from concurrent.futures import Future

from jobs.services.dispatch.result import hold
from jobs.services.read.awaiting import listener
from workflows import queries
from workflows.domain.kinds import FlowState
from workflows.services.show import flow

OPEN = frozenset({FlowState.WAITING, FlowState.RUNNING})


def watch(workflow_id: str) -> "Future[None]":
    """Return a future that is done when the workflow has ended, as `Listener.watch` does."""
    return listener.watch(workflow_id, queries.await_look)


def hold_request(workflow_id: str, wait_s: float) -> None:
    """Hold a request until the workflow has ended, at most `wait_s`; no wait without a free slot.

    Raises NotFound.
    """
    if wait_s > 0 and flow(workflow_id).state in OPEN:
        hold(workflow_id, wait_s, watch)
