"""Remove what is known of the jobs of a region that never comes back. Spec: contract 23.6."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from django.db import transaction

from federation import queries
from federation.domain.region import ID_PATTERN, MAX_ID
from federation.models import FederatedJob, FederationConfig, Region, ReplicationPeer
from federation.services.registry.regions import registry
from jobs.domain.caller import SYSTEM, Caller
from jobs.domain.errors import Conflict, InvalidRequest, NotFound
from jobs.services.audit.audit import record

SLICE: Final = 500
MOST: Final = 10_000  # copies of one call
NAMED: Final = 100


@dataclass(frozen=True, slots=True)
class Order:
    """Whose copies are to go."""

    region: str
    limit: int = 1_000
    dry_run: bool = False
    reason: str | None = None
    is_part: bool = False  # of something that leaves an entry of its own in the audit log


class Forgotten(NamedTuple):
    """How many went, or would go; `is_done`: none is left."""

    removed: int
    is_done: bool


def forget_copies(order: Order, caller: Caller = SYSTEM) -> Forgotten:
    """Remove copies of jobs of a region, in slices that are transactions of their own.

    With the last ones goes what was noted of it as a peer. Raises Conflict for a region that is
    registered, InvalidRequest for this one, NotFound for one that nothing is known of.
    """
    _require_gone(order.region)
    if order.dry_run:
        found = _known(order.region, order.limit + 1)
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
    """Name the regions that were heard or told of jobs and are registered no more, the first."""
    known = ReplicationPeer.objects.exclude(region__in=Region.objects.values("id"))
    return list(known.order_by("region").values_list("region", flat=True)[:NAMED])


def _known(region: str, most: int) -> int:
    return FederatedJob.objects.filter(origin_region=region)[:most].count()


def _require_gone(region: str) -> None:
    if not ID_PATTERN.fullmatch(region):
        raise NotFound.of("region", region[:MAX_ID])
    if region == registry().local_region:
        raise InvalidRequest.field("region", "is this region", region)
    if Region.objects.filter(id=region).exists():
        raise Conflict(
            f"region '{region}' is registered: take it out of the registry first",
            details={"resource_type": "region", "resource_id": region},
        )
    if not _known(region, 1) and not ReplicationPeer.objects.filter(region=region).exists():
        raise NotFound.of("region", region)


def _slice(region: str, batch: int) -> int:
    """Remove one batch, behind the lock that registering a region takes, and that of merging."""
    with transaction.atomic():
        FederationConfig.objects.select_for_update().filter(id=1).first()
        if Region.objects.filter(id=region).exists():  # since this began
            raise Conflict(f"region '{region}' is registered again")
        queries.alone()
        went = queries.forget_region(region, batch)
        if went < batch:
            ReplicationPeer.objects.filter(region=region).delete()
    return went
