"""A region that is down, and what was told of its jobs before."""

from typing import Any

from django.db.models.functions import Now

from federation.domain.meta import FEDERATION_ID
from federation.domain.replica import Replica
from federation.models import RegionHealth
from federation.services.registry import regions
from jobs.domain.ids import new_id
from tests.federation.replication import rig
from tests.federation.replication.rig import EU, counts, replica, replicate

LIVE = {"envelope": {"retry": {"max_attempts": 7}, "tags": ["t"], "timeout_ms": 9_000}}


def set_status(region: str, status: str) -> None:
    """Have probed a region."""
    RegionHealth.objects.filter(region=region).update(status=status, checked_at=Now())
    regions.forget()


def federate(**replication: Any) -> None:
    """Have a federation whose region eu is down."""
    rig.federate(**replication)
    set_status(EU, "unhealthy")


def lost(**members: Any) -> Replica:
    """Have been told in full of a job that waits in eu; `args`, `meta`, `envelope` are its own."""
    federation_id = members.pop("federation_id", None) or new_id()
    payload = {
        "args": members.pop("args", [1]),
        "meta": {FEDERATION_ID: federation_id, **members.pop("meta", {})},
        "envelope": members.pop("envelope", LIVE["envelope"]),
    }
    one = replica(federation_id=federation_id, payload=payload, **members)
    assert replicate(one) == counts(accepted=1)
    return one
