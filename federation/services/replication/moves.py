"""Say why a tenant cannot move to another cell while regions exchange its jobs."""

from collections.abc import Sequence

from federation.models import Doubt
from federation.services.replication.replication import replication_config
from jobs.extensions import Remark


def remarks(tenant: str, *, arrives: bool) -> Sequence[Remark]:
    """Return the obstacles: replication, and jobs that another region may have, too."""
    found: list[Remark] = []
    if replication_config() is not None:
        cell = "new" if arrives else "old"
        text = f"the {cell} cell replicates its jobs: copies would name the wrong region"
        found.append(Remark(text, is_obstacle=True))
    doubts = Doubt.objects.filter(tenant=tenant).count()
    if doubts and not arrives:
        text = f"{doubts} jobs are in doubt: wait until their regions have answered"
        found.append(Remark(text, is_obstacle=True))
    return found
