"""Merge revisions of any region into the copies. Spec: contract 23.6."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import F
from django.db.models.functions import Now

from federation import queries
from federation.domain.replica import Replica, to_milliseconds
from federation.models import ReplicationPeer
from federation.queries import Merged
from jobs.domain.record.events import Kind
from jobs.services.record.emit import NewEvent, emit


def merge(replicas: Sequence[Replica], local: str, skewed: Sequence[bool] = ()) -> list[Merged]:
    """Store newer revisions, and emit events of conflicts; needs a transaction.

    `skewed` has a flag for each revision, in order: its region's clock is wrong. Empty: no clock is
    wrong.
    """
    flags = skewed or [False] * len(replicas)
    queries.alone()
    found = queries.merge(
        [_row(one, local, skewed=off) for one, off in zip(replicas, flags, strict=True)]
    )
    emit([_event(one) for one in found if one.is_conflict])
    return found


def count(region: str, **changes: Any) -> None:
    """Add to the counters of a peer, and record the time; needs a transaction."""
    added = {name: F(name) + value for name, value in changes.items()}
    found = ReplicationPeer.objects.filter(region=region)
    if not found.update(received_at=Now(), **added):
        ReplicationPeer.objects.get_or_create(region=region)
        found.update(received_at=Now(), **added)


def _row(one: Replica, local: str, *, skewed: bool) -> Mapping[str, Any]:
    return {
        "origin_region": one.origin_region, "job_id": one.job_id, "tenant": one.tenant,
        "federation_id": one.federation_id, "type": one.type, "queue": one.queue,
        "state": one.state, "priority": one.priority, "attempt": one.attempt,
        "created_at": one.created_at.isoformat(),
        "enqueued_at": to_milliseconds(one.enqueued_at).isoformat(),
        "completed_at": one.completed_at and one.completed_at.isoformat(),
        "revision": one.revision, "bound_to": one.bound_to,
        "adopts_region": one.adopts and one.adopts.region,
        "adopts_job": one.adopts and one.adopts.job_id, "payload": one.payload,
        # the receiver sets it. Spec: federation 6.3
        "replicated_from": None if one.origin_region == local else one.origin_region,
        "skewed": skewed,
    }  # fmt: skip


def _event(one: Merged) -> NewEvent:
    return NewEvent(
        Kind.FEDERATION_CONFLICT,
        queue=one.queue,
        type=one.type,
        tenant=one.tenant,
        data={
            "federation_id": one.federation_id,
            "region": one.origin_region,
            "job_id": one.job_id,
            "winner_region": one.winner_region,
            "winner_job_id": one.winner_job,
        },
    )
