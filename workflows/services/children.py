"""Workflows that steps of jobs started: whether they have ended, and their cancel with the job.

Spec: contract 34.2.
"""

from collections.abc import Collection
from contextlib import suppress

from jobs.domain.errors import Conflict
from jobs.domain.wire.ids import is_id
from ojs_tasks.children import FLOW_ENDED
from workflows.domain.kinds import ENDED, FlowState
from workflows.models import Workflow
from workflows.services.cancel import cancel


def has_ended(names: Collection[str], tenant: str) -> bool:
    """Return whether one of the workflows has ended whose ends a suspension names."""
    ids = [name.removeprefix(FLOW_ENDED) for name in names]
    found = [workflow_id for workflow_id in ids if is_id(workflow_id)]
    return Workflow.objects.filter(id__in=found, tenant=tenant, state__in=ENDED).exists()


def cancel_children(ids: Collection[str], parent: str, tenant: str) -> None:
    """Cancel the running workflows among `ids` that are to end with their parent.

    In the transaction that cancelled the parent.
    """
    found = Workflow.objects.filter(
        id__in=ids,
        tenant=tenant,
        parent_job_id=parent,
        ends_with_parent=True,
        state=FlowState.RUNNING,
    )
    for workflow_id in sorted(map(str, found.values_list("id", flat=True))):
        with suppress(Conflict):  # it ended meanwhile
            cancel(workflow_id, "parent")
