"""The number of jobs of the regions, for the strategies by load. Spec: federation 3.2."""

from typing import Final

from django.db.models.functions import Now

from federation.domain.config import FederationConfig
from federation.domain.exchange import API, Call, Failure
from federation.domain.region import Region
from federation.models import RegionHealth, RegionLoad
from federation.services.registry import outbound
from jobs.domain.states import State
from jobs.services.record.rates import jobs_by_state

STATS: Final = f"{API}/admin/stats"
HTTP_OK: Final = 200
MOST: Final = 2**53

Counted = tuple[int, int]  # available and active jobs


def counted(region: Region, config: FederationConfig) -> Counted | str:
    """Request the load of a region; returns the reason if it has none. Never raises."""
    timeout_s = config.health_check.timeout_seconds
    answer = outbound.send(region, Call(region.id, "GET", STATS, timeout_s=timeout_s))
    if isinstance(answer, Failure):
        return f"load: {answer.reason}"
    if answer.status != HTTP_OK:
        return f"load: HTTP {answer.status}"
    jobs = answer.body.get("jobs") if isinstance(answer.body, dict) else None
    found = jobs if isinstance(jobs, dict) else {}
    available, active = _count(found.get("available")), _count(found.get("active"))
    if available is None or active is None:
        return "load: the answer lacks the number of jobs"
    return available, active


def _count(value: object) -> int | None:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if isinstance(value, int) and is_number and 0 <= value <= MOST else None


def counted_here() -> Counted:
    """Count the jobs of this server, as exactly as its counts are."""
    found = jobs_by_state()
    return found.get(State.AVAILABLE, 0), found.get(State.ACTIVE, 0)


def note(region_id: str, found: Counted | str) -> None:
    """Store a load, or the reason why there is none; a deleted region is ignored."""
    health = RegionHealth.objects.filter(region=region_id)
    if isinstance(found, str):
        health.update(last_error=found[:300].replace("\0", ""))
    elif health.exists():
        RegionLoad.objects.update_or_create(
            region_id=region_id,
            defaults={"available": found[0], "active": found[1], "at": Now()},
        )
