"""The steps of the client, as generators without I/O: `sync` and `aio` both drive them.

A generator yields calls that may be made at once and gets their answers in the same order. Spec:
contract 23.3.
"""

from collections.abc import Generator, Sequence
from typing import Any, TypeVar

from federation.client.state import State
from federation.domain.breaker import Outcome, Permit
from federation.domain.delivery import Fate
from federation.domain.errors import NoHealthyRegion
from federation.domain.exchange import API, HEALTH, Call, Failure, Reply
from federation.domain.meta import GEO_PIN, OVERFLOW, FederationMeta
from federation.domain.reasons import Reason
from federation.domain.routing import Decision, decide

T = TypeVar("T")
Answer = Reply | Failure
Steps = Generator[Sequence[Call], Sequence[Answer], T]
MAX_ROUNDS = 6  # of probes before one decision: the local region, the hub, all others
MAX_QUEUES = 100  # to count where a region has no total
NOT_FOR_US = frozenset({401, 403, 404, 405})
OK = 200


def decided(
    state: State, job: FederationMeta, excluded: frozenset[str] = frozenset()
) -> Steps[Decision]:
    """Decide; without a background task, first get due health and loads of the regions."""
    decision = yield from _probed(state, job, excluded)
    if not state.is_attended and _goes_by_load(state, decision):
        due = set(state.loads_due()) & {one.id for one in decision.candidates}
        if due:
            yield from collect_loads(state, sorted(due))
            return (yield from _probed(state, job, excluded))
    return decision


def _probed(state: State, job: FederationMeta, excluded: frozenset[str]) -> Steps[Decision]:
    """Decide by health that is stored or probed now."""
    for _ in range(MAX_ROUNDS):
        decision = decide(state.config, state.snapshot(), job, excluded)
        if not decision.probe:
            return decision
        yield from probe(state, decision.probe)
    reasons = [{"id": one, "reason": "health unknown"} for one in decision.probe]
    refusal = NoHealthyRegion.because(reasons, state.config.health_check.interval_seconds)
    return Decision(decision.strategy, refusal=refusal)


def _goes_by_load(state: State, decision: Decision) -> bool:
    has_bound = any(region.max_queue_depth is not None for region in state.config.regions)
    return decision.strategy == OVERFLOW or (has_bound and decision.strategy != GEO_PIN)


def probe(state: State, regions: Sequence[str]) -> Steps[None]:
    """Probe the health of regions whose breakers admit a call."""
    permits = [(region, permit) for region in regions if (permit := state.begin(region))]
    if not permits:
        return
    timeout_s = state.config.health_check.timeout_seconds
    calls = [Call(region, "GET", HEALTH, timeout_s=timeout_s) for region, _ in permits]
    answers = yield from _sent(state, permits, calls)
    for (region, permit), answer in zip(permits, answers, strict=True):
        state.probed(region, permit, answer)


def attend(state: State) -> Steps[None]:
    """Probe all regions that are due."""
    yield from probe(state, state.due())


def collect(state: State) -> Steps[None]:
    """Collect the loads that are due."""
    yield from collect_loads(state, state.loads_due())


def collect_loads(state: State, regions: Sequence[str]) -> Steps[None]:
    """Request the number of jobs of regions.

    Only administrators may read the total. Without that right, the client adds up the queues.
    """
    if not regions:
        return
    answers = yield [Call(region, "GET", f"{API}/admin/stats") for region in regions]
    for region, answer in zip(regions, answers, strict=True):
        if isinstance(answer, Reply) and answer.status in NOT_FOR_US:
            yield from _by_queue(state, region)
        elif found := _counts(answer, "jobs"):
            state.loaded(region, *found)


def _by_queue(state: State, region: str) -> Steps[None]:
    (answer,) = yield [Call(region, "GET", f"{API}/queues?limit={MAX_QUEUES}")]
    body = answer.body if isinstance(answer, Reply) and answer.status == OK else None
    queues = body.get("queues") if isinstance(body, dict) else None
    if not isinstance(queues, list):
        return
    names = [one.get("name") for one in queues[:MAX_QUEUES] if isinstance(one, dict)]
    calls = [Call(region, "GET", f"{API}/queues/{name}/stats") for name in names if _is_plain(name)]
    answers = (yield calls) if calls else []
    counts = [found for answer in answers if (found := _counts(answer, "stats"))]
    state.loaded(region, sum(one for one, _ in counts), sum(one for _, one in counts))


def _is_plain(name: object) -> bool:
    """Return whether a queue's name needs no escaping in a path. Spec: contract 1.2."""
    return (
        isinstance(name, str) and name.replace("-", "").replace(".", "").replace("_", "").isalnum()
    )


def _counts(answer: Answer, member: str) -> tuple[int, int] | None:
    body = answer.body if isinstance(answer, Reply) and answer.status == OK else None
    found: Any = body.get(member) if isinstance(body, dict) else None
    if not isinstance(found, dict):
        return None
    available, active = found.get("available"), found.get("active")
    if not (isinstance(available, int) and isinstance(active, int)):
        return None
    return max(0, available), max(0, active)


def _sent(
    state: State, permits: Sequence[tuple[str, Permit]], calls: Sequence[Call]
) -> Steps[Sequence[Answer]]:
    """Make calls that the breakers admitted; an interruption releases their permits."""
    try:
        return (yield calls)
    except BaseException:
        for region, permit in permits:
            state.record_outcome(region, permit, Outcome.NEUTRAL)
        raise


def guarded(state: State, calls: Sequence[Call]) -> Steps[list[Answer]]:
    """Make calls that the breakers admit, and record the outcomes; an open breaker is a failure."""
    permits = [state.begin(call.region) for call in calls]
    allowed = [(call.region, permit) for call, permit in zip(calls, permits, strict=True) if permit]
    sent = [call for call, permit in zip(calls, permits, strict=True) if permit]
    answers = iter((yield from _sent(state, allowed, sent)) if sent else ())
    found: list[Answer] = []
    for call, permit in zip(calls, permits, strict=True):
        if permit is None:
            found.append(Failure(Fate.NOT_SENT, Reason.BREAKER_OPEN, is_own=True))
            continue
        answer = next(answers)
        state.record_outcome(call.region, permit, outcome_of(answer), answer.report.reason)
        found.append(answer)
    return found


def outcome_of(answer: Answer) -> Outcome:
    """Return the outcome of an answer for the region's breaker."""
    if isinstance(answer, Failure) and answer.is_own:
        return Outcome.NEUTRAL
    return answer.report.outcome
