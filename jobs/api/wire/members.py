"""Read single members of a JSON body: numbers, names, ids, arrays. Spec: contract 1 to 3."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from jobs.domain.dispatch.claim import POOL_PATTERN
from jobs.domain.errors import BatchTooLarge, InvalidRequest, OJSError, Unprocessable
from jobs.domain.wire.bounds import MAX_WHOLE, MAX_WORKER_ID
from jobs.domain.wire.names import QUEUE_PATTERN
from jobs.domain.wire.priorities import parse_priority

_T = TypeVar("_T")


def list_of(body: Mapping[str, Any], name: str, most: int) -> list[Any]:
    """Read a list of 1 to `most` items. Raises InvalidRequest, BatchTooLarge."""
    raw = body.get(name)
    if not isinstance(raw, list) or not raw:
        raise InvalidRequest.field(name, "must be a non-empty array", raw)
    if len(raw) > most:
        raise BatchTooLarge(
            f"{name} has {len(raw)} items, at most {most} are taken",
            details={"max_batch_size": most, "limit": most, "actual": len(raw)},
        )
    return raw


def items(body: Mapping[str, Any], name: str, most: int) -> list[dict[str, Any]]:
    """Return the objects of an array. Raises InvalidRequest, BatchTooLarge."""
    raw = list_of(body, name, most)
    for index, item in enumerate(raw):
        if not isinstance(item, dict):
            raise InvalidRequest.field(f"{name}[{index}]", "must be an object", item)
    return raw


def decode_item(
    decode: Callable[[Mapping[str, Any]], _T], index: int, item: Mapping[str, Any]
) -> _T:
    """Decode one item; a problem names its index."""
    try:
        return decode(item)
    except OJSError as problem:
        problem.details["index"] = index
        raise


def pool_name(body: Mapping[str, Any]) -> str | None:
    """Read `pool`. Raises Unprocessable."""
    raw = body.get("pool")
    if raw is not None and not (isinstance(raw, str) and POOL_PATTERN.fullmatch(raw)):
        raise Unprocessable.field("pool", "must be the name of one pool", raw)
    return raw


def queue_name(field: str, value: object) -> str:
    """Check a queue name. Raises InvalidRequest."""
    if not isinstance(value, str) or not QUEUE_PATTERN.fullmatch(value):
        raise InvalidRequest.field(field, "is not a valid queue name", value)
    return value


def integer(
    body: Mapping[str, Any], name: str, *, low: int = 0, high: int = MAX_WHOLE
) -> int | None:
    """Read an optional integer; 10.0 is an integer, true is not. Raises InvalidRequest."""
    raw = body.get(name)
    if raw is None:
        return None
    if isinstance(raw, float) and raw.is_integer():
        raw = int(raw)
    if not isinstance(raw, int) or isinstance(raw, bool) or not low <= raw <= high:
        raise InvalidRequest.field(name, f"must be an integer from {low} to {high}", raw)
    return raw


def worker_id(body: Mapping[str, Any], *, required: bool = False) -> str | None:
    """Read `worker_id`. Raises InvalidRequest."""
    raw = body.get("worker_id")
    if raw is None and not required:
        return None
    if not isinstance(raw, str) or not 1 <= len(raw) <= MAX_WORKER_ID:
        raise InvalidRequest.field(
            "worker_id", f"must be a string of 1 to {MAX_WORKER_ID} characters", raw
        )
    return raw


def priority_of(raw: object) -> int:
    """Read a priority by the rules of PUSH. Raises InvalidRequest."""
    try:
        return parse_priority(raw)
    except ValueError as problem:
        raise InvalidRequest.field("priority", str(problem), raw) from None


def job_id(body: Mapping[str, Any]) -> str:
    """Read `job_id`; other text is no error here, and the service finds no job for it."""
    raw = body.get("job_id")
    if not isinstance(raw, str) or not raw:
        raise InvalidRequest.field("job_id", "is required and must be a string", raw)
    return raw


def of_path(body: Mapping[str, Any], job_id: str) -> dict[str, Any]:
    """Set the job id of the path in a body. Raises InvalidRequest if the body names another one."""
    if body.get("job_id") not in (None, job_id):
        raise InvalidRequest.field("job_id", "must be that of the path", body["job_id"])
    return {**body, "job_id": job_id}
