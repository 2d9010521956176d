"""What a manual retry of a member means for its workflow. Spec: contract 2.4, 8.2."""

from workflows import queries


def reopen(job_id: str) -> None:
    """Let the step of a revived job count as begun again, and the steps behind it wait again.

    Only while its workflow runs and, for a batch, before its callbacks fired: one that is over is
    not revived, the job then runs for itself. The caller's transaction holds the job.
    """
    root_id = queries.root_of(job_id)
    if root_id is None:
        return
    queries.hold(root_id, exclusive=True)
    flow_id = queries.reopen(job_id)
    if flow_id is not None:
        queries.undoom(flow_id)
        queries.recount(flow_id)
