"""Requests and answers of workers: FETCH, ACK, FAIL, BEAT. Spec: contract 3.4."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from jobs import extensions, queries
from jobs.api.wire.members import integer, job_id, pool_name, queue_name, worker_id
from jobs.conf import conf
from jobs.domain.dispatch.claim import Declaration, FetchRequest, split_queue
from jobs.domain.dispatch.rotation_request import read_rotation_request
from jobs.domain.errors import InvalidRequest, ResultTooLarge, Unprocessable
from jobs.domain.outcome.retry import normalise_error
from jobs.domain.states import State, state_of
from jobs.domain.wire import jsonio
from jobs.domain.wire.bounds import (
    MAX_COUNT,
    MAX_INT,
    MAX_MS,
    MAX_QUEUES,
    MAX_WAIT_MS,
    MAX_WORKER_ID,
    MIN_LEASE_MS,
)
from jobs.domain.wire.ids import is_id
from jobs.domain.wire.names import QUEUE_PATTERN
from jobs.domain.wire.times import format_time, parse_time
from jobs.services.outcome.ack import Ack
from jobs.services.outcome.nack import Nack
from jobs.services.workers.heartbeat import Answer, Report, Standing

STANDINGS = {
    "running": Standing.RUNNING,
    "quiet": Standing.QUIET,
    "drain": Standing.QUIET,
    "draining": Standing.QUIET,
    "shutting_down": Standing.QUIET,
    "terminate": Standing.TERMINATE,
}
DRAINING = frozenset({"drain", "draining", "shutting_down"})


def wait_ms(body: Mapping[str, Any]) -> int:
    """Read how long FETCH may wait for a job. Raises InvalidRequest."""
    return integer(body, "wait_ms", high=MAX_WAIT_MS) or 0


def decode_fetch(body: Mapping[str, Any], *, tenant: str | None = None) -> FetchRequest:
    """Decode FETCH."""
    queues = body.get("queues")
    if queues is None:
        queues = []
    elif not isinstance(queues, list) or not 1 <= len(queues) <= MAX_QUEUES:
        raise InvalidRequest.field("queues", f"must be an array of 1 to {MAX_QUEUES} names", queues)
    for queue in queues:
        _fetched_queue(queue)
    count = integer(body, "count", low=1)
    rotation = read_rotation_request(body, queues or None)
    return FetchRequest(
        queues=tuple(queues),
        count=min(count or 1, MAX_COUNT),
        worker_id=worker_id(body),
        visibility_ms=integer(body, "visibility_timeout_ms", low=MIN_LEASE_MS, high=MAX_MS),
        tenant=tenant,
        caller_tenant=tenant,
        pool=pool_name(body),
        strategy=rotation and rotation.strategy,
        weights=rotation and rotation.weights,
        declaration=declaration(body),
    )


def _fetched_queue(value: object) -> None:
    """Check the name of a queue that may have a tenant in front. Raises InvalidRequest."""
    tenant, queue = split_queue(value) if isinstance(value, str) else (None, value)
    if tenant == "" or not (isinstance(queue, str) and QUEUE_PATTERN.fullmatch(queue)):
        raise InvalidRequest.field("queues", "is not a valid queue name", value)


def decode_ack(body: Mapping[str, Any]) -> Ack:
    """Decode ACK."""
    result = None
    if "result" in body:
        result = jsonio.dumps(body["result"])
        if len(result) > conf().max_result_bytes:
            raise ResultTooLarge.of("result", conf().max_result_bytes, len(result))
    return Ack(job_id(body), result, worker_id(body))


def decode_nack(body: Mapping[str, Any]) -> Nack:
    """Decode FAIL."""
    requeue = body.get("requeue", False)
    if not isinstance(requeue, bool):
        raise InvalidRequest.field("requeue", "must be a boolean", requeue)
    error = None if requeue else normalise_error(body.get("error"))
    return Nack(job_id(body), error, requeue=requeue, worker_id=worker_id(body))


def decode_heartbeat(body: Mapping[str, Any], *, tenant: str | None = None) -> Report:
    """Decode BEAT; `active_jobs` may be the ids or their number. Spec: D17."""
    body = _of_worker(body)
    state = "running" if body.get("state") is None else body["state"]
    if not isinstance(state, str) or state not in STANDINGS:
        raise Unprocessable.field("state", f"must be one of {', '.join(STANDINGS)}", state)
    ids, number = _active(body)
    started, queues = body.get("started_at"), _names(body)
    return Report(
        worker_id=worker_id(body, required=True) or "",
        standing=STANDINGS[state],
        is_draining=state in DRAINING,
        active_ids=tuple(i for i in ids if is_id(i)),
        active_jobs=number,
        visibility_ms=integer(body, "visibility_timeout_ms", low=MIN_LEASE_MS, high=MAX_MS),
        hostname=_text(body, "hostname"),
        pid=integer(body, "pid"),
        queues=queues,
        concurrency=integer(body, "concurrency", high=MAX_INT),
        labels=_labels(body),
        started_at=None if started is None else parse_time(started, "started_at"),
        pool=pool_name(body),
        tenant=tenant,
        declaration=declaration(body),
        rotation=read_rotation_request(body, queues),
    )


def declaration(body: Mapping[str, Any]) -> Declaration | None:
    """Read the versions of types that a worker handles. Spec: contract 22.3."""
    handlers, exclusive = body.get("handlers"), body.get("handlers_exclusive")
    if exclusive is not None and not isinstance(exclusive, bool):
        raise Unprocessable.field("handlers_exclusive", "must be a boolean", exclusive)
    if handlers is None:
        return None
    if not isinstance(handlers, list):
        raise InvalidRequest.field("handlers", "must be an array of types and versions", handlers)
    return extensions.read_declaration(handlers, is_exclusive=exclusive is True)


def handled(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the types that a FETCH declares handlers for, and whether it accepts no others.

    Handlers without versions declare nothing.
    """
    handlers = body.get("handlers") or ()
    declared = [one for one in handlers if isinstance(one, Mapping)]
    is_whole = bool(declared) and len(declared) == len(handlers)
    return {
        "types": [one["type"] for one in declared],
        "is_exclusive": is_whole and body.get("handlers_exclusive") is True,
    }


def decode_registration(body: Mapping[str, Any], *, tenant: str | None = None) -> Report:
    """Decode a registration: a heartbeat that also has the worker's job types."""
    report = decode_heartbeat(body, tenant=tenant)
    handlers = _of_worker(body).get("handlers")
    if handlers is None:
        return report
    handlers = [one.get("type") if isinstance(one, Mapping) else one for one in handlers]
    if not all(isinstance(one, str) for one in handlers):
        raise InvalidRequest.field("handlers", "must be an array of job types", handlers)
    if report.labels is not None and not isinstance(report.labels, Mapping):
        raise InvalidRequest.field("labels", "must be an object beside handlers", report.labels)
    return replace(report, labels={**(report.labels or {}), "handlers": handlers})


def _of_worker(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Merge the members of `worker`, its `id` as `worker_id`. Raises InvalidRequest.

    A member in both places must be equal. Spec: fair-scheduling 14.1.
    """
    raw = body.get("worker")
    if raw is None:
        return body
    if not isinstance(raw, Mapping):
        raise InvalidRequest.field("worker", "must be an object", raw)
    given = {name: value for name, value in body.items() if value is not None}
    inside = {name: value for name, value in raw.items() if value is not None}
    for name, value in inside.items():
        beside = given.get("worker_id" if name == "id" else name, value)
        if type(beside) is not type(value) or beside != value:
            raise InvalidRequest.field(
                f"worker.{name}", "must equal the same member outside of worker", value
            )
    named = {"worker_id": inside["id"]} if "id" in inside else {}
    return {**inside, **named, **given}


def _active(body: Mapping[str, Any]) -> tuple[list[Any], int]:
    raw = body.get("active_jobs")
    if isinstance(raw, list):
        return _ids("active_jobs", raw), len(raw)
    number = integer(body, "active_jobs", high=MAX_INT)
    ids = body.get("active_job_ids")
    if ids is None:
        return [], number or 0
    return _ids("active_job_ids", ids), number if number is not None else len(ids)


def _ids(name: str, raw: object) -> list[Any]:
    if not isinstance(raw, list) or len(raw) > conf().max_batch:
        raise InvalidRequest.field(name, f"must be an array of at most {conf().max_batch} ids")
    if not all(isinstance(item, str) for item in raw):
        raise InvalidRequest.field(name, "must hold strings only")
    return raw


def _text(body: Mapping[str, Any], name: str) -> str | None:
    raw = body.get(name)
    if raw is None:
        return None
    if not isinstance(raw, str) or len(raw) > MAX_WORKER_ID:
        raise InvalidRequest.field(
            name, f"must be a string of at most {MAX_WORKER_ID} characters", raw
        )
    return raw


def _names(body: Mapping[str, Any]) -> tuple[str, ...] | None:
    raw = body.get("queues")
    if raw is None:
        return None
    if not isinstance(raw, list) or len(raw) > MAX_QUEUES:
        raise InvalidRequest.field("queues", f"must be an array of at most {MAX_QUEUES} names", raw)
    return tuple(queue_name("queues", name) for name in raw)


def _labels(body: Mapping[str, Any]) -> Any:
    raw = body.get("labels")
    if raw is not None and not isinstance(raw, dict | list):
        raise InvalidRequest.field("labels", "must be an object or an array", raw)
    return raw


# --- answers --------------------------------------------------------------------------------------


def encode_ack(row: queries.Completed) -> dict[str, Any]:
    """Encode the answer to ACK. Spec: D16."""
    return {
        "acknowledged": True,
        "id": row.id,
        "job_id": row.id,
        "state": State.COMPLETED.value,
        "attempt": row.attempt,
        "completed_at": format_time(row.finished_at),
    }


def encode_nack(row: queries.Failed | queries.Requeued) -> dict[str, Any]:
    """Encode the answer to FAIL."""
    shown: dict[str, Any] = {
        "id": row.id,
        "job_id": row.id,
        "state": State.AVAILABLE.value,
        "attempt": row.attempt,
        "max_attempts": row.max_attempts,
    }
    if isinstance(row, queries.Requeued):
        return shown
    shown["state"] = state_of(row.state).value
    if row.due_at is not None:
        shown |= {"next_attempt_at": format_time(row.due_at), "retry_delay_ms": row.delay_ms}
    if row.finished_at is not None:
        ended = format_time(row.finished_at)
        shown |= {"discarded_at": ended, "completed_at": ended, "dead_letter": row.dead_letter}
    return shown


def encode_heartbeat(answer: Answer) -> dict[str, Any]:
    """Encode the answer to BEAT."""
    return {
        "state": answer.standing.name.lower(),
        "jobs_extended": answer.extended,
        "cancelled_jobs": answer.cancelled,
        "server_time": format_time(answer.server_time),
        "acknowledged": True,
    }
