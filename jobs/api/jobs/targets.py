"""Read the targets of a bulk request: `job_ids` or `filter`. Spec: contract 11.2, 24.1, 24.6."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from jobs.api.access.access import Principal
from jobs.api.schemas import OBJECT, QUEUE, SPAN, STATE, TIME, Schema, array, obj, optional, text
from jobs.api.schemas.jobs import PRIORITY
from jobs.api.wire.members import list_of, priority_of
from jobs.domain.errors import BatchTooLarge, InvalidRequest
from jobs.domain.job import JobKind
from jobs.domain.outcome.bulk import JobFilter
from jobs.domain.states import CODES, State
from jobs.domain.wire.durations import parse_period
from jobs.domain.wire.ids import is_id
from jobs.domain.wire.names import QUEUE_PATTERN
from jobs.domain.wire.times import parse_time
from jobs.services.read.show import kinds_of

MOST = 1_000  # jobs or ids in a request, and listed items
MOST_MATCHES = 10_000  # of a filter
MAX_NAME = 256

FILTER = obj(
    {},
    optional(
        {
            "queue": QUEUE,
            "type": text(1, MAX_NAME, description="A type, or a prefix and `*`"),
            "state": {"anyOf": [STATE, array(STATE, minItems=1)]},
            "priority": PRIORITY,
            "meta": {**OBJECT, "description": "Contained in the job's meta"},
            "error_type": text(1, MAX_NAME),
            "tenant": text(1, MAX_NAME),
            "enqueued_after": TIME,
            "enqueued_before": TIME,
            "since": {**TIME, "description": "Same as `enqueued_after`"},
            "until": {**TIME, "description": "Same as `enqueued_before`"},
            "older_than": SPAN,
        }
    ),
)


def targets(required: Schema, optional: Schema) -> Schema:
    """Describe a request that has exactly one of ids and a filter, and other members."""
    ids = array(text(), minItems=1, maxItems=MOST)
    return {
        "anyOf": [
            obj({"job_ids": ids, **required}, optional),
            obj({"filter": FILTER, **required}, optional),
        ]
    }


def decode_targets(body: Mapping[str, Any]) -> tuple[list[str] | None, JobFilter]:
    """Read exactly one of ids and a filter. Raises InvalidRequest, BatchTooLarge."""
    ids, raw = body.get("job_ids"), body.get("filter")
    if raw is not None and not isinstance(raw, dict):
        raise InvalidRequest.field("filter", "must be an object", raw)
    wanted = _filter(raw or {})
    found = None if ids is None else _ids(body)
    if found is None and raw is None:
        raise InvalidRequest.field("job_ids", "or filter is required")
    if found is not None and raw is not None:
        raise InvalidRequest.field("filter", "cannot be sent together with job_ids")
    return found, wanted


def require_covered(
    principal: Principal, ids: Collection[str] | None, queue: str | None, kind: str | None
) -> None:
    """Refuse a limited key other jobs; a filter must name the queue or type of the key.

    A key without limits costs no statement. Raises PermissionDenied.
    """
    if not principal.is_limited:
        return
    if ids is not None:
        formed = [one for one in ids if is_id(one)]
        principal.require_jobs("change jobs", kinds_of(formed, principal.tenant).values())
    elif queue is None:
        principal.require_unlimited("change jobs")
    else:
        is_one = kind is not None and not kind.endswith("*")
        principal.require_jobs("change jobs", [JobKind(queue, kind if is_one else None)])


def limited(body: Mapping[str, Any], name: str) -> list[Any]:
    """Read a list of at most MOST items. Raises InvalidRequest, BatchTooLarge."""
    try:
        return list_of(body, name, MOST)
    except BatchTooLarge as problem:
        problem.headers |= {"X-OJS-Max-Batch-Size": str(MOST)}
        raise


def _ids(body: Mapping[str, Any]) -> list[str]:
    raw = limited(body, "job_ids")
    if not all(isinstance(item, str) for item in raw):
        raise InvalidRequest.field("job_ids", "must hold strings only")
    return raw


def _filter(raw: Mapping[str, Any]) -> JobFilter:
    meta = raw.get("meta")
    if meta is not None and not isinstance(meta, dict):
        raise InvalidRequest.field("meta", "must be an object", meta)
    return JobFilter(
        queue=_queue(raw.get("queue")),
        type=_name(raw, "type"),
        tenant=_name(raw, "tenant"),
        error_type=_name(raw, "error_type"),
        priority=None if raw.get("priority") is None else priority_of(raw["priority"]),
        meta=meta or {},
        since=_time(raw, "enqueued_after", "since"),
        until=_time(raw, "enqueued_before", "until"),
        older_than_ms=_span(raw),
        states=_states(raw.get("state")),
    )


def _queue(value: object) -> str | None:
    if value is None or (isinstance(value, str) and QUEUE_PATTERN.fullmatch(value)):
        return value
    raise InvalidRequest.field("queue", "is not the name of a queue", value)


def _name(raw: Mapping[str, Any], name: str) -> str | None:
    value = raw.get(name)
    if value is not None and (not isinstance(value, str) or not 1 <= len(value) <= MAX_NAME):
        raise InvalidRequest.field(name, f"must be text of 1 to {MAX_NAME} characters", value)
    return value


def _time(raw: Mapping[str, Any], *names: str) -> datetime | None:
    found = [parse_time(raw[name], name) for name in names if raw.get(name) is not None]
    return found[0] if found else None


def _span(raw: Mapping[str, Any]) -> int | None:
    value = raw.get("older_than")
    if value is None:
        return None
    try:
        return parse_period(value)
    except ValueError as problem:
        raise InvalidRequest.field("older_than", str(problem), value) from None


def _states(value: object) -> tuple[State, ...]:
    if value is None:
        return ()
    names: list[Any] = value if isinstance(value, list) else [value]
    unknown = [name for name in names if not isinstance(name, str) or name not in CODES]
    if unknown or not names:
        raise InvalidRequest.field("state", f"must name {', '.join(State)}", value)
    return tuple(State(name) for name in names)
