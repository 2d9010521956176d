"""Decides which of two regions gives up a job that both may have after a lost answer.

The region that stored it in doubt asks the other region (a claim), which answers. A started job
stays. Of two waiting jobs the later job stays, by the order of copies. This order is total, so one
job remains, however many regions ask each other at once. Spec: federation 5.2; ADR 19.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from federation.domain.order import milliseconds
from federation.domain.replica import WAITS, to_milliseconds
from jobs.domain.errors import InvalidRequest
from jobs.domain.states import State
from jobs.domain.wire.bounds import MAX_TENANT
from jobs.domain.wire.ids import is_id
from jobs.domain.wire.times import format_time, read_time

MAX_CLAIMS: Final = 1_000
MEMBERS: Final = frozenset({"federation_id", "tenant_id", "job_id", "enqueued_at", "started"})


class Outcome(StrEnum):
    """The answer of the asked region about its own job."""

    ABSENT = "absent"  # it has none, and stores none from now on.
    CANCELLED = "cancelled"  # it waited, and was cancelled.
    RAN = "ran"  # it was started, so the asking region gives up its own job.
    WINS = "wins"  # it waits and is the later job: the same.
    KEPT = "kept"  # it waits and must stay: pinned there, or part of a workflow.
    GONE = "gone"  # it ended long ago and was removed


@dataclass(frozen=True, slots=True)
class Claim:
    """The job of the asking region."""

    federation_id: str
    tenant: str
    job_id: str
    enqueued_at: datetime
    started: bool  # or it cannot be given up for another reason


@dataclass(frozen=True, slots=True)
class Standing:
    """The job of the asked region."""

    region: str
    job_id: str
    enqueued_at: datetime
    state: str
    is_bound: bool = False  # it must stay, even if another region has the job as well


def judge(ours: Standing, claim: Claim, asker: str) -> Outcome:
    """Return the outcome for our job; CANCELLED: the caller cancels it unless it is cancelled."""
    if ours.state == State.CANCELLED:
        return Outcome.CANCELLED
    if ours.state not in WAITS:
        return Outcome.RAN
    if ours.is_bound:
        return Outcome.KEPT
    mine = (milliseconds(ours.enqueued_at), ours.region, ours.job_id)
    theirs = (milliseconds(claim.enqueued_at), asker, claim.job_id)
    return Outcome.WINS if not claim.started and mine > theirs else Outcome.CANCELLED


def gives_up(outcome: Outcome) -> bool:
    """Return whether the asking region cancels its own job, if it still waits."""
    return outcome in {Outcome.RAN, Outcome.WINS}


def encode(claim: Claim) -> dict[str, Any]:
    """Encode a claim."""
    return {
        "federation_id": claim.federation_id, "tenant_id": claim.tenant, "job_id": claim.job_id,
        "enqueued_at": format_time(to_milliseconds(claim.enqueued_at)), "started": claim.started,
    }  # fmt: skip


def decode(raw: object, name: str) -> Claim:
    """Read a claim; `name` is its place in the body. Raises InvalidRequest naming the member."""
    if not isinstance(raw, dict):
        raise InvalidRequest.field(name, "must be an object", raw)
    for member in (*sorted(MEMBERS - raw.keys()), *sorted(raw.keys() - MEMBERS)):
        problem = "is required" if member in MEMBERS else "is not a member of a claim"
        raise InvalidRequest.field(f"{name}.{member}"[:200], problem)
    tenant, started = raw["tenant_id"], raw["started"]
    if not isinstance(tenant, str) or not 1 <= len(tenant) <= MAX_TENANT:
        raise InvalidRequest.field(f"{name}.tenant_id", "must be the name of a tenant", tenant)
    if not isinstance(started, bool):
        raise InvalidRequest.field(f"{name}.started", "must be a boolean", started)
    return Claim(
        _id(raw, "federation_id", name), tenant, _id(raw, "job_id", name), _time(raw, name), started
    )


def _id(raw: Mapping[str, Any], member: str, name: str) -> str:
    if not is_id(raw[member]):
        raise InvalidRequest.field(
            f"{name}.{member}", "must be a UUIDv7 in lower case", raw[member]
        )
    return str(raw[member])


def _time(raw: Mapping[str, Any], name: str) -> datetime:
    try:
        return to_milliseconds(read_time(raw["enqueued_at"]))
    except ValueError as problem:
        raise InvalidRequest.field(
            f"{name}.enqueued_at", str(problem), raw["enqueued_at"]
        ) from None
