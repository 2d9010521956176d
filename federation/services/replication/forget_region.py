"""Remove the copies of jobs of a region that never comes back. Spec: contract 23.6."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from federation import queries
from federation.domain.region import ID_PATTERN, MAX_ID
from federation.models import FederatedJob, FederationConfig, Region, ReplicationPeer
from federation.services.registry.regions import registry
from jobs.database import atomic
from jobs.domain.access.caller import SYSTEM, Caller
from jobs.domain.errors import Conflict, InvalidRequest, NotFound
from jobs.services.audit.audit import record

SLICE: Final = 500
MOST: Final = 10_000  # copies of one call
NAMED: Final = 100


@dataclass(frozen=True, slots=True)
class Order:
    """The order to remove the copies of a region."""

    region: str
    limit: int = 1_000
    dry_run: bool = False
    reason: str | None = None
    is_part: bool = False  # the caller writes its own entry in the audit log


class Forgotten(NamedTuple):
    """The number of removed copies, or of a dry run; `is_done`: no copy is left."""

    removed: int
    is_done: bool


def forget_copies(order: Order, caller: Caller = SYSTEM) -> Forgotten:
    """Remove copies of jobs of a region, in slices with one transaction each.

    The last slice also removes the region's row as a peer. Raises Conflict for a registered region,
    InvalidRequest for this server's region, NotFound for a region without copies and without a row.
    """
    _require_gone(order.region)
    if order.dry_run:
        found = _count_copies(order.region, order.limit + 1)
        return Forgotten(min(found, order.limit), found <= order.limit)
    removed, is_done = 0, False
    while removed < order.limit and not is_done:
        asked = min(SLICE, order.limit - removed)
        went = _slice(order.region, asked)
        removed, is_done = removed + went, went < asked
    if not order.is_part:
        facts = {"removed": removed, "is_done": is_done}
        record(
            caller, "federation.copies_removed", order.region[:64], reason=order.reason, data=facts
        )
    return Forgotten(removed, is_done)


def gone() -> list[str]:
    """Return the unregistered regions that took part in replication, up to a bound."""
    peers = ReplicationPeer.objects.exclude(region__in=Region.objects.values("id"))
    return list(peers.order_by("region").values_list("region", flat=True)[:NAMED])


def _count_copies(region: str, most: int) -> int:
    return FederatedJob.objects.filter(origin_region=region)[:most].count()


def _require_gone(region: str) -> None:
    if not ID_PATTERN.fullmatch(region):
        raise NotFound.of("region", region[:MAX_ID])
    if region == registry().local_region:
        raise InvalidRequest.field("region", "must be another region", region)
    if Region.objects.filter(id=region).exists():
        raise Conflict(
            f"region '{region}' is registered: delete it from the registry first",
            details={"resource_type": "region", "resource_id": region},
        )
    if not _count_copies(region, 1) and not ReplicationPeer.objects.filter(region=region).exists():
        raise NotFound.of("region", region)


def _slice(region: str, batch: int) -> int:
    """Remove one batch under two locks: of changes of the registry, and of merges."""
    with atomic():
        FederationConfig.objects.select_for_update().filter(id=1).first()
        if Region.objects.filter(id=region).exists():  # since this began
            raise Conflict(f"region '{region}' is registered again")
        queries.alone()
        went = queries.forget_region(region, batch)
        if went < batch:
            ReplicationPeer.objects.filter(region=region).delete()
    return went
