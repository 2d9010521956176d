"""Where jobs were sent, so that a retry asks there first. Spec: contract 23 §3.

A router may decide otherwise a moment later: loads and health change. The region that may have the
job says so by its federation id; another one would make a second job. Noted before a job is sent,
and only where the client named the id: nobody can repeat a job without it.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import timedelta

from django.db.models.functions import Now

from federation.conf import conf
from federation.domain.meta import GEO_PIN
from federation.domain.routing import Decision
from federation.models import Placement

REASON = "asked for this job before"


def noted(tenant: str | None, federation_ids: Collection[str]) -> Mapping[str, str]:
    """Return the regions that jobs were sent to last, by federation id. One statement."""
    if not federation_ids:
        return {}
    found = Placement.objects.filter(tenant=tenant or "", federation_id__in=list(federation_ids))
    return {str(one.federation_id): one.region for one in found}


def note(tenant: str | None, federation_ids: Collection[str], region: str) -> None:
    """Note where jobs are sent now, in place of what was noted before. One statement."""
    rows = [
        Placement(tenant=tenant or "", federation_id=one, region=region)
        for one in sorted(set(federation_ids))  # in one order: two requests may share ids
    ]
    if rows:
        Placement.objects.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["tenant", "federation_id"],
            update_fields=["region"],
        )


def preferring(decision: Decision, region: str | None) -> Decision:
    """Return a decision with the region first that may have the job, if it can be asked."""
    first = [one for one in decision.candidates if one.id == region]
    if not first or decision.strategy == GEO_PIN:
        return decision
    others = [one for one in decision.candidates if one.id != region]
    return replace(decision, candidates=(replace(first[0], reason=REASON), *others))


def forget(batch: int) -> int:
    """Remove what is behind the window of federation ids; returns how many rows."""
    old = Placement.objects.filter(at__lt=Now() - timedelta(milliseconds=conf().dedupe_window_ms))
    keys = [one.pk for one in old.order_by("at")[:batch]]
    return Placement.objects.filter(pk__in=keys).delete()[0] if keys else 0
