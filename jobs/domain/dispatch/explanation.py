"""Why a job waits, its position and its possible start; or the claim that took it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from jobs.domain.dispatch.gates import Gate, causes_of, held_until


class Verdict(StrEnum):
    """The explanation as one word; wire names."""

    NEXT = "next"  # the next claim of one job from its queue takes it
    IN_LINE = "in_line"  # claimable: other jobs come first
    HELD = "held"  # a gate is closed
    UNSERVED = "unserved"  # claimable: no known worker asks for it, or may have it
    ACTIVE = "active"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Place:
    """How many jobs come before it; `is_lower_bound`: the count stopped there."""

    ahead: int
    is_lower_bound: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """The position of an available job in its lane and, over all lanes, in its queue.

    `is_next` None: one of several equal jobs is next, and none can be predicted. `queue` is left
    out for a caller bound to a tenant.
    """

    lane: Place
    queue: Place | None
    is_next: bool | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """When it may start, or the reason why this is unknown."""

    starts_at: datetime | None
    reason: str | None
    is_lower_bound: bool = False
    jobs_per_minute: float | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """The claim that took it, as far as it is recorded; None: not recorded, or no longer."""

    started_at: datetime
    attempt: int
    worker_id: str | None
    pool: str | None
    queue: str
    tenant: str
    priority: int
    route: int | None
    limits: tuple[str, ...]
    waited_ms: int | None
    lease_until: datetime | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer as a whole."""

    at: datetime
    verdict: Verdict
    message: str
    is_eligible: bool
    gates: Sequence[Gate]
    standing: Standing | None
    estimate: Estimate | None
    decision: Decision | None


def standing(found: Mapping[str, Any] | None, *, is_eligible: bool) -> Standing | None:
    """Read the position from the result of `ojs_explain`."""
    if found is None:
        return None
    ahead = found["own"] + found["others"]
    is_next: bool | None = is_eligible and ahead == 0 and not found["more"]
    if is_next and found["tied"]:
        is_next = None
    return Standing(
        lane=Place(found["own"], found["own_more"]),
        queue=Place(ahead, found["more"]),
        is_next=is_next,
    )


def verdict(gates: Sequence[Gate], place: Standing | None, *, is_eligible: bool) -> Verdict:
    """Return the verdict on a waiting job."""
    if not is_eligible:
        return Verdict.HELD
    if any(gate.is_closed for gate in gates):
        return Verdict.UNSERVED
    return Verdict.NEXT if place is not None and place.is_next else Verdict.IN_LINE


def message(said: Verdict, gates: Sequence[Gate], place: Standing | None) -> str:
    """Explain in a sentence or two why a waiting job does not run."""
    closed = [gate.message for gate in causes_of(gates)]
    if closed:
        others = len(closed) - 1
        more = "One more gate is closed." if others == 1 else f"{others} more gates are closed."
        return f"{closed[0]} {more}" if others else closed[0]
    if said is Verdict.HELD:
        return "It is due and becomes available in a moment."
    if said is Verdict.NEXT:
        return "Nothing holds it back: the next worker that asks for a job of its queue gets it."
    if place is None or place.queue is None or place.is_next is None:
        return "Nothing holds it back: it waits for its turn."
    count = f"{'at least ' if place.queue.is_lower_bound else ''}{place.queue.ahead}"
    jobs = "job comes" if place.queue.ahead == 1 else "jobs come"
    if not place.queue.ahead:
        return "Nothing holds it back: claims first mark the lanes that limits block."
    return f"Nothing holds it back: {count} {jobs} before it."


def estimate(
    gates: Sequence[Gate], place: Standing | None, now: datetime, per_minute: float
) -> Estimate:
    """Estimate the start of a waiting job by the queue's present starts per minute."""
    begins = held_until(gates, now)
    if begins is None:
        blocker = next(gate for gate in gates if gate.is_closed and gate.until is None)
        name = blocker.gate if blocker.name is None else f"{blocker.gate} {blocker.name}"
        return Estimate(None, f"the opening time of a gate is unknown: gate {name}")
    if place is None or place.queue is None:
        return Estimate(begins, None, is_lower_bound=True)
    if per_minute <= 0:
        return Estimate(None, "no job of its queue has started lately", jobs_per_minute=0.0)
    wait = timedelta(minutes=(place.queue.ahead + 1) / per_minute)
    is_bound = place.queue.is_lower_bound or begins > now
    return Estimate(begins + wait, None, is_lower_bound=is_bound, jobs_per_minute=per_minute)
