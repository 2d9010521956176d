"""Probe the health of regions. Spec: federation 4.2, contract 23.4."""

from dataclasses import replace
from datetime import datetime
from email.utils import parsedate_to_datetime

from django.db import DatabaseError

from federation.domain.breaker import Outcome, Permit
from federation.domain.config import FederationConfig
from federation.domain.exchange import HEALTH, Call, Failure, Reply
from federation.domain.health import HTTP_OK, Status, verdict
from federation.domain.region import Region
from federation.services.health import breakers
from federation.services.health.breakers import Verdict
from federation.services.registry import outbound
from jobs.services.health.health import health


def probe(region_id: str, config: FederationConfig) -> None:
    """Probe one region now and store the result, unless its breaker is open.

    Not in a transaction. The local region is checked without a request.
    """
    region = config.region(region_id)
    if region is None:
        return
    permit = breakers.admit(region_id, config.breaker_rules)
    if permit is not None:
        note(region_id, permit, asked(region, config), config)


def asked(region: Region, config: FederationConfig) -> Verdict:
    """Probe a region. Only the local region needs the database; never raises."""
    if region.id == config.local_region:
        return _local()
    timeout_s = config.health_check.timeout_seconds
    answer = outbound.send(region, Call(region.id, "GET", HEALTH, timeout_s=timeout_s))
    if isinstance(answer, Failure):
        return _of(Status.UNHEALTHY, answer.reason)
    status = verdict(answer.status, answer.body, accept_healthy=config.accept_healthy)
    if status is Status.HEALTHY:
        return replace(_of(status, None, answer.elapsed_ms), clock=_clock(answer))
    return replace(_of(status, _why(answer)), clock=_clock(answer))


def _local() -> Verdict:
    try:
        found = health()
    except DatabaseError as problem:  # the check itself was cut off
        return _of(Status.UNHEALTHY, type(problem).__name__)
    if found.is_well:
        return _of(Status.HEALTHY, None, float(found.latency_ms))
    return _of(Status.UNHEALTHY, found.error or "degraded")


def _of(status: Status, error: str | None, rtt_ms: float | None = None) -> Verdict:
    outcome = Outcome.SUCCESS if status is Status.HEALTHY else Outcome.FAILURE
    return Verdict(outcome, error, status, rtt_ms)


def _clock(answer: Reply) -> datetime | None:
    """Return the time in a region's answer; None: absent or unreadable."""
    try:
        at = parsedate_to_datetime(answer.headers.get("date", ""))
    except ValueError:
        return None
    return at if at.tzinfo else None


def _why(answer: Reply) -> str:
    """Return a reason that consists of the status: other text of a region is not repeated."""
    return f"HTTP {answer.status}" + (" without the status ok" if answer.status == HTTP_OK else "")


def note(region_id: str, permit: Permit, found: Verdict, config: FederationConfig) -> None:
    """Store the result of a probe."""
    breakers.record_outcome(region_id, permit, found, config.breaker_rules)
