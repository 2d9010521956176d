"""Noisy tenants for the tests: tenants with real jobs, and settings."""

from typing import Any

from jobs.domain.dispatch.claim import FetchRequest
from jobs.services.dispatch.fetch import fetch
from tenancy.models import Throttle
from tenancy.services.throttles import expire
from tenancy.services.watch import watch
from tests.factories import stored_ids
from tests.jobs.services.record.test_rates import aggregated

LOUD, QUIET = 400, 2


def backlog(tenant: str, number: int, **envelope: Any) -> list[str]:
    """Store jobs of a tenant."""
    return stored_ids(number, meta={"tenant_id": tenant}, **envelope)


def noise(tenant: str = "blue", **envelope: Any) -> None:
    """Make a tenant noisy next to another tenant, by its waiting jobs and new jobs."""
    backlog(tenant, LOUD, **envelope)
    backlog("red", QUIET, **envelope)
    aggregated()


def look() -> int:
    """Aggregate the events and look for noisy tenants."""
    aggregated()
    return watch()


def silence() -> None:
    """Make the other tenants equally busy."""
    for other in ("red", "green"):
        backlog(other, LOUD)
    aggregated()


def fetched(count: int, **request: Any) -> list[str]:
    """Claim jobs; return their tenants."""
    return [job.tenant for job in fetch(FetchRequest(("default",), count=count, **request)).jobs]


def pass_throttles() -> int:
    """Let all throttles expire; return how many ended."""
    for throttle in Throttle.objects.all():
        Throttle.objects.filter(pk=throttle.pk).update(until=throttle.since)
    return expire()


def choose(settings: Any, action: str, **more: Any) -> None:
    """Throttle noisy tenants by this action."""
    chosen = {"AUTO_THROTTLE": action, **more}
    settings.OJS_TENANCY = {**settings.OJS_TENANCY, **chosen}
