"""Gates that can hold a job back, as data with the words for operators.

Spec: contract 20.5, which lists the decisions of a FETCH in order.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from jobs.domain.lanes.limits import ANY_TENANT, OF_KEY, OF_QUEUE, OF_TENANT, OF_TYPE
from jobs.domain.states import State

Numbers = Mapping[str, int | float]
DEFAULT_TENANT: Final = "_default"
LIMIT_NAMES: Final = {OF_KEY: "", OF_QUEUE: "queue:", OF_TENANT: "tenant:", OF_TYPE: "type:"}
# gates that operators closed: an explanation names them before all other gates
_RANKS: Final = {"maintenance": 0, "queue": 1, "suspension": 2}


class GateState(StrEnum):
    """Wire names."""

    OPEN = "open"
    CLOSED = "closed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Gate:
    """One condition that a job meets on its way to a worker.

    `until` is when it changes by itself. `is_enforced` false: it describes the workers that ask for
    jobs, not whether such a worker may have this job.
    """

    gate: str
    state: GateState
    message: str
    name: str | None = None  # of the limit or pool, where there may be several
    since: datetime | None = None
    until: datetime | None = None
    numbers: Numbers = field(default_factory=dict)
    is_enforced: bool = True

    @property
    def is_closed(self) -> bool:
        """Whether the gate is closed."""
        return self.state is GateState.CLOSED


@dataclass(frozen=True, slots=True)
class Waiting:
    """The facts that the gates need about their job."""

    queue: str
    tenant: str
    state: State
    attempt: int
    max_attempts: int
    due_at: datetime | None
    expires_at: datetime | None


def gates_of(job: Waiting, facts: Mapping[str, Any], viewer: str | None) -> list[Gate]:
    """Return the gates of the core, in the order in which they decide.

    `facts` are the result of `ojs_explain`, times parsed. A caller bound to a tenant (`viewer`)
    gets no numbers that several tenants share.
    """
    found = [_maintenance(facts), _queue(job, facts), *_time(job, facts)]
    if job.expires_at is not None:
        found.append(_expiry(job, facts))
    found += [_lane(facts), _tenant(job, facts)]
    found += [_limit(limit, viewer) for limit in facts["limits"]]
    found.append(_workers(job.queue, facts, viewer))
    return found


def _gate(gate: str, message: str, *, closed: bool, **more: Any) -> Gate:
    return Gate(gate, GateState.CLOSED if closed else GateState.OPEN, message, **more)


def _maintenance(facts: Mapping[str, Any]) -> Gate:
    mode = facts["maintenance"]
    if mode is None:
        return _gate("maintenance", "Maintenance is off.", closed=False)
    reason = f" ({mode['reason']})" if mode["reason"] else ""
    end = "until it is switched off" if mode["until"] is None else "until it ends"
    message = f"Maintenance is on{reason}: no job is handed out {end}."
    return _gate("maintenance", message, closed=True, since=mode["since"], until=mode["until"])


def _queue(job: Waiting, facts: Mapping[str, Any]) -> Gate:
    if not facts["is_known"]:
        message = f"Queue {job.queue} was deleted; the server creates it again within a minute."
        return _gate("queue", message, closed=True)
    if facts["paused_at"] is not None:
        message = f"Queue {job.queue} is paused: resume it to let its jobs start."
        return _gate("queue", message, closed=True, since=facts["paused_at"])
    if facts["is_draining"]:
        message = f"Queue {job.queue} is draining: it takes no new jobs; its waiting jobs run."
        return _gate("queue", message, closed=False)
    return _gate("queue", f"Queue {job.queue} is not paused.", closed=False)


def _time(job: Waiting, facts: Mapping[str, Any]) -> Iterator[Gate]:
    """Return the gate of a job that is not available yet."""
    if job.state is State.PENDING:
        yield _gate("activation", "It is pending: it waits to be activated.", closed=True)
    elif job.state in {State.SCHEDULED, State.RETRYABLE}:
        name = "schedule" if job.state is State.SCHEDULED else "retry"
        what = (
            "It is scheduled"
            if job.state is State.SCHEDULED
            else f"Attempt {job.attempt} of {job.max_attempts} failed, the next attempt is due"
        )
        due = job.due_at
        is_ahead = due is None or due > facts["now"]
        message = f"{what} for a later time."
        if not is_ahead:
            message = f"{what} now: it becomes available within a second, while workers run."
        yield _gate(name, message, closed=is_ahead, until=due)


def _expiry(job: Waiting, facts: Mapping[str, Any]) -> Gate:
    if facts["expired"]:
        message = "It has expired: it is never handed out, and is discarded within seconds."
        return _gate("expiry", message, closed=True, since=job.expires_at)
    message = "It has not expired. At the given time it is discarded unless it runs."
    return _gate("expiry", message, closed=False, until=job.expires_at)


def _lane(facts: Mapping[str, Any]) -> Gate:
    numbers, words = _priority(facts["lane"])
    if facts["is_paused"]:
        message = "An operator paused its lane: the jobs of this queue, priority and tenant."
        return _gate("lane", message, closed=True, numbers=numbers)
    if facts["is_blocked"] and not any(limit["blocks"] for limit in facts["limits"]):
        message = "A removed limit still blocks its lane. The server repairs this within seconds."
        return _gate("lane", message, closed=True, numbers=numbers)
    if "position" in facts and not (facts["is_offered"] or facts["is_blocked"]):
        message = "Claims skip its lane although it has jobs. The server repairs this in seconds."
        return _gate("lane", message, closed=True, numbers=numbers)
    return _gate("lane", f"Its lane is not held.{words}", closed=False, numbers=numbers)


def _priority(lane: Mapping[str, Any] | None) -> tuple[dict[str, int], str]:
    """Return the priority in numbers, and the effect of its tenant's boost in words."""
    if lane is None:
        return {}, ""
    numbers = {"priority": lane["priority"]}
    if not lane["boost"]:
        return numbers, ""
    numbers |= {"boost": lane["boost"], "effective_priority": lane["effective_priority"]}
    return numbers, f" Its priority counts as {lane['effective_priority']}: its tenant has a boost."


def _tenant(job: Waiting, facts: Mapping[str, Any]) -> Gate:
    if facts["is_apart"]:
        message = f"Only workers of tenant {job.tenant} may take it: it has a namespace of its own."
        return Gate("tenant", GateState.UNKNOWN, message, name=job.tenant)
    message = f"Workers of tenant {job.tenant} and workers bound to no tenant may take it."
    if job.tenant == DEFAULT_TENANT:
        message = "It names no tenant: workers bound to no tenant may take it."
    return _gate("tenant", message, closed=False, name=job.tenant)


def _limit(limit: Mapping[str, Any], viewer: str | None) -> Gate:
    name = limit_name(limit)
    shows = viewer is None or limit["tenant"] != ANY_TENANT
    closed = limit["room"] == 0 or limit["blocks"]
    until = limit["opens_at"] if limit["room"] == 0 else limit["blocked_until"]
    return _gate(
        "limit",
        f"Limit {name}: {_usage(limit, closed=closed, shows=shows)}",
        closed=closed,
        name=name,
        until=until if closed else None,
        numbers=_numbers(limit) if shows else {},
    )


def limit_name(limit: Mapping[str, Any]) -> str:
    """Return a limit's name on the wire."""
    suffix = limit["tenant"] if limit["kind"] == OF_TENANT else limit["key"]
    return LIMIT_NAMES[limit["kind"]] + str(suffix)


def _numbers(limit: Mapping[str, Any]) -> Numbers:
    policy = limit["policy"] or {}
    found = {
        "room": limit["room"],
        "active": limit["active"],
        "concurrency": policy.get("concurrency"),
        "started": limit["started"],
        **{name: policy.get(name) for name in ("rate", "rate_ms", "throttle", "throttle_ms")},
    }
    return {name: number for name, number in found.items() if number is not None}


def _usage(limit: Mapping[str, Any], *, closed: bool, shows: bool) -> str:
    if limit["room"] != 0:
        return "it has room again; its jobs continue within seconds." if closed else "it has room."
    if limit["strategy"] == "paused":
        return "no job starts before the given time, at the request of a called service."
    return _reached(limit) if shows else "it is reached."


def causes_of(gates: Sequence[Gate]) -> list[Gate]:
    """Return the closed gates, decisions of operators first, without gates that another explains.

    A suspension acts as a limit of the tenant, so it replaces that limit.
    """
    closed = [gate for gate in gates if gate.is_closed]
    suspended = {f"tenant:{gate.name}" for gate in closed if gate.gate == "suspension"}
    kept = [gate for gate in closed if gate.gate != "limit" or gate.name not in suspended]
    return sorted(kept, key=lambda gate: _RANKS.get(gate.gate, len(_RANKS)))


def _reached(limit: Mapping[str, Any]) -> str:
    policy = limit["policy"]
    if limit["strategy"] == "concurrency" and not policy["concurrency"]:
        return "it lets no job start."
    if limit["strategy"] == "concurrency":
        return (
            f"{limit['active']} of its jobs run, {policy['concurrency']} may; "
            "there is room when one of them ends."
        )
    if limit["strategy"] == "throttle":
        return f"its jobs start at least {_seconds(policy['gap_ms'])} apart."
    span = _seconds(policy["rate_ms"])
    return f"{limit['started']} of its jobs started in {span}, which is the limit."


def _seconds(ms: float) -> str:
    return f"{ms / 1000:g} s"


def _workers(queue: str, facts: Mapping[str, Any], viewer: str | None) -> Gate:
    counts = facts["workers"]
    numbers = {**counts, "started_lately": facts["started"]} if viewer is None else {}
    if counts["serving"]:
        number = "" if viewer is not None else f" ({counts['serving']})"
        state, message = GateState.OPEN, f"Running workers{number} fetch queue {queue}."
    elif facts["started"] or counts["unsaid"]:
        state = GateState.UNKNOWN
        message = f"No worker reports queue {queue}, but some workers do not report their queues."
    else:
        quiet = " Its workers are quiet or about to end." if counts["quiet"] else ""
        state = GateState.CLOSED
        message = f"No live worker fetches queue {queue}.{quiet}"
    return Gate("worker", state, message, numbers=numbers, is_enforced=False)


def held_until(gates: Sequence[Gate], now: datetime) -> datetime | None:
    """Return when the last closed gate opens by itself; None: some gate never does."""
    ends = [gate.until for gate in gates if gate.is_closed]
    return None if None in ends else max([now, *(end for end in ends if end is not None)])
