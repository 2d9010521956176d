"""Store revisions from another region. Spec: federation 5.2, 6.3; contract 23.5, 23.6."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from federation.domain.errors import UnknownRegion
from federation.domain.order import MAX_SKEW, is_skewed
from federation.domain.replica import Replica
from federation.services.registry.regions import registry
from federation.services.replication.merge import count, merge
from federation.services.replication.replication import ReplicationConfig, required
from jobs.database import atomic
from jobs.domain.access.caller import Caller
from jobs.domain.errors import InvalidRequest, TenantMismatch
from jobs.services.read.clock import now


class Ingested(NamedTuple):
    """The result of a batch."""

    accepted: int  # newer than the stored revisions
    ignored: int
    conflicts: int  # accepted, and another region has a copy as well


def ingest(replicas: Sequence[Replica], sent_at: datetime | None, caller: Caller) -> Ingested:
    """Store a batch of one region's revisions: all of them, or none.

    Harmless when it is repeated, or when batches arrive in another order. Raises NotFederated,
    UnknownRegion, InvalidRequest, TenantMismatch, each with the index of the revision.
    """
    config = required()
    origin = replicas[0].origin_region
    for index, one in enumerate(replicas):
        _require(one, index, origin, config, caller)
    with atomic():
        at = now()
        is_off = sent_at is not None and abs(sent_at - at) > MAX_SKEW
        skewed = [is_off or is_skewed(one.enqueued_at, at) for one in replicas]
        merged = merge(replicas, config.local, skewed)
        conflicts = sum(one.is_conflict for one in merged)
        count(origin, received=len(merged), conflicts=conflicts)
    return Ingested(len(merged), len(replicas) - len(merged), conflicts)


def _require(
    one: Replica, index: int, origin: str, config: ReplicationConfig, caller: Caller
) -> None:
    name = f"jobs[{index}].origin_region"
    problem: Exception | None = None
    if one.origin_region == config.local:
        problem = InvalidRequest.field(
            name, "is this region: a region accepts only copies of other regions", origin
        )
    elif one.origin_region != origin:
        problem = InvalidRequest.field(
            name, "differs from the origin region of the first revision", one.origin_region
        )
    elif one.origin_region not in registry().regions:
        problem = UnknownRegion.named(one.origin_region)
    elif caller.tenant not in {None, one.tenant}:
        problem = TenantMismatch(
            "the credentials are bound to another tenant",
            details={"reason": "tenant_mismatch", "field": f"jobs[{index}].tenant_id"},
        )
    if problem is not None:
        problem.details["index"] = index  # type: ignore[attr-defined]  # all are OJSErrors
        raise problem
