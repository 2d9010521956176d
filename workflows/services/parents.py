"""The job whose step started a workflow: the end of the workflow wakes it. Spec: contract 34.2."""

from jobs.extensions import children
from jobs.models import Job
from ojs_tasks.children import FLOW_ENDED


def parent_of(job_id: str | None, tenant: str) -> str | None:
    """Return the job that the end of a workflow may wake: a live job of the same tenant."""
    if job_id is None:
        return None
    live = Job.objects.filter(id=job_id, tenant=tenant, state__isnull=True)
    return job_id if live.exists() else None


def wake_parent(parent_job_id: str | None, workflow_id: str, tenant: str) -> None:
    """Wake the job that waits for a workflow, in the transaction that ended the workflow."""
    if parent_job_id is not None:
        children.wake_parent(parent_job_id, f"{FLOW_ENDED}{workflow_id}", tenant)
