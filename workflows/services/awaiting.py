"""Wait for the end of a workflow, on the connection that listens for the ends of jobs."""

from concurrent.futures import Future

from jobs.services.read.awaiting import listener
from workflows import queries


def watch(workflow_id: str) -> "Future[None]":
    """Return a future that is done when the workflow has ended, as `Listener.watch` does."""
    return listener.watch(workflow_id, queries.await_look)
