"""Say why a tenant cannot move to another cell while its workflows run."""

from jobs.extensions import Remark
from workflows.domain.kinds import ENDED
from workflows.models import Workflow


def remarks(tenant: str) -> list[Remark]:
    """Return the unfinished workflows of a tenant as an obstacle."""
    running = Workflow.objects.filter(tenant=tenant, parent_id__isnull=True)
    number = running.exclude(state__in=ENDED).count()
    if not number:
        return []
    text = f"{number} workflows have not ended: wait for them or cancel them"
    return [Remark(text, is_obstacle=True)]
