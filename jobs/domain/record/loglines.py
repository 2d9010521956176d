"""Map events of the record to log lines. Spec: contract 32.5."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from logging import DEBUG, ERROR, INFO, WARNING
from typing import Any, Final, NamedTuple

from jobs.domain.dispatch.gates import DEFAULT_TENANT
from jobs.domain.record.events import NAMES, Kind
from jobs.domain.states import CODES
from jobs.domain.wire.tracing import trace_ids

LIFECYCLE, WORKER, PROBLEM = "lifecycle", "worker", "error"  # categories
STALLED: Final = frozenset({"visibility_timeout", "worker_death"})  # codes of lost attempts
TIMEOUT: Final = "timeout"


@dataclass(frozen=True, slots=True)
class Shape:
    """The log line of a kind; `facts` are the members of the event's data that the line has."""

    level: int
    category: str
    facts: tuple[str, ...] = ()


_ATTEMPT_FAILED = Shape(WARNING, PROBLEM, ("max_attempts", "next_retry_at"))
SHAPES: Final[Mapping[int, Shape]] = {
    Kind.ENQUEUED: Shape(INFO, LIFECYCLE, ("priority",)),
    Kind.SCHEDULED: Shape(INFO, LIFECYCLE, ("scheduled_at",)),
    Kind.STARTED: Shape(DEBUG, LIFECYCLE),
    Kind.HEARTBEAT: Shape(DEBUG, LIFECYCLE, ("visible_until",)),
    Kind.COMPLETED: Shape(INFO, LIFECYCLE),
    Kind.CANCELLED: Shape(INFO, LIFECYCLE, ("cancelled_by", "reason")),
    Kind.FAILED: Shape(ERROR, PROBLEM),  # of timeouts and stalled attempts alone
    Kind.RETRYING: _ATTEMPT_FAILED,
    Kind.MOVED: _ATTEMPT_FAILED,  # lost, and available at once
    Kind.DISCARDED: Shape(ERROR, PROBLEM, ("max_attempts", "dead_letter")),
    Kind.EXPIRED: Shape(ERROR, PROBLEM, ("ttl_ms",)),
    Kind.PROGRESS_STALLED: Shape(ERROR, PROBLEM, ("progress_percent", "last_update_at")),
    Kind.WORKER_STARTED: Shape(INFO, WORKER, ("queues", "concurrency")),
    Kind.WORKER_QUIET: Shape(INFO, WORKER, ("active_jobs",)),
    Kind.WORKER_STOPPED: Shape(INFO, WORKER, ("reason", "uptime_ms")),
    Kind.WORKER_HEARTBEAT: Shape(DEBUG, WORKER, ("queues", "active_jobs")),
}
_NAMES: Final = {int(kind): NAMES[Kind(kind)] for kind in SHAPES if kind in NAMES}
_STATES: Final = {code: state.value for state, code in CODES.items()}
THINNED: Final = tuple(
    int(kind) for kind, shape in SHAPES.items() if shape.category == LIFECYCLE
)  # OJS_LOG_SAMPLE applies to these


class Recorded(NamedTuple):
    """An event as log lines need it, as in `sql/record/log.sql`; `data` has no result."""

    at: datetime
    kind: int
    job_id: str | None
    type: str | None
    queue: str | None
    tenant: str | None
    attempt: int | None
    to_state: int | None
    worker_id: str | None
    pool: str | None
    took_ms: int | None
    waited_ms: int | None
    data: Mapping[str, Any]
    request_id: str | None  # of the request that stored the job
    traceparent: object  # from the job's meta


class Line(NamedTuple):
    """One line; `facts` have Python names, without unknown facts."""

    at: datetime
    level: int
    name: str
    facts: Mapping[str, Any]


def wanted_kinds(is_enabled: Callable[[int], bool]) -> list[int]:
    """Return the kinds of events whose lines are written, by their levels."""
    return [int(kind) for kind, shape in SHAPES.items() if is_enabled(shape.level)]


def line_of(event: Recorded) -> Line | None:
    """Make the line of an event of `SHAPES`; None: the next event of the job has the line."""
    name, shape = _name(event), SHAPES[event.kind]
    if name is None:
        return None
    facts: dict[str, Any] = {
        "category": shape.category,
        "job_id": event.job_id,
        "job_type": event.type,
        "queue": event.queue,
        "attempt": event.attempt,
        "state": _state(event),
        "worker_id": event.worker_id,
        "tenant_id": event.tenant if event.tenant != DEFAULT_TENANT else None,
        "pool": event.pool,
        "request_id": event.request_id,
    }
    if event.traceparent is not None:
        facts["trace_id"], facts["span_id"] = trace_ids(event.traceparent) or (None, None)
    if event.kind != Kind.STARTED:
        facts["duration_ms"], facts["wait_ms"] = event.took_ms, event.waited_ms
    else:
        facts["wait_ms"] = event.took_ms
    if event.data:
        _add_error(facts, event.data.get("error"))
        for fact in shape.facts:
            facts[fact] = event.data.get(fact)
    present = {fact: value for fact, value in facts.items() if value is not None}
    return Line(event.at, shape.level, name, present)


def _name(event: Recorded) -> str | None:
    if event.kind == Kind.MOVED:
        return NAMES[Kind.RETRYING]
    if event.kind != Kind.FAILED:
        return _NAMES[event.kind]
    code = (event.data.get("error") or {}).get("code")
    return "job.timeout" if code == TIMEOUT else "job.stalled" if code in STALLED else None


def _state(event: Recorded) -> str | None:
    if event.job_id is None:
        return None
    return "active" if event.to_state is None else _STATES[event.to_state]


def _add_error(facts: dict[str, Any], error: object) -> None:
    """Add a failure without its message, which may quote an argument."""
    if isinstance(error, Mapping):
        facts["error_type"], facts["error_code"] = error.get("type"), error.get("code")
