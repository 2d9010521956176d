"""A region that is down, with copies of its jobs that arrived before."""

from typing import Any

from django.db.models.functions import Now

from federation.domain.meta import FEDERATION_ID
from federation.domain.replica import Replica
from federation.models import RegionHealth
from federation.services.registry import regions
from jobs.domain.wire.ids import new_id
from tests.federation.replication import rig
from tests.federation.replication.rig import EU, counts, replica, replicate

LIVE = {"envelope": {"retry": {"max_attempts": 7}, "tags": ["t"], "timeout_ms": 9_000}}


def set_status(region: str, status: str) -> None:
    """Store the result of a probe of a region."""
    RegionHealth.objects.filter(region=region).update(status=status, checked_at=Now())
    regions.clear()


def federate(**replication: Any) -> None:
    """Set up a federation whose region eu is down."""
    rig.federate(**replication)
    set_status(EU, "unhealthy")


def lost(**members: Any) -> Replica:
    """Store a full copy of a job that waits in eu; `args`, `meta` and `envelope` are the job's."""
    federation_id = members.pop("federation_id", None) or new_id()
    payload = {
        "args": members.pop("args", [1]),
        "meta": {FEDERATION_ID: federation_id, **members.pop("meta", {})},
        "envelope": members.pop("envelope", LIVE["envelope"]),
    }
    one = replica(federation_id=federation_id, payload=payload, **members)
    assert replicate(one) == counts(accepted=1)
    return one
