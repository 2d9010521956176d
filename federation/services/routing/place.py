"""Place one job in the federation: here, or by a request to another region.

A region that gets a federation id again answers with the stored job. Each region stores the ids of
its jobs, so a lost answer never makes a second job. Spec: contract 23.3.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from federation import metrics
from federation.domain.config import FederationConfig, InDoubt
from federation.domain.delivery import Attempt, Delivery, Fate, Hop, Report, answered
from federation.domain.errors import NoHealthyRegion, RegionUnavailable
from federation.domain.exchange import API, Call, Failure, Reply
from federation.domain.meta import (
    DEDUPE_HEADER,
    FederationMeta,
    new_federation_id,
    read_meta,
    stamped,
)
from federation.domain.region import Region
from federation.domain.routing import Decision
from federation.services.health import breakers
from federation.services.health.breakers import Verdict
from federation.services.registry import outbound, regions
from federation.services.routing import placements, route
from jobs.database import atomic
from jobs.domain.access.caller import Caller
from jobs.domain.errors import InvalidRequest, OJSError
from jobs.domain.record.events import Kind
from jobs.domain.wire import jsonio
from jobs.domain.wire.times import format_time
from jobs.services.record.emit import NewEvent, emit

logger = logging.getLogger("ojs.federation")

TENANT_HEADER: Final = "X-OJS-Tenant"  # contract 21: read by every OJS server with tenants
HOP_HEADER: Final = "OJS-Federation-Hop"  # in requests to a hub, which then asks no other hub
PASSED_ON: Final = {"retry-after": "Retry-After", "ojs-deduplicated": "OJS-Deduplicated"}

Stored = tuple[int, bytes, Mapping[str, str]]  # status, JSON and headers of an answer
Store = Callable[[dict[str, Any]], Stored]  # stores an envelope here; raises OJSError


@dataclass(frozen=True, slots=True)
class Sender:
    """The caller of a job, and its path to this server."""

    caller: Caller
    is_forwarded: bool = False  # by a spoke whose hub this server is


@dataclass(frozen=True, slots=True)
class Placed:
    """The region that answered for a job, and its answer, of any status below 500."""

    status: int
    body: bytes  # JSON
    target_region: str
    strategy: str
    federation_id: str
    redirects: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_success(self) -> bool:
        """Whether the region has the job."""
        return self.status < 300  # noqa: PLR2004 - statuses


@dataclass(frozen=True, slots=True)
class Wish:
    """A job of a client that has its federation id."""

    envelope: Mapping[str, Any]
    meta: FederationMeta
    federation_id: str

    @property
    def may_repeat(self) -> bool:
        """Whether a repeat by the client is recognizable and could go to another region."""
        return self.meta.federation_id is not None and self.meta.region is None

    def body_for(self, config: FederationConfig, attempt: Attempt) -> dict[str, Any]:
        """Return the envelope for an attempt; values of the client stay."""
        meta = stamped(
            self.envelope.get("meta"),
            attempt.in_doubt,
            federation_id=self.federation_id,
            source_region=config.local_region,
            routed_at=format_time(datetime.now(UTC)),
            failover_reason=attempt.failover_reason,
        )
        return {**self.envelope, "meta": meta}


def wished(envelope: Mapping[str, Any]) -> Wish:
    """Read the routing members of an envelope. Raises InvalidFederationMeta, RegionRequired."""
    given = envelope.get("meta")
    if given is not None and not isinstance(given, Mapping):
        raise InvalidRequest.field("meta", "must be an object", given)
    meta = read_meta(given)
    return Wish(envelope, meta, meta.federation_id or new_federation_id())


def place(wish: Wish, sender: Sender, store: Store, in_doubt: Sequence[str] = ()) -> Placed:
    """Send a job to the best region, or the next best. Not in a transaction.

    `in_doubt` are regions that may have it already; stored placements add more regions.

    Raises the errors of routing: NotFederated, UnknownRegion, RegionUnavailable, NoHealthyRegion.
    They name the regions that may have the job nevertheless. Also raises this region's refusals of
    the job.
    """
    decision = route.decided(wish.meta)
    if wish.may_repeat:
        known = placements.noted(sender.caller.tenant, [wish.federation_id])
        in_doubt = (*in_doubt, *known.get(wish.federation_id, ()))
    delivery = delivery_of(wish, decision, in_doubt)
    try:
        return _deliver(wish, sender, store, delivery)
    except (RegionUnavailable, NoHealthyRegion):
        if wish.may_repeat or delivery.in_doubt:
            doubts = {wish.federation_id: delivery.in_doubt}
            placements.note(sender.caller.tenant, doubts)
        raise


def delivery_of(wish: Wish, decision: Decision, in_doubt: Sequence[str]) -> Delivery:
    """Return the delivery of a job. Raises the decision's refusal."""
    failover = regions.registry().configured.failover
    doubts = tuple(dict.fromkeys((*in_doubt, *wish.meta.in_doubt)))
    is_bound = failover.in_doubt is InDoubt.REFUSE
    return Delivery(decision, failover.attempts, wish.federation_id, doubts, is_bound)


def _deliver(wish: Wish, sender: Sender, store: Store, delivery: Delivery) -> Placed:
    config = regions.registry().configured
    while True:
        while (attempt := delivery.next_attempt()) is not None:
            placed = _attempted(wish, sender, store, delivery, attempt)
            if placed is not None:
                _report_failovers(delivery.hops, wish)
                if placed.is_success:
                    metrics.observe_routed(placed.target_region, placed.strategy)
                    route.note_sent(placed.target_region)
                return placed
        if not delivery.may_go_on:
            break
        following = route.decided(wish.meta, delivery.tried)
        if following.refusal is not None:
            break
        delivery.go_on(following)
    _report_failovers(delivery.hops, wish)
    raise delivery.failure(config.health_check.interval_seconds)


def _attempted(
    wish: Wish, sender: Sender, store: Store, delivery: Delivery, attempt: Attempt
) -> Placed | None:
    """Make one attempt; None when the delivery must continue."""
    config = regions.registry().configured
    envelope = wish.body_for(config, attempt)
    strategy = delivery.decision.strategy
    if wish.may_repeat:
        others = (*attempt.in_doubt, *delivery.takers(attempt)[1:])
        placements.note(sender.caller.tenant, {wish.federation_id: others}, attempt.region)
    if attempt.region == config.local_region:
        stored = _stored_here(store, envelope, delivery)
        if stored is None:
            return None
        status, body, headers = stored
        return Placed(
            status, body, attempt.region, strategy, wish.federation_id, attempt.redirects, headers
        )
    reply = _asked(config, attempt, envelope, sender, delivery)
    if reply is None:
        return None
    return of_reply(reply, attempt, strategy, wish.federation_id)


def _stored_here(store: Store, envelope: dict[str, Any], delivery: Delivery) -> Stored | None:
    """Store in this region, without a request to itself."""
    try:
        status, body, headers = store(envelope)
    except OJSError as problem:
        wait = problem.headers.get("Retry-After", "")
        report = answered(problem.status, float(wait) if wait.isdigit() else 0.0)
        if report.fate is Fate.ANSWERED:
            raise
        delivery.record_report(report)
        return None
    delivery.record_report(answered(status))
    return status, body, headers


def _asked(
    config: FederationConfig,
    attempt: Attempt,
    envelope: dict[str, Any],
    sender: Sender,
    delivery: Delivery,
) -> Reply | None:
    """Send the attempt to another region; returns its answer if it is final for the client."""
    if attempt.is_via_hub and sender.is_forwarded:
        delivery.record_report(Report(Fate.NOT_SENT, reason="the job would pass a second hub"))
        return None
    region, rules = config.region(attempt.ask), config.breaker_rules
    permit = breakers.admit(attempt.ask, rules)
    if region is None or permit is None:
        delivery.refused()
        return None
    answer = outbound.send(region, call_for(region, attempt, envelope, sender))
    report = answer.report
    if not (isinstance(answer, Failure) and answer.is_own):
        failed = None if report.fate is Fate.ANSWERED else report.reason
        breakers.record_outcome(region.id, permit, Verdict(report.outcome, failed), rules)
    delivery.record_report(report)
    is_answer = isinstance(answer, Reply) and report.fate is Fate.ANSWERED
    return answer if is_answer and isinstance(answer, Reply) else None


def call_for(region: Region, attempt: Attempt, envelope: Mapping[str, Any], sender: Sender) -> Call:
    """Return the request that places a job, with the tenant of its caller."""
    path = f"{API}/federation/jobs" if attempt.is_via_hub else f"{API}/jobs"
    headers = headers_for(sender.caller, is_via_hub=attempt.is_via_hub)
    return Call(region.id, "POST", path, jsonio.dumps(envelope), headers)


def headers_for(caller: Caller, *, is_via_hub: bool) -> dict[str, str]:
    """Return the headers of all requests that place jobs."""
    hop = {HOP_HEADER: "1"} if is_via_hub else {}
    tenant = {TENANT_HEADER: caller.tenant} if caller.tenant is not None else {}
    traced = {"X-Request-Id": caller.request_id} if caller.request_id else {}
    # in every request: the region stores the id only with this header, and a repeat needs it
    return {DEDUPE_HEADER: "1", **tenant, **traced, **hop}


def of_reply(reply: Reply, attempt: Attempt, strategy: str, federation_id: str) -> Placed:
    """Return an answer of a region, or of the hub, for the client."""
    body = reply.body if _is_answer(reply.status, reply.body) else {}
    answered = {name: value for name, value in body.items() if name != "federation"}
    routed = body.get("federation") if attempt.is_via_hub else None
    further = routed if isinstance(routed, dict) else {}
    target, redirects = further.get("target_region"), further.get("redirects")
    is_registered = isinstance(target, str) and target in regions.registry().regions
    return Placed(
        reply.status,
        jsonio.dumps(answered),
        str(target) if is_registered else attempt.region,
        strategy,
        federation_id,
        attempt.redirects + (redirects if isinstance(redirects, int) else 0),
        {name: reply.headers[low] for low, name in PASSED_ON.items() if low in reply.headers},
    )


def _is_answer(status: int, body: object) -> bool:
    """Return whether a body comes from an OJS server: answers of other servers are not shown."""
    if not isinstance(body, dict):
        return False
    if status >= 400:  # noqa: PLR2004 - statuses
        return isinstance(body.get("error"), dict)
    return "job" in body or all(isinstance(body.get(name), str) for name in ("id", "type", "state"))


def _report_failovers(hops: list[Hop], wish: Wish) -> None:
    """Log, count and emit the failovers of one job. Spec: contract 23.8."""
    if not hops:
        return
    events = []
    for hop in hops:
        facts = {
            "from_region": hop.from_region, "to_region": hop.to_region, "reason": hop.reason,
            "federation_id": wish.federation_id,
        }  # fmt: skip
        logger.warning("ojs.federation.failover", extra=facts)
        metrics.observe_failover(hop.from_region, hop.to_region, hop.reason)
        kind = wish.envelope.get("type")
        events.append(
            NewEvent(
                Kind.FEDERATION_FAILOVER, type=kind if isinstance(kind, str) else None, data=facts
            )
        )
    with atomic():
        emit(events)
