"""The permits of workflows."""

from typing import Final

from jobs.domain.access.permits import Permit, Role, Tenants
from jobs.permits import CANCEL, ENQUEUE, READ

PERMITS: Final = (
    Permit(
        "workflows.see", Role.VIEWER, ("ojs_jobs.view_job",), Tenants.OWN,
        api={READ: "listWorkflows getWorkflow getWorkflowProgress"},
    ),
    Permit(
        "workflows.start", Role.OPERATOR, ("ojs_jobs.add_job",), Tenants.OWN,
        api={ENQUEUE: "createWorkflow"},
    ),
    Permit(
        "workflows.cancel", Role.OPERATOR, ("ojs_jobs.change_job",), Tenants.OWN,
        api={CANCEL: "cancelWorkflow cancelWorkflowByPost"},
    ),
)  # fmt: skip
