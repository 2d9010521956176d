"""Enqueue through the federation: decide, send, fail over. Spec: contract 23.3."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from federation.client.newjob import NewJob
from federation.client.operations import Answer, Steps, decided, guarded
from federation.client.results import (
    BatchResult,
    Enqueued,
    Refusal,
    Refused,
    RegionRefused,
    UnexpectedAnswer,
)
from federation.client.state import State
from federation.domain.config import InDoubt
from federation.domain.delivery import BREAKER_OPEN, Attempt, Delivery, Fate, Report
from federation.domain.exchange import API, Call, Failure, Reply
from federation.domain.meta import (
    DEDUPE_HEADER,
    DEDUPLICATED_HEADER,
    FederationMeta,
    new_federation_id,
    read_meta,
    stamped,
)
from federation.domain.routing import Decision
from jobs.domain.errors import OJSError
from jobs.domain.wire import jsonio
from jobs.domain.wire.times import format_time

CREATED = (200, 201, 202, 207)


@dataclass(slots=True)
class _Parcel:
    """One job and the state of its delivery."""

    job: NewJob
    meta: Mapping[str, Any]
    routing: FederationMeta
    delivery: Delivery | None = None
    attempt: Attempt | None = None
    hops_reported: int = 0
    result: Enqueued | None = None
    error: Refusal | None = None

    @property
    def federation_id(self) -> str:
        return str(self.routing.federation_id)


def enqueue(state: State, job: NewJob, headers: Mapping[str, str]) -> Steps[Enqueued]:
    """Enqueue one job. Raises OJSError, RegionRefused or UnexpectedAnswer."""
    parcel = _parcel(job)
    yield from _deliver(state, [parcel], headers)
    if parcel.result is None:
        raise parcel.error or UnexpectedAnswer("", 0)
    return parcel.result


def enqueue_batch(
    state: State, jobs: Sequence[NewJob], headers: Mapping[str, str]
) -> Steps[BatchResult]:
    """Enqueue jobs, one request per region: all or none in a region, not across regions."""
    parcels: list[_Parcel | Refused] = []
    for job in jobs:
        try:
            parcels.append(_parcel(job))
        except OJSError as problem:
            parcels.append(Refused(job.federation_id, problem))
    yield from _deliver(state, [one for one in parcels if isinstance(one, _Parcel)], headers)
    return BatchResult([one if isinstance(one, Refused) else _entry(one) for one in parcels])


def _entry(parcel: _Parcel) -> Enqueued | Refused:
    if parcel.result is not None:
        return parcel.result
    return Refused(parcel.federation_id, parcel.error or UnexpectedAnswer("", 0))


def route(state: State, meta: Mapping[str, Any]) -> Steps[Decision]:
    """Decide without sending; the decision may be a refusal."""
    return (yield from decided(state, _identified(read_meta(meta))))


def _parcel(job: NewJob) -> _Parcel:
    meta = job.full_meta()
    return _Parcel(job, meta, _identified(read_meta(meta)))


def _identified(meta: FederationMeta) -> FederationMeta:
    return meta if meta.federation_id else replace(meta, federation_id=new_federation_id())


# --- requests -------------------------------------------------------------------------------------


def _deliver(state: State, parcels: Sequence[_Parcel], headers: Mapping[str, str]) -> Steps[None]:
    """Send each job until a region answers for it or no region is left."""
    waiting = list(parcels)
    while waiting:
        for parcel in waiting:
            yield from _take_aim(state, parcel)
        waiting = [one for one in waiting if one.attempt is not None]
        groups = _grouped(waiting)
        calls = [_call(state, group, headers) for group in groups]
        answers = (yield from guarded(state, calls)) if calls else []
        for group, answer in zip(groups, answers, strict=True):
            _record_answer(group, answer)


def _take_aim(state: State, parcel: _Parcel) -> Steps[None]:
    """Set the next attempt of a job, None when there is none."""
    try:
        delivery = parcel.delivery
        if delivery is None:
            decision = yield from decided(state, parcel.routing)
            failover = state.config.failover
            delivery = parcel.delivery = Delivery(
                decision, failover.attempts, parcel.federation_id, parcel.routing.in_doubt,
                is_bound=failover.in_doubt is InDoubt.REFUSE,
            )  # fmt: skip
        elif delivery.may_go_on:
            # regions that the first decision left out are candidates now
            delivery.go_on((yield from decided(state, parcel.routing, delivery.tried)))
    except OJSError as problem:
        parcel.attempt, parcel.error = None, problem
        return
    parcel.attempt = delivery.next_attempt()
    if parcel.attempt is not None and not parcel.attempt.is_repeat:
        state.aimed(parcel.attempt.region)
    if parcel.attempt is None and parcel.result is None and parcel.error is None:
        parcel.error = delivery.failure(state.config.health_check.interval_seconds)
    for hop in delivery.hops[parcel.hops_reported :]:
        state.failed_over(hop, parcel.federation_id)
    parcel.hops_reported = len(delivery.hops)


@dataclass(slots=True)
class _Group:
    """Jobs of one request."""

    ask: str
    is_via_hub: bool
    parcels: list[_Parcel] = field(default_factory=list)


def _grouped(parcels: Sequence[_Parcel]) -> list[_Group]:
    groups: dict[tuple[str, bool], _Group] = {}
    for parcel in parcels:
        attempt = parcel.attempt
        if attempt is not None:
            key = (attempt.ask, attempt.is_via_hub)
            groups.setdefault(key, _Group(*key)).parcels.append(parcel)
    return list(groups.values())


def _call(state: State, group: _Group, headers: Mapping[str, str]) -> Call:
    routed_at = format_time(datetime.now(UTC))
    jobs = [_envelope(state, one, routed_at) for one in group.parcels]
    base = f"{API}/federation/jobs" if group.is_via_hub else f"{API}/jobs"
    is_one = len(jobs) == 1
    return Call(
        group.ask,
        "POST",
        base if is_one else f"{base}/batch",
        jsonio.dumps(jobs[0] if is_one else {"jobs": jobs}),
        # in every request: the region stores the id only with this header, and a repeat needs it
        {**headers, DEDUPE_HEADER: "1"},
    )


def _envelope(state: State, parcel: _Parcel, routed_at: str) -> dict[str, Any]:
    attempt = parcel.attempt
    return parcel.job.envelope(
        stamped(
            parcel.meta,
            attempt.in_doubt if attempt else (),
            federation_id=parcel.federation_id,
            source_region=state.config.local_region,
            routed_at=routed_at,
            failover_reason=attempt.failover_reason if attempt else None,
        )
    )


# --- answers --------------------------------------------------------------------------------------


def _record_answer(group: _Group, answer: Answer) -> None:
    items = _items(group, answer) if isinstance(answer, Reply) else None
    for n, parcel in enumerate(group.parcels):
        delivery = parcel.delivery
        if delivery is None:
            continue
        if isinstance(answer, Failure) and answer.reason == BREAKER_OPEN:
            delivery.refused()
            continue
        report = answer.report
        if items is not None and group.is_via_hub:
            report = _of_item(items[n], report)
        delivery.record_report(report)
        if isinstance(answer, Reply) and report.fate is Fate.ANSWERED:
            if items is not None:
                _read_job(group, parcel, items[n], answer)
            else:
                parcel.error = RegionRefused(group.ask, answer)


def _items(group: _Group, reply: Reply) -> list[Any] | None:
    """Return the part of the answer for each job, None if the request failed as a whole."""
    body = reply.body if isinstance(reply.body, dict) else {}
    items: Any = [body]
    if len(group.parcels) > 1:
        items = body.get("results") if group.is_via_hub else body.get("jobs")
    is_whole = isinstance(items, list) and len(items) == len(group.parcels)
    if reply.status in CREATED:
        return items if is_whole else [None] * len(group.parcels)
    # a hub that could place no job answers for each of them
    return items if is_whole and len(group.parcels) > 1 and group.is_via_hub else None


def _of_item(item: Any, report: Report) -> Report:
    """Judge a hub's answer for one job of several: another region may take a refused job."""
    status = item.get("status") if isinstance(item, dict) else None
    if not isinstance(status, int) or isinstance(status, bool):
        return report
    return Reply(status, item, 0.0).report


def _read_job(group: _Group, parcel: _Parcel, item: Any, reply: Reply) -> None:
    """Read a job, or a hub's refusal, from an answer: the object itself, or its member `job`."""
    found = item if isinstance(item, dict) else {}
    job = found.get("job") if isinstance(found.get("job"), dict) else found
    placed = found.get("federation") if isinstance(found.get("federation"), dict) else {}
    attempt, delivery = parcel.attempt, parcel.delivery
    if isinstance(found.get("error"), dict) and "id" not in (job or {}):
        status = int(found["status"]) if isinstance(found.get("status"), int) else 422
        parcel.error = RegionRefused(group.ask, Reply(status, found, reply.elapsed_ms))
    elif not job or not isinstance(job.get("id"), str) or attempt is None or delivery is None:
        parcel.error = UnexpectedAnswer(group.ask, reply.status)
    else:
        parcel.result = Enqueued(
            region=str((placed or {}).get("target_region") or attempt.region),
            job_id=job["id"],
            federation_id=parcel.federation_id,
            strategy=delivery.decision.strategy,
            redirects=attempt.redirects,
            is_duplicate=_is_duplicate(reply, found),
            job=job,
        )


def _is_duplicate(reply: Reply, item: Mapping[str, Any]) -> bool:
    return (
        reply.headers.get(DEDUPLICATED_HEADER.lower()) == "true" or item.get("deduplicated") is True
    )
