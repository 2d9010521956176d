"""Place many jobs in the federation, each by itself, with few requests. Spec: contract 23 §5."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from federation.domain.delivery import Attempt, Delivery, Fate
from federation.domain.exchange import API, Call, Failure, Reply
from federation.metrics import observe_routed
from federation.services import breakers, outbound, placements, regions, route
from federation.services.breakers import Verdict
from federation.services.place import Placed, Sender, Store, Stored, Wish, headers_of, place
from jobs.domain import jsonio
from jobs.domain.errors import OJSError

SUCCESS: Final = 300
MOST: Final = 100  # jobs of one request to a region
# stores envelopes here, each by itself, and answers in their order
StoreMany = Callable[[Sequence[dict[str, Any]]], Sequence[Stored | OJSError]]
Outcome = Placed | OJSError
Aimed = dict[int, tuple[Attempt, str]]  # by place, with the strategy


def place_many(
    wishes: Mapping[int, Wish], sender: Sender, store: Store, store_many: StoreMany
) -> dict[int, Outcome]:
    """Send each job to its best region, all of one region together; returns outcomes by place.

    What does not succeed together is sent again by itself, with the same federation id: whatever
    region has it already says so. Not in a transaction. Raises NotFederated.
    """
    outcomes: dict[int, Outcome] = {}
    local = regions.registry().configured.local_region
    tenant = sender.caller.tenant
    for region, aimed in _aims(wishes, outcomes, tenant).items():
        ids = [wishes[n].federation_id for n in aimed if wishes[n].may_repeat]
        placements.note(tenant, ids, region)
        if region == local:
            outcomes |= _stored_here(wishes, aimed, store_many)
            continue
        places = list(aimed)
        for start in range(0, len(places), MOST):
            part = {n: aimed[n] for n in places[start : start + MOST]}
            outcomes |= _sent_together(wishes, part, region, sender)
    for n, wish in wishes.items():
        if n not in outcomes:
            outcomes[n] = _alone(wish, sender, store)
    return outcomes


def _alone(wish: Wish, sender: Sender, store: Store) -> Outcome:
    try:
        return place(wish, sender, store)
    except OJSError as problem:
        return problem


def _aims(
    wishes: Mapping[int, Wish], refused: dict[int, Outcome], tenant: str | None
) -> dict[str, Aimed]:
    """Return which jobs go to which region first; those that a hub places are left out."""
    aims: dict[str, Aimed] = {}
    known = placements.noted(
        tenant, [one.federation_id for one in wishes.values() if one.may_repeat]
    )
    for n, wish in wishes.items():
        try:
            decision = route.decided(wish.meta)
            decision = placements.preferring(decision, known.get(wish.federation_id))
            attempt = Delivery(decision, 1).next_attempt()
        except OJSError as problem:
            refused[n] = problem
            continue
        if attempt is not None and not attempt.is_via_hub:
            aims.setdefault(attempt.region, {})[n] = attempt, decision.strategy
            route.note_sent(attempt.region)  # the next jobs are decided before this one is sent
    return aims


def _stored_here(
    wishes: Mapping[int, Wish], aimed: Aimed, store_many: StoreMany
) -> dict[int, Outcome]:
    """Store in this region; what it has no room for is left to the others."""
    config = regions.registry().configured
    envelopes = [wishes[n].body_for(config, attempt) for n, (attempt, _) in aimed.items()]
    found: dict[int, Outcome] = {}
    for (n, (attempt, strategy)), stored in zip(aimed.items(), store_many(envelopes), strict=True):
        if not isinstance(stored, OJSError):
            status, body, headers = stored
            found[n] = Placed(
                status, body, attempt.region, strategy, wishes[n].federation_id, headers=headers
            )
            observe_routed(attempt.region, strategy)
        elif not stored.retryable:
            found[n] = stored
    return found


def _sent_together(
    wishes: Mapping[int, Wish],
    aimed: Aimed,
    region_id: str,
    sender: Sender,
) -> dict[int, Outcome]:
    """Send several jobs by one request, all or none; {} where that did not succeed."""
    config = regions.registry().configured
    region, rules = config.region(region_id), config.breaker_rules
    if len(aimed) == 1 or region is None:
        return {}
    permit = breakers.admit(region_id, rules)
    if permit is None:
        return {}
    jobs = [wishes[n].body_for(config, attempt) for n, (attempt, _) in aimed.items()]
    call = Call(
        region_id, "POST", f"{API}/jobs/batch", jsonio.dumps({"jobs": jobs}),
        headers_of(sender.caller),
    )  # fmt: skip
    answer = outbound.send(region, call)
    report = answer.report
    if not (isinstance(answer, Failure) and answer.is_own):
        failed = None if report.fate is Fate.ANSWERED else report.reason
        breakers.settle(region_id, permit, Verdict(report.outcome, failed), rules)
    stored = _jobs(answer, len(aimed))
    found: dict[int, Outcome] = {}
    for (n, (attempt, strategy)), job in zip(aimed.items(), stored, strict=False):
        body = jsonio.dumps({**job, "job": job})
        status = 200 if job.get("deduplicated") else 201
        found[n] = Placed(status, body, attempt.region, strategy, wishes[n].federation_id)
        observe_routed(attempt.region, strategy)
    return found


def _jobs(answer: Reply | Failure, number: int) -> list[dict[str, Any]]:
    """Return the jobs that a region has stored, none where it did not store all."""
    if isinstance(answer, Failure) or answer.status >= SUCCESS or not isinstance(answer.body, dict):
        return []
    jobs = answer.body.get("jobs")
    if not isinstance(jobs, list) or len(jobs) != number:
        return []
    return jobs if all(isinstance(one, dict) for one in jobs) else []
