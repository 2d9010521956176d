"""Place many jobs, each independently, with few requests. Spec: contract 23.5."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from federation.domain.delivery import Attempt, Delivery, Fate, Report, answered
from federation.domain.exchange import API, Call, Failure, Reply
from federation.metrics import observe_routed
from federation.services.health import breakers
from federation.services.health.breakers import Verdict
from federation.services.registry import outbound, regions
from federation.services.routing import placements, route
from federation.services.routing.place import (
    Placed,
    Sender,
    Store,
    Stored,
    Wish,
    delivery_of,
    headers_for,
    of_reply,
    place,
)
from jobs.domain.errors import OJSError
from jobs.domain.wire import jsonio

SUCCESS: Final = 300
MOST: Final = 100  # jobs of one request to a region
# stores envelopes here, each by itself, and answers in their order
StoreMany = Callable[[Sequence[dict[str, Any]]], Sequence[Stored | OJSError]]
Outcome = Placed | OJSError


@dataclass(frozen=True, slots=True)
class _Aim:
    """The first attempt at one job."""

    wish: Wish
    delivery: Delivery
    attempt: Attempt

    @property
    def strategy(self) -> str:
        return self.delivery.decision.strategy

    @property
    def takers(self) -> tuple[str, ...]:
        return self.delivery.takers(self.attempt)


Aimed = dict[int, _Aim]  # by index


@dataclass(slots=True)
class _Batch:
    """The outcomes of jobs by index, and the regions in doubt of jobs without an outcome."""

    outcomes: dict[int, Outcome] = field(default_factory=dict)
    in_doubt: dict[int, tuple[str, ...]] = field(default_factory=dict)


def place_many(
    wishes: Mapping[int, Wish], sender: Sender, store: Store, store_many: StoreMany
) -> dict[int, Outcome]:
    """Send each job to its best region, grouped by region; returns outcomes by index.

    A spoke sends all jobs that the hub places in one request to the hub. A job without success in a
    group is sent again by itself with the same federation id, which a region that has it
    recognizes. Not in a transaction. Raises NotFederated.
    """
    batch = _Batch()
    local = regions.registry().configured.local_region
    for (ask, is_via_hub), aimed in _aims(wishes, batch, sender).items():
        if ask == local:
            _store_here(aimed, store_many, batch)
            continue
        places = list(aimed)
        for start in range(0, len(places), MOST):
            part = {n: aimed[n] for n in places[start : start + MOST]}
            if len(part) > 1:
                _send_together(part, ask, sender, batch, is_via_hub=is_via_hub)
    for n, wish in wishes.items():
        if n not in batch.outcomes:
            batch.outcomes[n] = _alone(wish, sender, store, batch.in_doubt.get(n, ()))
    return batch.outcomes


def _alone(wish: Wish, sender: Sender, store: Store, in_doubt: Sequence[str]) -> Outcome:
    try:
        return place(wish, sender, store, in_doubt)
    except OJSError as problem:
        return problem


def _aims(
    wishes: Mapping[int, Wish], batch: _Batch, sender: Sender
) -> dict[tuple[str, bool], Aimed]:
    """Return the groups of first attempts, by the asked region and by whether it is a hub."""
    aims: dict[tuple[str, bool], Aimed] = {}
    tenant = sender.caller.tenant
    known = placements.noted(
        tenant, [one.federation_id for one in wishes.values() if one.may_repeat]
    )
    for n, wish in wishes.items():
        try:
            delivery = delivery_of(
                wish, route.decided(wish.meta), known.get(wish.federation_id, ())
            )
        except OJSError as problem:
            batch.outcomes[n] = problem
            continue
        attempt = delivery.next_attempt()
        # a hub refuses such a job from another hub, when the job is sent by itself
        if attempt is not None and not (attempt.is_via_hub and sender.is_forwarded):
            aim = _Aim(wish, delivery, attempt)
            aims.setdefault((attempt.ask, attempt.is_via_hub), {})[n] = aim
            route.note_sent(attempt.region)  # the next jobs are decided before this job is sent
    _note(aims, tenant)
    return aims


def _note(aims: Mapping[tuple[str, bool], Aimed], tenant: str | None) -> None:
    """Store the asked regions, one statement for each region."""
    by_region: dict[str, dict[str, Sequence[str]]] = {}
    for aimed in aims.values():
        for aim in aimed.values():
            if aim.wish.may_repeat:
                others = (*aim.attempt.in_doubt, *aim.takers[1:])
                by_region.setdefault(aim.attempt.region, {})[aim.wish.federation_id] = others
    for region, jobs in by_region.items():
        placements.note(tenant, jobs, region)


def _store_here(aimed: Aimed, store_many: StoreMany, batch: _Batch) -> None:
    """Store in this region; temporarily refused jobs have no outcome, and try other regions."""
    config = regions.registry().configured
    envelopes = [aim.wish.body_for(config, aim.attempt) for aim in aimed.values()]
    for (n, aim), stored in zip(aimed.items(), store_many(envelopes), strict=True):
        if not isinstance(stored, OJSError):
            status, body, headers = stored
            batch.outcomes[n] = Placed(
                status, body, aim.attempt.region, aim.strategy, aim.wish.federation_id,
                headers=headers,
            )  # fmt: skip
            observe_routed(aim.attempt.region, aim.strategy)
        elif not stored.retryable:
            batch.outcomes[n] = stored


def _send_together(
    aimed: Aimed, ask: str, sender: Sender, batch: _Batch, *, is_via_hub: bool
) -> None:
    """Send several jobs by one request: all or none; a hub places each by itself."""
    config = regions.registry().configured
    region, rules = config.region(ask), config.breaker_rules
    permit = breakers.admit(ask, rules) if region is not None else None
    if region is None or permit is None:
        return
    jobs = [aim.wish.body_for(config, aim.attempt) for aim in aimed.values()]
    base = f"{API}/federation/jobs" if is_via_hub else f"{API}/jobs"
    call = Call(
        ask, "POST", f"{base}/batch", jsonio.dumps({"jobs": jobs}),
        headers_for(sender.caller, is_via_hub=is_via_hub),
    )  # fmt: skip
    answer = outbound.send(region, call)
    report = answer.report
    if not (isinstance(answer, Failure) and answer.is_own):
        failed = None if report.fate is Fate.ANSWERED else report.reason
        breakers.record_outcome(ask, permit, Verdict(report.outcome, failed), rules)
    found = _placed(answer, aimed, report) if is_via_hub else _stored(answer, aimed)
    for n, aim in aimed.items():
        if n in found:
            batch.outcomes[n] = found[n]
            if found[n].is_success:
                observe_routed(found[n].target_region, aim.strategy)
        elif _is_doubtful(report):
            # the next attempt by itself is then a repetition, and names these regions to other
            # regions
            batch.in_doubt[n] = (*aim.takers, *aim.attempt.in_doubt)


def _is_doubtful(report: Report) -> bool:
    """Return whether a region may have stored jobs without answering for them."""
    is_success = report.status is not None and report.status < SUCCESS
    return is_success or report.fate is Fate.AMBIGUOUS


def _stored(answer: Reply | Failure, aimed: Aimed) -> dict[int, Placed]:
    """Return the jobs that a region has stored; empty if it did not store all."""
    if isinstance(answer, Failure) or answer.status >= SUCCESS:
        return {}
    found: dict[int, Placed] = {}
    for (n, aim), job in zip(aimed.items(), _list(answer, "jobs", len(aimed)), strict=False):
        body = jsonio.dumps({**job, "job": job})
        status = 200 if job.get("deduplicated") else 201
        found[n] = Placed(status, body, aim.attempt.region, aim.strategy, aim.wish.federation_id)
    return found


def _placed(answer: Reply | Failure, aimed: Aimed, report: Report) -> dict[int, Placed]:
    """Return a hub's answers about jobs, without jobs that other regions may take."""
    if isinstance(answer, Failure) or report.fate is not Fate.ANSWERED:
        return {}
    found: dict[int, Placed] = {}
    for (n, aim), item in zip(aimed.items(), _list(answer, "results", len(aimed)), strict=False):
        status = item.get("status")
        if isinstance(status, int) and answered(status).fate is Fate.ANSWERED:
            shown = {name: one for name, one in item.items() if name not in {"index", "status"}}
            if isinstance(job := item.get("job"), dict):
                shown = {**job, **shown}
            found[n] = of_reply(
                Reply(status, shown, answer.elapsed_ms), aim.attempt, aim.strategy,
                aim.wish.federation_id,
            )  # fmt: skip
    return found


def _list(answer: Reply, member: str, number: int) -> list[dict[str, Any]]:
    """Return the objects of an answer; empty if their number differs from the jobs."""
    found = answer.body.get(member) if isinstance(answer.body, dict) else None
    if not isinstance(found, list) or len(found) != number:
        return []
    return found if all(isinstance(one, dict) for one in found) else []
