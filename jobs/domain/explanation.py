"""Why a job waits, where it stands and when it may start; or what picked it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from jobs.domain.gates import Gate, held_until


class Verdict(StrEnum):
    """In one word; wire names."""

    NEXT = "next"  # the next claim of one job from its queue takes it
    IN_LINE = "in_line"  # it may be handed out, others come first
    HELD = "held"  # some gate is closed
    UNSERVED = "unserved"  # it may be handed out, and nobody known asks, or may have it
    ACTIVE = "active"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Place:
    """How many jobs come before it; `is_lower_bound`: the count ended there."""

    ahead: int
    is_lower_bound: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """The place of an available job in its lane and, over all lanes, in its queue.

    `is_next` None: it or one of the equals is, which nothing tells beforehand. `queue` is left out
    for who may not know of other tenants.
    """

    lane: Place
    queue: Place | None
    is_next: bool | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """When it may start, or the reason why that is not known."""

    starts_at: datetime | None
    reason: str | None
    is_lower_bound: bool = False
    jobs_per_minute: float | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """The claim that picked it, as far as it is recorded; None: it is not, or not any more."""

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
    """Read what `ojs_explain` says of the position."""
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
    """Say of a waiting job how it is."""
    if not is_eligible:
        return Verdict.HELD
    if any(gate.is_closed for gate in gates):
        return Verdict.UNSERVED
    return Verdict.NEXT if place is not None and place.is_next else Verdict.IN_LINE


def message(said: Verdict, gates: Sequence[Gate], place: Standing | None) -> str:
    """Say of a waiting job in a sentence or two why it does not run."""
    closed = [gate.message for gate in gates if gate.is_closed]
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
        return "Nothing holds it back: claims that note which lanes are full come first."
    return f"Nothing holds it back: {count} {jobs} before it."


def estimate(
    gates: Sequence[Gate], place: Standing | None, now: datetime, per_minute: float
) -> Estimate:
    """Tell when a waiting job may start by what its queue starts per minute just now."""
    begins = held_until(gates, now)
    if begins is None:
        blocker = next(gate for gate in gates if gate.is_closed and gate.until is None)
        name = blocker.gate if blocker.name is None else f"{blocker.gate} {blocker.name}"
        return Estimate(None, f"no end is known of what holds it back: gate {name}")
    if place is None or place.queue is None:
        return Estimate(begins, None, is_lower_bound=True)
    if per_minute <= 0:
        return Estimate(None, "no job of its queue has started lately", jobs_per_minute=0.0)
    wait = timedelta(minutes=(place.queue.ahead + 1) / per_minute)
    is_bound = place.queue.is_lower_bound or begins > now
    return Estimate(begins + wait, None, is_lower_bound=is_bound, jobs_per_minute=per_minute)
