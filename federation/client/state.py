"""The state of one router, in memory and shared by its threads. Spec: contract 23.4.

`operations` reads and writes it. No method waits for I/O.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from threading import Lock
from time import monotonic
from typing import Any

from federation.domain import breaker, latency
from federation.domain.breaker import Breaker, Outcome, Permit
from federation.domain.config import FederationConfig
from federation.domain.delivery import Hop
from federation.domain.exchange import Failure, Reply
from federation.domain.health import Health, Load, Status, verdict
from federation.domain.routing import Snapshot
from jobs.domain.wire.times import format_time

logger = logging.getLogger(__name__)
MIN_WAIT_S = 0.05  # between two checks for due probes and loads
OnEvent = Callable[[str, Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class RegionState:
    """One region as the router sees it; `regions()` returns it."""

    id: str
    url: str
    status: Status
    latency_ms: int | None  # None: never measured, or unhealthy
    circuit_breaker: breaker.State
    last_health_check: str | None  # RFC 3339
    available: int | None  # jobs at the last collection of loads
    active: int | None
    last_error: str | None


@dataclass(slots=True)
class _Entry:
    breaker: Breaker = field(default_factory=Breaker)
    status: Status = Status.UNKNOWN
    latency_ms: float | None = None
    probed_at: float | None = None
    probed_on: datetime | None = None
    load: Load | None = None
    sent: int = 0  # jobs since the load was collected
    error: str | None = None


class State:
    """Health, breakers, latencies and loads of the regions of one configuration."""

    def __init__(
        self,
        config: FederationConfig,
        clock: Callable[[], float] = monotonic,
        on_event: OnEvent | None = None,
    ) -> None:
        """Begin without data. `on_event` receives failovers and changes, from any thread."""
        self.config = config
        self.is_attended = False  # a background task keeps the statuses fresh
        self._clock = clock
        self._on_event = on_event
        self._lock = Lock()
        self._decisions = 0
        self._rules = config.breaker_rules
        self._entries = {region.id: _Entry() for region in config.regions}

    # --- to decide --------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Return the present state, for one decision."""
        now = self._clock()
        with self._lock:
            self._decisions += 1
            entries = self._entries.items()
            health = {region: self._health(one, now) for region, one in entries}
            loads = {
                region: replace(one.load, available=one.load.available + one.sent)
                for region, one in entries
                if one.load is not None
            }
            return Snapshot(health, loads, now, self._decisions)

    def _health(self, entry: _Entry, now: float) -> Health:
        current = entry.breaker.at(now, self._rules)
        is_old = self._is_old(entry, now)
        return Health(
            status=Status.UNKNOWN if is_old else entry.status,
            breaker=current.state,
            is_probed=current.is_probed(now),
            latency_ms=entry.latency_ms if entry.status is Status.HEALTHY else None,
            retry_in_s=current.reopens_in(now, self._rules),
        )

    def _is_old(self, entry: _Entry, now: float) -> bool:
        """Return whether a status is outdated; the background task may be late, or stuck."""
        check = self.config.health_check
        if not self.is_attended:
            return self._is_due(entry, now)
        limit = 3 * check.interval_seconds + check.timeout_seconds
        return entry.probed_at is not None and now - entry.probed_at > limit

    def _is_due(self, entry: _Entry, now: float) -> bool:
        interval = self.config.health_check.interval_seconds
        return entry.probed_at is None or now - entry.probed_at >= interval

    # --- calls ------------------------------------------------------------------------------------

    def begin(self, region: str) -> Permit | None:
        """Ask the breaker for a permit for one call; the caller must call `record_outcome`."""
        now = self._clock()
        with self._lock:
            entry = self._entries[region]
            entry.breaker, permit = breaker.admit(entry.breaker, now, self._rules)
            return permit

    def record_outcome(
        self, region: str, permit: Permit, outcome: Outcome, reason: str = ""
    ) -> None:
        """Record the outcome of a call in the breaker."""
        now = self._clock()
        with self._lock:
            entry = self._entries[region]
            before = entry.breaker.state
            entry.breaker = breaker.record_outcome(entry.breaker, permit, outcome, now, self._rules)
            after = entry.breaker.state
            if outcome is Outcome.FAILURE:
                entry.error = reason
        self._report_breaker(region, before, after, reason)

    def _report_breaker(
        self, region: str, before: breaker.State, after: breaker.State, reason: str
    ) -> None:
        if after is breaker.State.OPEN and before is breaker.State.CLOSED:
            self.report("circuit_opened", region=region, reason=reason)
        elif after is breaker.State.CLOSED and before is not after:
            self.report("circuit_closed", region=region)

    # --- probes -----------------------------------------------------------------------------------

    def due(self) -> tuple[str, ...]:
        """Return the regions to probe now: never regions with an open breaker. Spec: D-FED-9."""
        now = self._clock()
        with self._lock:
            return tuple(
                region.id
                for region in self.config.regions
                if region.enabled
                and self._entries[region.id].breaker.would_admit(now, self._rules)
                and self._is_probe_time(self._entries[region.id], now)
            )

    def _is_probe_time(self, entry: _Entry, now: float) -> bool:
        is_half_open = entry.breaker.at(now, self._rules).state is breaker.State.HALF_OPEN
        return is_half_open or self._is_due(entry, now)

    def probe_in(self) -> float:
        """Return the seconds until a region is due, for a background task."""
        now = self._clock()
        interval = self.config.health_check.interval_seconds
        with self._lock:
            waits = [
                self._wait(self._entries[region.id], now, interval)
                for region in self.config.regions
                if region.enabled
            ]
        return min([interval, *waits])

    def _wait(self, entry: _Entry, now: float, interval: float) -> float:
        if entry.breaker.is_forced:
            return interval
        left = entry.breaker.reopens_in(now, self._rules)
        if left or not entry.breaker.would_admit(now, self._rules):
            return max(left, MIN_WAIT_S)
        since = interval if entry.probed_at is None else now - entry.probed_at
        return max(interval - since, MIN_WAIT_S)

    def probed(self, region: str, permit: Permit, answer: Reply | Failure) -> None:
        """Record a probe's answer. Spec: federation 4.2."""
        if isinstance(answer, Failure) and answer.is_own:
            self.record_outcome(region, permit, Outcome.NEUTRAL)
            return
        status, reason = self._judge(answer)
        now = self._clock()
        with self._lock:
            entry = self._entries[region]
            before, entry.status = entry.status, status
            entry.probed_at, entry.probed_on = now, datetime.now(UTC)
            entry.error = reason or None
            if isinstance(answer, Reply) and status is Status.HEALTHY:
                entry.latency_ms = latency.averaged(entry.latency_ms, answer.elapsed_ms)
        is_healthy = status is Status.HEALTHY
        self.record_outcome(
            region, permit, Outcome.SUCCESS if is_healthy else Outcome.FAILURE, reason
        )
        if status is not before and not (is_healthy and before is Status.UNKNOWN):
            name = "region_healthy" if is_healthy else "region_unhealthy"
            self.report(name, region=region, **({} if is_healthy else {"reason": reason}))

    def _judge(self, answer: Reply | Failure) -> tuple[Status, str]:
        if isinstance(answer, Failure):
            return Status.UNHEALTHY, answer.reason
        found = verdict(answer.status, answer.body, accept_healthy=self.config.accept_healthy)
        if found is Status.HEALTHY:
            return found, ""
        said = answer.body.get("status") if isinstance(answer.body, dict) else "no JSON object"
        return found, f"HTTP {answer.status}, status {said!r}"[:200]

    # --- loads ------------------------------------------------------------------------------------

    def loads_due(self) -> tuple[str, ...]:
        """Return the healthy regions whose load is outdated. Spec: federation 3.2."""
        now = self._clock()
        interval = self.config.load_interval_seconds
        with self._lock:
            return tuple(
                region.id
                for region in self.config.regions
                if region.enabled and self._may_count(self._entries[region.id], now, interval)
            )

    def _may_count(self, entry: _Entry, now: float, interval: float) -> bool:
        if entry.status is not Status.HEALTHY or entry.breaker.state is not breaker.State.CLOSED:
            return False
        return entry.load is None or now - entry.load.at >= interval

    def load_in(self) -> float:
        """Return the seconds until the next collection of loads."""
        return self.config.load_interval_seconds

    def loaded(self, region: str, available: int, active: int) -> None:
        """Record a region's load."""
        now = self._clock()
        with self._lock:
            self._entries[region].load, self._entries[region].sent = Load(available, active, now), 0

    def aimed(self, region: str) -> None:
        """Count a job that is about to be sent, until the load is collected again.

        Otherwise all jobs of an interval would go to the region with the least load at its start.
        """
        with self._lock:
            self._entries[region].sent += 1

    # --- events -----------------------------------------------------------------------------------

    def failed_over(self, hop: Hop, federation_id: str) -> None:
        """Report that a job goes to another region than before. Spec: contract 23.8."""
        self.report(
            "failover", from_region=hop.from_region, to_region=hop.to_region, reason=hop.reason,
            federation_id=federation_id,
        )  # fmt: skip

    def report(self, event: str, **facts: str) -> None:
        """Log an event and pass it to `on_event`; never call it with the lock held."""
        logger.warning("ojs.federation.%s", event, extra=facts)
        if self._on_event is not None:
            self._on_event(f"federation.{event}", facts)

    def regions(self) -> list[RegionState]:
        """Return all regions, in the order of the registry."""
        now = self._clock()
        with self._lock:
            return [
                _shown(region.id, region.url, self._entries[region.id], now, self._rules)
                for region in self.config.regions
            ]


def _shown(id: str, url: str, entry: _Entry, now: float, rules: breaker.Rules) -> RegionState:
    is_measured = entry.latency_ms is not None and entry.status is Status.HEALTHY
    return RegionState(
        id=id,
        url=url,
        status=entry.status,
        latency_ms=round(entry.latency_ms or 0) if is_measured else None,
        circuit_breaker=entry.breaker.at(now, rules).state,
        last_health_check=format_time(entry.probed_on) if entry.probed_on else None,
        available=entry.load.available if entry.load else None,
        active=entry.load.active if entry.load else None,
        last_error=entry.error,
    )
