"""The regions that jobs were sent to, so that a retry asks them first. Spec: contract 23.3.

A router may decide differently a moment later: loads and health change, or the process died. The
region that has the job recognizes its federation id. Another region receives the list of regions
that may have it (`in_doubt`), so that one of the two jobs is given up.

A placement is stored before a job is sent if the client chose the id. For other jobs only the final
doubts are stored: without its id, a client cannot repeat a job.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta

from django.db.models.functions import Now

from federation.conf import conf
from federation.models import Placement

NOBODY = ""  # no request is known to run


def noted(tenant: str | None, federation_ids: Collection[str]) -> Mapping[str, tuple[str, ...]]:
    """Return the regions that may have jobs, by federation id; the last asked is the first.

    One statement.
    """
    if not federation_ids:
        return {}
    found = Placement.objects.filter(tenant=tenant or "", federation_id__in=list(federation_ids))
    return {
        str(row.federation_id): tuple(
            one for one in dict.fromkeys((row.region, *row.in_doubt)) if one != NOBODY
        )
        for row in found
    }


def note(tenant: str | None, jobs: Mapping[str, Sequence[str]], region: str = NOBODY) -> None:
    """Store the region of jobs that are sent now, and the other regions in doubt.

    `jobs` has the doubts by federation id. Replaces the stored values. One statement.
    """
    rows = [
        Placement(tenant=tenant or "", federation_id=one, region=region, in_doubt=list(doubts))
        for one, doubts in sorted(jobs.items())  # in one order: two requests may share ids
    ]
    if rows:
        Placement.objects.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["tenant", "federation_id"],
            update_fields=["region", "in_doubt"],
        )


def delete_expired_placements(batch: int) -> int:
    """Remove placements older than the window of federation ids; returns how many rows."""
    old = Placement.objects.filter(at__lt=Now() - timedelta(milliseconds=conf().dedupe_window_ms))
    keys = [one.pk for one in old.order_by("at")[:batch]]
    return Placement.objects.filter(pk__in=keys).delete()[0] if keys else 0
