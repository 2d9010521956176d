"""Where jobs were sent, so that a retry asks there first. Spec: contract 23.3.

A router may decide otherwise a moment later: loads and health change, and it may have died. The
region that may have the job says so by its federation id; another one is told who may have it
(`in_doubt`), so that one of the two jobs is given up. Noted before a job is sent, and where the
client named the id; else only what is in doubt in the end: nobody can repeat a job without its id.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta

from django.db.models.functions import Now

from federation.conf import conf
from federation.models import Placement

NOBODY = ""  # no request is under way, as far as is known


def noted(tenant: str | None, federation_ids: Collection[str]) -> Mapping[str, tuple[str, ...]]:
    """Return the regions that may have jobs, by federation id; who was asked last is the first.

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
    """Note where jobs are sent now, and by federation id who may have them besides.

    In place of what was noted before. One statement.
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


def forget(batch: int) -> int:
    """Remove what is behind the window of federation ids; returns how many rows."""
    old = Placement.objects.filter(at__lt=Now() - timedelta(milliseconds=conf().dedupe_window_ms))
    keys = [one.pk for one in old.order_by("at")[:batch]]
    return Placement.objects.filter(pk__in=keys).delete()[0] if keys else 0
