"""Update a workflow after a manual retry of a member. Spec: contract 2.4, 8.2."""

from workflows import queries


def reopen(job_id: str) -> None:
    """Mark the step of a revived job as begun, and let the steps behind it wait again.

    Only while the workflow runs and, for a batch, before its callbacks have fired. An ended
    workflow is not revived; the job then runs on its own. The caller's transaction holds the job.
    """
    root_id = queries.root_of(job_id)
    if root_id is None:
        return
    queries.hold(root_id, exclusive=True)
    flow_id = queries.reopen(job_id)
    if flow_id is not None:
        queries.undoom(flow_id)
        queries.recount(flow_id)
