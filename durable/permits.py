"""The permits of checkpoints and signals."""

from typing import Final

from jobs.domain.access.permits import SUPERUSER, Permit, Role, Tenants
from jobs.permits import ADMIN_WRITE, ENQUEUE, FETCH, READ

PERMITS: Final = (
    Permit(
        "checkpoints.see", Role.VIEWER, ("ojs_jobs.view_job",), Tenants.OWN,
        api={READ: "getCheckpoint listSignals"},
    ),
    Permit(
        "checkpoints.save", Role.SUPERUSER, SUPERUSER, Tenants.OWN,
        api={FETCH: "saveCheckpoint saveCheckpointByPost suspendJob"},
    ),
    Permit(
        "checkpoints.seed", Role.OPERATOR, ("ojs_jobs.add_job",), Tenants.OWN,
        api={ENQUEUE: "saveCheckpoint?waiting"},
    ),
    Permit(
        "signals.send", Role.OPERATOR, ("ojs_jobs.add_job",), Tenants.OWN,
        api={ENQUEUE: "sendSignal"},
    ),
    Permit(
        "steps.retry", Role.OPERATOR, ("ojs_jobs.change_job",), Tenants.OWN,
        api={ADMIN_WRITE: "adminRetryFromStep"},
    ),
    Permit(
        "checkpoints.delete", Role.OPERATOR, ("ojs_jobs.change_job",), Tenants.OWN,
        api={FETCH: "deleteCheckpoint"},
    ),
)  # fmt: skip
